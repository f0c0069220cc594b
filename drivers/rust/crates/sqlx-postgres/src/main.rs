//! The adapter of SQLx (its PostgreSQL driver).

use std::str::FromStr as _;

use adapter::driver::{Driver, Rows, Value, locked_version, query};
use adapter::failure::Failure;
use adapter::setup::{Setup, Tls, TlsTerms, Verify};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgDatabaseError, PgRow, PgSslMode};
use sqlx::query::Query;
use sqlx::{
    ConnectOptions as _, Connection as _, Error, Executor as _, PgConnection, Postgres, Row as _,
};

/// The parameters that its URL has. It passes over any other without a word.
const OPTIONS: [&str; 12] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "application_name",
    "options",
];

struct Sqlx {
    options: PgConnectOptions,
}

impl Driver for Sqlx {
    type Connection = PgConnection;

    const POSTGRESQL: bool = true;

    async fn open(&self) -> Result<PgConnection, Failure> {
        self.options
            .connect()
            .await
            .map_err(|error| failure(&error, true))
    }

    async fn text(
        &self,
        connection: &mut PgConnection,
        sql: &str,
        asks: bool,
    ) -> Result<(), Failure> {
        let answer = if asks {
            connection.fetch_all(sql).await.map(drop)
        } else {
            connection.execute(sql).await.map(drop)
        };
        answer.map_err(|error| failure(&error, false))
    }

    async fn prepared(
        &self,
        connection: &mut PgConnection,
        sql: &str,
        values: Vec<Value>,
        asks: bool,
    ) -> Result<(), Failure> {
        let query = values.into_iter().fold(sqlx::query(sql), bind);
        let answer = if asks {
            query.fetch_all(connection).await.map(drop)
        } else {
            query.execute(connection).await.map(drop)
        };
        answer.map_err(|error| failure(&error, false))
    }

    async fn rows(&self, connection: &mut PgConnection, sql: &str) -> Result<Rows, Failure> {
        let rows = connection
            .fetch_all(sql)
            .await
            .map_err(|error| failure(&error, false))?;
        rows.iter().map(texts).collect()
    }

    async fn close(&self, connection: PgConnection) {
        // A connection that is lost cannot be closed any more.
        let _ = connection.close().await;
    }
}

fn bind(query: Query<'_, Postgres, PgArguments>, value: Value) -> Query<'_, Postgres, PgArguments> {
    match value {
        Value::Int(number) => query.bind(number),
        Value::Text(text) => query.bind(text),
    }
}

/// A row of an answer to a simple query, in which all values are texts.
fn texts(row: &PgRow) -> Result<Vec<Option<String>>, Failure> {
    let text = |place| {
        let value = row
            .try_get_raw(place)
            .map_err(|error| failure(&error, false))?;
        // A value that is NULL has no bytes, which is an error here.
        Ok(value.as_str().ok().map(str::to_owned))
    };
    (0..row.len()).map(text).collect()
}

fn failure(error: &Error, opening: bool) -> Failure {
    match error {
        Error::Database(refused) => match refused.try_downcast_ref::<PgDatabaseError>() {
            Some(refused) => Failure::of_state(refused.code(), &error.to_string()),
            None => Failure::new("server_error", error.to_string()),
        },
        Error::Configuration(_) => Failure::new("bad_job", error.to_string()),
        Error::Tls(_) if error.to_string().contains("server does not support TLS") => {
            Failure::new("no_tls", error.to_string())
        }
        Error::Tls(_) => Failure::beneath(error, "tls_handshake"),
        Error::Protocol(words) if words.contains("auth") => {
            Failure::new("access_denied", error.to_string())
        }
        _ if opening => Failure::beneath(error, "not_mysql"),
        _ => Failure::beneath(error, "protocol"),
    }
}

/// What the driver is told: its options as parameters of a URL, then the account, and encryption where no
/// option has a word of it.
fn driver(setup: &Setup) -> Result<Sqlx, Failure> {
    let told = &setup.options;
    if let Some(unknown) = told.keys().find(|word| !OPTIONS.contains(&word.as_str())) {
        let words = format!(
            "{} has no option {unknown}: it takes no notice of it",
            setup.name
        );
        return Err(Failure::refusal(words));
    }
    let url = format!("postgres://localhost/{}", query(told));
    let (host, port) = setup.endpoint.host_and_port();
    // A host that begins with a slash is the folder of a socket.
    let mut options = PgConnectOptions::from_str(&url)
        .map_err(|error| failure(&error, true))?
        .host(host)
        .port(port)
        .username(&setup.account.user)
        .password(&setup.account.password)
        .database(setup.account.database());
    if !told.keys().any(|word| word.starts_with("ssl")) {
        options = match &setup.tls {
            Tls::Unset {} => options,
            Tls::Required {} => options.ssl_mode(PgSslMode::Require),
            Tls::Off {} => options.ssl_mode(PgSslMode::Disable),
            Tls::On(terms) => encrypted(options, terms),
        };
    }
    Ok(Sqlx { options })
}

fn encrypted(options: PgConnectOptions, terms: &TlsTerms) -> PgConnectOptions {
    let mut options = options.ssl_mode(match terms.verify {
        Verify::None => PgSslMode::Require,
        Verify::Ca => PgSslMode::VerifyCa,
        Verify::Identity => PgSslMode::VerifyFull,
    });
    if let Some(file) = &terms.ca_file {
        options = options.ssl_root_cert(file);
    }
    if let Some(file) = &terms.certificate_file {
        options = options.ssl_client_cert(file);
    }
    if let Some(file) = &terms.key_file {
        options = options.ssl_client_key(file);
    }
    options
}

fn main() {
    adapter::serve(locked_version("sqlx"), &[], driver);
}
