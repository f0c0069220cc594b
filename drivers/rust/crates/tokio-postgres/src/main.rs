//! The adapter of tokio-postgres with one of three TLS libraries: which, is a feature of this crate.

mod tls;

use std::collections::HashMap;
use std::fmt::Write as _;

use adapter::driver::{Driver, Rows, Value, locked_version};
use adapter::failure::{Failure, whole};
use adapter::setup::{Setup, Tls, TlsTerms};
use tokio::task::JoinHandle;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, SimpleQueryMessage, Statement};

struct TokioPostgres {
    config: Config,
    connector: tls::Connector,
}

/// A connection, the task that reads and writes for it, and what is prepared on it.
struct Connected {
    client: Client,
    task: JoinHandle<()>,
    prepared: HashMap<String, Statement>,
}

impl Driver for TokioPostgres {
    type Connection = Connected;

    const POSTGRESQL: bool = true;
    const VERSIONS: bool = true;

    async fn open(&self) -> Result<Connected, Failure> {
        let (client, connection) = self
            .config
            .connect(self.connector.clone())
            .await
            .map_err(|error| failure(&error, true))?;
        // What ends a connection is told to whoever waits for an answer on it.
        let task = tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Connected {
            client,
            task,
            prepared: HashMap::new(),
        })
    }

    async fn text(&self, connection: &mut Connected, sql: &str, asks: bool) -> Result<(), Failure> {
        let answer = if asks {
            connection.client.simple_query(sql).await.map(drop)
        } else {
            connection.client.batch_execute(sql).await
        };
        answer.map_err(|error| failure(&error, false))
    }

    async fn prepared(
        &self,
        connection: &mut Connected,
        sql: &str,
        values: Vec<Value>,
        asks: bool,
    ) -> Result<(), Failure> {
        let done = connection.run(sql, &values, asks).await;
        done.map_err(|error| failure(&error, false))
    }

    async fn rows(&self, connection: &mut Connected, sql: &str) -> Result<Rows, Failure> {
        let messages = connection
            .client
            .simple_query(sql)
            .await
            .map_err(|error| failure(&error, false))?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let texts = |row: tokio_postgres::SimpleQueryRow| {
            let places = 0..row.len();
            places
                .map(|place| row.get(place).map(str::to_owned))
                .collect()
        };
        Ok(rows.map(texts).collect())
    }

    async fn close(&self, connection: Connected) {
        drop(connection.prepared);
        drop(connection.client);
        // It says that it ends, and hangs up; what is lost cannot be closed any more.
        let _ = connection.task.await;
    }
}

impl Connected {
    async fn run(&mut self, sql: &str, values: &[Value], asks: bool) -> Result<(), Error> {
        if !self.prepared.contains_key(sql) {
            let types: Vec<Type> = values.iter().map(type_of).collect();
            let statement = self.client.prepare_typed(sql, &types).await?;
            self.prepared.insert(sql.into(), statement);
        }
        let statement = &self.prepared[sql];
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(bound).collect();
        if asks {
            self.client.query(statement, &values).await.map(drop)
        } else {
            self.client.execute(statement, &values).await.map(drop)
        }
    }
}

fn type_of(value: &Value) -> Type {
    match value {
        Value::Int(_) => Type::INT8,
        Value::Text(_) => Type::TEXT,
    }
}

fn bound(value: &Value) -> &(dyn ToSql + Sync) {
    match value {
        Value::Int(number) => number,
        Value::Text(text) => text,
    }
}

fn failure(error: &Error, opening: bool) -> Failure {
    let words = whole(error);
    if let Some(refused) = error.code() {
        return Failure::of_state(refused.code(), &words);
    }
    let mut found = match error.to_string().as_str() {
        "invalid connection string" | "invalid configuration" => Failure::new("bad_job", ""),
        "authentication error" => Failure::new("access_denied", ""),
        "connection closed" => Failure::new("server_closed", ""),
        _ if words.contains("server does not support TLS") => Failure::new("no_tls", ""),
        "error performing TLS handshake" => Failure::beneath(error, "tls_handshake"),
        _ if opening => Failure::beneath(error, "not_mysql"),
        _ => Failure::beneath(error, "protocol"),
    };
    found.words = words;
    found
}

/// What the driver is told: words of its connection string for its options, and beside them the account and
/// encryption, where no option has a word of that.
fn driver(setup: &Setup) -> Result<TokioPostgres, Failure> {
    let (host, port) = setup.endpoint.host_and_port();
    let mut config: Config = connection_string(setup)
        .parse()
        .map_err(|error| failure(&error, true))?;
    config
        .host(host)
        .port(port)
        .user(&setup.account.user)
        .password(&setup.account.password)
        .dbname(setup.account.database());
    let unsaid = TlsTerms::default();
    let terms = match &setup.tls {
        Tls::On(terms) => terms,
        _ => &unsaid,
    };
    if !setup.options.contains_key("sslmode") {
        match &setup.tls {
            Tls::Unset {} => {}
            Tls::Off {} => {
                config.ssl_mode(SslMode::Disable);
            }
            Tls::Required {} | Tls::On(_) => {
                config.ssl_mode(SslMode::Require);
            }
        }
    }
    if terms.direct {
        config.ssl_negotiation(SslNegotiation::Direct);
    }
    let direct = config.get_ssl_negotiation() == SslNegotiation::Direct;
    Ok(TokioPostgres {
        config,
        connector: tls::Connector::new(terms, direct)?,
    })
}

fn connection_string(setup: &Setup) -> String {
    let mut text = String::new();
    for (name, value) in &setup.options {
        let escaped = value.replace('\\', r"\\").replace('\'', r"\'");
        let _ = write!(text, "{name}='{escaped}' ");
    }
    text
}

fn main() {
    let takes = &["direct", "server_name"];
    adapter::serve(locked_version("tokio-postgres"), takes, driver);
}
