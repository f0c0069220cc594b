//! Asks a database five times by SQLx's pool, as an advice says; PORT, `CA_FILE` and the password are in the environment.

use std::env::var;

use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlSslMode};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = MySqlConnectOptions::new()
        .host("127.0.0.1")
        .port(var("PORT")?.parse()?)
        .username("ann")
        .password(&var("TLSTAX_PASSWORD")?)
        .database("lent")
        .ssl_mode(MySqlSslMode::VerifyIdentity)
        .ssl_ca(var("CA_FILE")?);
    let pool = MySqlPoolOptions::new()
        .max_connections(1)
        .connect_with(options)
        .await?;
    for _ in 0..5 {
        sqlx::query("SELECT 1").execute(&pool).await?;
    }
    pool.close().await;
    Ok(())
}
