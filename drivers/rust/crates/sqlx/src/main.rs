//! The adapter of SQLx (its MySQL driver).

use std::str::FromStr as _;

use adapter::driver::{Driver, Rows, Value, locked_version, query};
use adapter::failure::Failure;
use adapter::setup::{Endpoint, Setup, Tls, TlsTerms, Verify};
use sqlx::mysql::{
    MySqlArguments, MySqlConnectOptions, MySqlDatabaseError, MySqlRow, MySqlSslMode,
};
use sqlx::query::Query;
use sqlx::{
    ConnectOptions as _, Connection as _, Error, Executor as _, MySql, MySqlConnection, Row as _,
    ValueRef as _,
};

/// The parameters that its URL has. It passes over any other without a word.
const OPTIONS: [&str; 13] = [
    "sslmode",
    "ssl-mode",
    "sslca",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "charset",
    "collation",
    "statement-cache-capacity",
    "timezone",
    "time-zone",
];

struct Sqlx {
    options: MySqlConnectOptions,
}

impl Driver for Sqlx {
    type Connection = MySqlConnection;

    async fn open(&self) -> Result<MySqlConnection, Failure> {
        self.options
            .connect()
            .await
            .map_err(|error| failure(&error, true))
    }

    async fn text(
        &self,
        connection: &mut MySqlConnection,
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
        connection: &mut MySqlConnection,
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

    async fn rows(&self, connection: &mut MySqlConnection, sql: &str) -> Result<Rows, Failure> {
        let rows = connection
            .fetch_all(sql)
            .await
            .map_err(|error| failure(&error, false))?;
        rows.iter().map(texts).collect()
    }

    async fn close(&self, connection: MySqlConnection) {
        // A connection that is lost cannot be closed any more.
        let _ = connection.close().await;
    }
}

fn bind(query: Query<'_, MySql, MySqlArguments>, value: Value) -> Query<'_, MySql, MySqlArguments> {
    match value {
        Value::Int(number) => query.bind(number),
        Value::Text(text) => query.bind(text),
    }
}

/// A row of an answer by the text protocol, in which all values are texts.
fn texts(row: &MySqlRow) -> Result<Vec<Option<String>>, Failure> {
    let text = |place| {
        let value = row.try_get_raw(place)?;
        if value.is_null() {
            return Ok(None);
        }
        let bytes: Vec<u8> = row.try_get_unchecked(place)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    };
    (0..row.len())
        .map(text)
        .collect::<Result<_, Error>>()
        .map_err(|error| failure(&error, false))
}

fn failure(error: &Error, opening: bool) -> Failure {
    match error {
        Error::Database(refused) => match refused.try_downcast_ref::<MySqlDatabaseError>() {
            Some(refused) => Failure::server(refused.number(), opening, &refused.to_string()),
            None => Failure::new("server_error", refused.to_string()),
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
    let url = format!("mysql://localhost/{}", query(told));
    let mut options = MySqlConnectOptions::from_str(&url).map_err(|error| failure(&error, true))?;
    options = options
        .username(&setup.account.user)
        .password(&setup.account.password);
    if let Some(database) = &setup.account.database {
        options = options.database(database);
    }
    options = match &setup.endpoint {
        Endpoint::Tcp { host, port } => options.host(host).port(*port),
        Endpoint::Unix { path } => options.socket(path),
    };
    if !told.keys().any(|word| word.starts_with("ssl")) {
        options = match &setup.tls {
            Tls::Unset {} => options,
            Tls::Required {} => options.ssl_mode(MySqlSslMode::Required),
            Tls::Off {} => options.ssl_mode(MySqlSslMode::Disabled),
            Tls::On(terms) => encrypted(options, terms),
        };
    }
    Ok(Sqlx { options })
}

fn encrypted(options: MySqlConnectOptions, terms: &TlsTerms) -> MySqlConnectOptions {
    let mut options = options.ssl_mode(match terms.verify {
        Verify::None => MySqlSslMode::Required,
        Verify::Ca => MySqlSslMode::VerifyCa,
        Verify::Identity => MySqlSslMode::VerifyIdentity,
    });
    if let Some(file) = &terms.ca_file {
        options = options.ssl_ca(file);
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
