//! Asks a database five times by `mysql_async`'s pool, as an advice says; PORT, `CA_FILE` and the password are in the environment.

use std::env::var;
use std::path::PathBuf;

use mysql_async::prelude::Queryable as _;
use mysql_async::{OptsBuilder, Pool, PoolConstraints, PoolOpts, SslOpts};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ca = PathBuf::from(var("CA_FILE")?);
    let limits = PoolConstraints::new(1, 1).ok_or("no limits")?;
    let opts = OptsBuilder::default()
        .ip_or_hostname("127.0.0.1")
        .tcp_port(var("PORT")?.parse()?)
        .user(Some("ann"))
        .pass(Some(var("TLSTAX_PASSWORD")?))
        .db_name(Some("lent"))
        .prefer_socket(false)
        .pool_opts(PoolOpts::default().with_constraints(limits))
        .ssl_opts(SslOpts::default().with_root_certs(vec![ca.into()]));
    let pool = Pool::new(opts);
    for _ in 0..5 {
        pool.get_conn().await?.query_drop("SELECT 1").await?;
    }
    pool.disconnect().await?;
    Ok(())
}
