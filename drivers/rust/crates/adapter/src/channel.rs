//! One channel: its orders, the operations that it has in stock, and the connection that they are done on.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use nix::sys::time::TimeValLike as _;
use nix::time::{ClockId, clock_gettime};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};

use crate::driver::{Driver, Value};
use crate::failure::Failure;
use crate::setup::Setup;

const BETWEEN_OPERATIONS: char = '\x1e';
const BETWEEN_FIELDS: char = '\x1f';

/// What all channels share.
pub struct Shared<D> {
    setup: Setup,
    driver: D,
    version: String,
    preparable: Vec<String>,
}

impl<D: Driver> Shared<D> {
    pub fn new(setup: Setup, driver: D, version: String) -> Self {
        let calls = setup.calls.iter();
        let preparable = calls.map(|call| call.preparable(D::POSTGRESQL)).collect();
        Self {
            setup,
            driver,
            version,
            preparable,
        }
    }
}

/// What one call of an operation is handed.
enum Handed<'o> {
    Statement(&'o str),
    Values(Vec<Value>),
}

/// Serves a channel.
pub struct Channel<D: Driver> {
    shared: Arc<Shared<D>>,
    input: BufReader<Receiver>,
    output: Sender,
    connection: Option<D::Connection>,
    /// So many operations of the text, from this place on.
    stock: (usize, String, usize),
    /// Of the operations since the last report, 4 and one for each call of each.
    times: Vec<i64>,
    opened: u64,
}

impl<D: Driver> Channel<D> {
    /// On the ends of the host's pipes that have these numbers.
    pub fn open(shared: Arc<Shared<D>>, input: u32, output: u32) -> io::Result<Self> {
        let options = OpenOptions::new();
        Ok(Self {
            shared,
            input: BufReader::new(options.open_receiver(format!("/dev/fd/{input}"))?),
            output: options.open_sender(format!("/dev/fd/{output}"))?,
            connection: None,
            stock: (0, String::new(), 0),
            times: Vec::new(),
            opened: 0,
        })
    }

    /// Does the channel's orders until it is closed.
    pub async fn serve(mut self) {
        let mut line = String::new();
        while matches!(self.input.read_line(&mut line).await, Ok(1..)) {
            let answer = self.order(&line).await.unwrap_or_else(|failure| {
                let answer = json!({"failure": failure});
                format!("{answer}\n")
            });
            if self.output.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
            line.clear();
        }
    }

    async fn order(&mut self, line: &str) -> Result<String, Failure> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["open"] => {
                self.connect().await?;
                self.begin().await?;
                let answer = json!({"version": self.shared.version});
                return Ok(format!("{answer}\n"));
            }
            ["rows", call, bytes] => return self.rows(call, bytes).await,
            ["operations", count, bytes] => {
                let more = self.body(bytes).await?;
                self.fill(number(count)?, &more);
            }
            ["empty"] => self.stock = (0, String::new(), 0),
            ["work", until] => {
                let finished = self.work(number(until)?).await?;
                return Ok(format!("{{\"operations\": {finished}}}\n"));
            }
            ["report"] => return Ok(self.report()),
            ["close"] => self.close().await,
            _ => return Err(Failure::internal(format!("there is no order {line}"))),
        }
        Ok("{}\n".into())
    }

    async fn body(&mut self, bytes: &str) -> Result<String, Failure> {
        let mut body = vec![0; number(bytes)?];
        let read = self.input.read_exact(&mut body).await;
        read.map_err(|error| Failure::internal(error.to_string()))?;
        String::from_utf8(body).map_err(|error| Failure::internal(error.to_string()))
    }

    async fn connect(&mut self) -> Result<(), Failure> {
        self.connection = Some(self.shared.driver.open().await?);
        self.opened += 1;
        Ok(())
    }

    /// Says on a new connection what is said on connecting. The driver prepares what it first sees.
    async fn begin(&mut self) -> Result<(), Failure> {
        let shared = Arc::clone(&self.shared);
        for sql in &shared.setup.on_connect {
            if let Err(failure) = shared.driver.text(self.connected()?, sql, false).await {
                self.connection = None;
                return Err(failure);
            }
        }
        Ok(())
    }

    fn connected(&mut self) -> Result<&mut D::Connection, Failure> {
        let none = || Failure::internal("there is no connection");
        self.connection.as_mut().ok_or_else(none)
    }

    async fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.shared.driver.close(connection).await;
        }
    }

    /// Runs a call, or with -1 a statement by itself, for its rows. They are asked for by the text protocol, in
    /// which each value is a text.
    async fn rows(&mut self, call: &str, bytes: &str) -> Result<String, Failure> {
        let shared = Arc::clone(&self.shared);
        let body = self.body(bytes).await?;
        let place: i64 = number(call)?;
        let call = usize::try_from(place)
            .ok()
            .and_then(|place| shared.setup.calls.get(place));
        let sql = match call {
            Some(call) if call.prepared => {
                call.filled(&call.values(&mut body.split(BETWEEN_FIELDS)), D::POSTGRESQL)
            }
            _ => body,
        };
        let rows = shared.driver.rows(self.connected()?, &sql).await;
        let rows = rows.inspect_err(|failure| self.leave_fit(failure))?;
        let answer = json!({"rows": rows});
        Ok(format!("{answer}\n"))
    }

    /// Gives the connection up unless it is as good as before.
    fn leave_fit(&mut self, failure: &Failure) {
        if self.shared.setup.reconnect || failure.loses_connection() {
            self.connection = None;
        }
    }

    fn fill(&mut self, count: usize, more: &str) {
        let (left, text, at) = &mut self.stock;
        text.drain(..*at);
        if *left > 0 {
            text.push(BETWEEN_OPERATIONS);
        }
        text.push_str(more);
        (*left, *at) = (*left + count, 0);
    }

    /// Does operations of the stock, each begun before the clock shows that; how many it finished.
    async fn work(&mut self, until: i64) -> Result<u64, Failure> {
        let (mut left, text, mut at) = std::mem::take(&mut self.stock);
        let mut worked = Ok(0);
        while let (Ok(finished), 1..) = (&mut worked, left) {
            let ends = text[at..]
                .find(BETWEEN_OPERATIONS)
                .map_or(text.len(), |length| at + length);
            let handed = self.hand_out(&text[at..ends]);
            let began = now();
            if began >= until {
                break;
            }
            (left, at) = (left - 1, text.len().min(ends + 1));
            let kept = self.times.len();
            match self.operation(handed, began).await {
                Ok(()) => *finished += 1,
                Err(failure) => {
                    self.times.truncate(kept);
                    self.leave_fit(&failure);
                    worked = Err(failure);
                }
            }
        }
        self.stock = if left > 0 {
            (left, text, at)
        } else {
            (0, String::new(), 0)
        };
        worked
    }

    /// What each call of an operation is handed.
    fn hand_out<'o>(&self, operation: &'o str) -> Vec<Handed<'o>> {
        let mut fields = operation.split(BETWEEN_FIELDS);
        let calls = self.shared.setup.calls.iter();
        calls
            .map(|call| {
                if call.prepared {
                    Handed::Values(call.values(&mut fields))
                } else {
                    Handed::Statement(fields.next().unwrap_or_default())
                }
            })
            .collect()
    }

    /// Does all calls, and writes down when each part was over. With reconnect it also opens and closes.
    async fn operation(&mut self, handed: Vec<Handed<'_>>, began: i64) -> Result<(), Failure> {
        let shared = Arc::clone(&self.shared);
        let mut up = (began, began);
        if self.connection.is_none() {
            self.connect().await?;
            up.0 = now();
            self.begin().await?;
            up.1 = now();
        }
        self.times.extend([began, up.0, up.1]);
        for (place, handed) in handed.into_iter().enumerate() {
            let reads = shared.setup.calls[place].reads;
            let connection = self.connected()?;
            match handed {
                Handed::Statement(sql) => shared.driver.text(connection, sql, reads).await?,
                Handed::Values(values) => {
                    let sql = &shared.preparable[place];
                    shared
                        .driver
                        .prepared(connection, sql, values, reads)
                        .await?;
                }
            }
            self.times.push(now());
        }
        if shared.setup.reconnect {
            self.close().await;
            self.times.push(now());
        } else {
            self.times.extend_from_within(self.times.len() - 1..);
        }
        Ok(())
    }

    /// Hands over the times, and forgets them.
    fn report(&mut self) -> String {
        let mut body = String::with_capacity(16 * self.times.len());
        for ns in self.times.drain(..) {
            let _ = write!(body, "{ns} ");
        }
        let (opened, bytes) = (self.opened, body.len());
        format!("{{\"opened\": {opened}, \"bytes\": {bytes}}}\n{body}")
    }
}

fn number<N: std::str::FromStr>(word: &str) -> Result<N, Failure> {
    let none = |_| Failure::internal(format!("{word} is no number"));
    word.parse().map_err(none)
}

/// `CLOCK_MONOTONIC` in nanoseconds.
fn now() -> i64 {
    let shown = clock_gettime(ClockId::CLOCK_MONOTONIC);
    shown.expect("every Linux has this clock").num_nanoseconds()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Read as _, Write as _, pipe};
    use std::os::fd::AsRawFd as _;
    use std::sync::Mutex;

    use super::*;
    use crate::driver::Rows;

    /// A driver that writes down what it is told, and fails at the word `bad`.
    #[derive(Default)]
    struct Fake(Mutex<Vec<String>>);

    impl Fake {
        fn say(&self, words: impl Into<String>) -> Result<(), Failure> {
            let words = words.into();
            let is_bad = words.contains("bad");
            self.0.lock().unwrap().push(words);
            if is_bad {
                return Err(Failure::server(1054, false, "no"));
            }
            Ok(())
        }
    }

    impl Driver for Fake {
        type Connection = ();

        async fn open(&self) -> Result<(), Failure> {
            self.say("open")
        }

        async fn text(&self, (): &mut (), sql: &str, _: bool) -> Result<(), Failure> {
            self.say(sql)
        }

        async fn prepared(
            &self,
            (): &mut (),
            sql: &str,
            values: Vec<Value>,
            _: bool,
        ) -> Result<(), Failure> {
            self.say(format!("{sql} {values:?}"))
        }

        async fn rows(&self, (): &mut (), sql: &str) -> Result<Rows, Failure> {
            self.say(sql).map(|()| vec![vec![Some("1".into()), None]])
        }

        async fn close(&self, (): ()) {
            self.say("close").unwrap();
        }
    }

    /// The host's ends of a channel's pipes, and what its driver was told.
    struct Host {
        orders: PipeWriter,
        answers: BufReader<PipeReader>,
        shared: Arc<Shared<Fake>>,
    }

    impl Host {
        fn new(on_connect: &str, reconnect: bool, calls: &str) -> Self {
            let setup = Setup::read(&format!(
                r#"{{"name": "fake-1", "channels": [], "endpoint": {{"kind": "unix", "path": "x"}}, "options": {{}},
                "account": {{"user": "u", "password": "p"}}, "tls": {{"mode": "off"}}, "calls": [{calls}],
                "on_connect": [{on_connect}], "reconnect": {reconnect}}}"#
            ));
            let setup = setup.unwrap();
            let shared = Arc::new(Shared::new(setup, Fake::default(), "1".into()));
            let (input, orders) = pipe().unwrap();
            let (answers, output) = pipe().unwrap();
            let number = |fd: i32| u32::try_from(fd).unwrap();
            let channel = Channel::open(
                Arc::clone(&shared),
                number(input.as_raw_fd()),
                number(output.as_raw_fd()),
            );
            tokio::spawn(channel.unwrap().serve());
            let answers = BufReader::new(answers);
            Self {
                orders,
                answers,
                shared,
            }
        }

        /// The answer to an order: its line, and what stands behind a report's.
        fn order(&mut self, order: &str) -> (String, String) {
            self.orders.write_all(order.as_bytes()).unwrap();
            let mut line = String::new();
            self.answers.read_line(&mut line).unwrap();
            let answer: serde_json::Value = serde_json::from_str(&line).unwrap();
            let bytes = answer["bytes"].as_u64().unwrap_or_default();
            let mut body = vec![0; usize::try_from(bytes).unwrap()];
            self.answers.read_exact(&mut body).unwrap();
            (line.trim_end().into(), String::from_utf8(body).unwrap())
        }

        fn operations(&mut self, all: &[&str]) {
            let body = all.join("\x1e");
            let order = format!("operations {} {}\n{body}", all.len(), body.len());
            assert_eq!(self.order(&order).0, "{}");
        }

        fn told(&self) -> String {
            self.shared.driver.0.lock().unwrap().join(", ")
        }
    }

    const TEXT: &str =
        r#"{"pieces": ["SELECT ", ""], "types": "i", "prepared": false, "reads": true}"#;
    const BOUND: &str =
        r#"{"pieces": ["SELECT ", ", ", ""], "types": "is", "prepared": true, "reads": true}"#;
    const FOREVER: &str = "work 9223372036854775807\n";

    #[tokio::test(flavor = "multi_thread")]
    async fn operations_are_done_as_they_were_handed_over() {
        let mut host = Host::new(r#""SET x""#, false, &format!("{TEXT}, {BOUND}"));
        assert_eq!(host.order("open\n").0, r#"{"version":"1"}"#);
        host.operations(&["SELECT 7\x1f5\x1fit's"]);
        host.operations(&["SELECT 8\x1f6\x1f"]);
        assert_eq!(host.order("work 1\n").0, r#"{"operations": 0}"#);
        assert_eq!(host.order(FOREVER).0, r#"{"operations": 2}"#);
        let expected = r#"open, SET x, SELECT 7, SELECT ?, ? [Int(5), Text("it's")], SELECT 8, SELECT ?, ? [Int(6), Text("")]"#;
        assert_eq!(host.told(), expected);
        let (_, times) = host.order("report\n");
        let times: Vec<i64> = times
            .split(' ')
            .filter_map(|time| time.parse().ok())
            .collect();
        assert_eq!(times.len(), 12);
        assert!(times.is_sorted());
        assert_eq!(host.order("report\n").0, r#"{"opened": 1, "bytes": 0}"#);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn with_reconnect_each_operation_has_a_connection() {
        let mut host = Host::new("", true, TEXT);
        host.operations(&["SELECT 1", "SELECT 2"]);
        host.order(FOREVER);
        assert_eq!(host.told(), "open, SELECT 1, close, open, SELECT 2, close");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_operation_that_fails_leaves_no_times_and_is_not_said_again() {
        let mut host = Host::new("", false, TEXT);
        host.operations(&["SELECT bad", "SELECT 2"]);
        let (answer, _) = host.order(FOREVER);
        assert!(answer.contains("server_error") && answer.contains("1054"));
        assert_eq!(host.order(FOREVER).0, r#"{"operations": 1}"#);
        assert_eq!(host.order("report\n").1.split_whitespace().count(), 5);
        assert_eq!(
            host.order("rows -1 8\nSELECT 1").0,
            r#"{"rows":[["1",null]]}"#
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_stock_that_is_emptied_is_not_worked() {
        let mut host = Host::new("", false, TEXT);
        host.operations(&["SELECT 1"]);
        host.order("empty\n");
        host.order("operations 0 0\n");
        assert_eq!(host.order(FOREVER).0, r#"{"operations": 0}"#);
    }
}
