//! The adapter of `mysql_async`.

use std::path::PathBuf;

use adapter::driver::{Driver, Rows, Value, locked_version, query};
use adapter::failure::Failure;
use adapter::setup::{Endpoint, Setup, Tls, TlsTerms, Verify};
use mysql_async::prelude::Queryable as _;
use mysql_async::{ClientIdentity, Conn, DriverError, Error, Opts, OptsBuilder, Row, SslOpts};

/// Options that say something of encryption, so that the job's own words for it are left out.
const TLS_OPTIONS: [&str; 4] = [
    "require_ssl",
    "verify_ca",
    "verify_identity",
    "built_in_roots",
];

struct MysqlAsync {
    opts: Opts,
}

impl Driver for MysqlAsync {
    type Connection = Conn;

    async fn open(&self) -> Result<Conn, Failure> {
        Conn::new(self.opts.clone())
            .await
            .map_err(|error| failure(&error, true))
    }

    async fn text(&self, connection: &mut Conn, sql: &str, asks: bool) -> Result<(), Failure> {
        let answer = if asks {
            connection.query::<Row, _>(sql).await.map(drop)
        } else {
            connection.query_drop(sql).await
        };
        answer.map_err(|error| failure(&error, false))
    }

    async fn prepared(
        &self,
        connection: &mut Conn,
        sql: &str,
        values: Vec<Value>,
        asks: bool,
    ) -> Result<(), Failure> {
        let values: Vec<mysql_async::Value> = values.into_iter().map(bound).collect();
        let answer = if asks {
            connection.exec::<Row, _, _>(sql, values).await.map(drop)
        } else {
            connection.exec_drop(sql, values).await
        };
        answer.map_err(|error| failure(&error, false))
    }

    async fn rows(&self, connection: &mut Conn, sql: &str) -> Result<Rows, Failure> {
        let rows: Vec<Row> = connection
            .query(sql)
            .await
            .map_err(|error| failure(&error, false))?;
        let texts = |row: Row| row.unwrap().into_iter().map(text).collect();
        Ok(rows.into_iter().map(texts).collect())
    }

    async fn close(&self, connection: Conn) {
        // A connection that is lost cannot be closed any more.
        let _ = connection.disconnect().await;
    }
}

fn bound(value: Value) -> mysql_async::Value {
    match value {
        Value::Int(number) => number.into(),
        Value::Text(text) => text.into(),
    }
}

/// A value of an answer by the text protocol, in which all are texts.
fn text(value: mysql_async::Value) -> Option<String> {
    match value {
        mysql_async::Value::NULL => None,
        mysql_async::Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => Some(other.as_sql(true)),
    }
}

fn failure(error: &Error, opening: bool) -> Failure {
    match error {
        Error::Server(refused) => {
            let words = format!(
                "ERROR {} ({}): {}",
                refused.code, refused.state, refused.message
            );
            Failure::server(refused.code, opening, &words)
        }
        Error::Url(_) => Failure::new("bad_job", error.to_string()),
        Error::Driver(DriverError::NoClientSslFlagFromServer) => {
            Failure::new("no_tls", error.to_string())
        }
        Error::Driver(DriverError::UnknownAuthPlugin { .. }) => {
            Failure::new("access_denied", error.to_string())
        }
        Error::Driver(DriverError::ConnectionClosed) => {
            Failure::new("server_closed", error.to_string())
        }
        Error::Driver(_) if opening => Failure::beneath(error, "not_mysql"),
        _ => Failure::beneath(error, "protocol"),
    }
}

/// What the driver is told: its options as parameters of a URL, and beside them the account and encryption.
fn driver(setup: &Setup) -> Result<MysqlAsync, Failure> {
    let options = &setup.options;
    let host = match &setup.endpoint {
        Endpoint::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
        Endpoint::Tcp { host, port } => format!("{host}:{port}"),
        Endpoint::Unix { .. } => "localhost".into(),
    };
    let url = format!("mysql://{host}/{}", query(options));
    let told = Opts::from_url(&url).map_err(|error| Failure::new("bad_job", error.to_string()))?;
    let mut builder = OptsBuilder::from_opts(told)
        .user(Some(&setup.account.user))
        .pass(Some(&setup.account.password))
        .db_name(setup.account.database.as_ref());
    match &setup.endpoint {
        Endpoint::Unix { path } => builder = builder.socket(Some(path)),
        Endpoint::Tcp { .. } if !options.contains_key("prefer_socket") => {
            builder = builder.prefer_socket(false);
        }
        Endpoint::Tcp { .. } => {}
    }
    if !options
        .keys()
        .any(|name| TLS_OPTIONS.contains(&name.as_str()))
    {
        match &setup.tls {
            Tls::On(terms) => builder = builder.ssl_opts(Some(ssl(terms)?)),
            Tls::Off {} => builder = builder.ssl_opts(None::<SslOpts>),
            Tls::Required {} => builder = builder.ssl_opts(Some(SslOpts::default())),
            Tls::Unset {} => {}
        }
    }
    Ok(MysqlAsync {
        opts: builder.into(),
    })
}

fn ssl(terms: &TlsTerms) -> Result<SslOpts, Failure> {
    let mut ssl = SslOpts::default()
        .with_danger_accept_invalid_certs(terms.verify == Verify::None)
        .with_danger_skip_domain_validation(terms.verify != Verify::Identity)
        .with_danger_tls_hostname_override(terms.server_name.clone());
    if let Some(file) = &terms.ca_file {
        ssl = ssl.with_root_certs(vec![PathBuf::from(file).into()]);
    }
    match (&terms.certificate_file, &terms.key_file) {
        (Some(certificate), Some(key)) => {
            let own =
                ClientIdentity::new(PathBuf::from(certificate).into(), PathBuf::from(key).into());
            Ok(ssl.with_client_identity(Some(own)))
        }
        (None, None) => Ok(ssl),
        _ => Err(Failure::refusal(
            "tls.certificate_file and tls.key_file belong together",
        )),
    }
}

fn main() {
    adapter::serve(locked_version("mysql_async"), &["server_name"], driver);
}
