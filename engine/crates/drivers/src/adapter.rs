//! The adapter's process: started with pipes for each connection, told its terms, ended.

use std::env;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pipe::pipe;
use serde_json::Value;
use tlstax_contract::{ErrorKind, Job, Tls};

use crate::laboratory::{Laboratory, input, leave};
use crate::stock::Call;
use crate::terms::Terms;
use crate::trouble::{Told, Trouble};

/// For how long an adapter may take to end when it is told to.
const GRACE: Duration = Duration::from_millis(900);

/// A home directory that has nothing, and cannot be made.
const NO_HOME: &str = "/dev/null";

/// Both ends of a connection's pipes that are the host's, and what came and was not read yet.
#[derive(Debug)]
pub struct Channel {
    to: File,
    from: File,
    unread: Vec<u8>,
}

/// One answer: its line, and what came behind it.
#[derive(Debug)]
pub struct Answer {
    /// The line.
    pub told: Value,
    /// As many bytes as it names.
    pub body: Vec<u8>,
}

impl Answer {
    /// A whole number that it has; 0 where it has none.
    pub fn number(&self, field: &str) -> u64 {
        self.told[field].as_u64().unwrap_or_default()
    }
}

impl Channel {
    /// Writes an order; an adapter that is gone is noticed when it does not answer.
    pub fn order(&mut self, order: &[u8]) {
        let _ = self.to.write_all(order);
    }

    /// An answer, when all of it is there. Errors are sentences about what is no answer.
    fn answer(&mut self) -> Result<Option<Answer>, String> {
        let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let told: Value = serde_json::from_slice(&self.unread[..end])
            .map_err(|error| format!("its answer is no JSON ({error})"))?;
        let bytes =
            usize::try_from(told["bytes"].as_u64().unwrap_or_default()).unwrap_or(usize::MAX);
        if self.unread.len() - end - 1 < bytes {
            return Ok(None);
        }
        let body = self.unread[end + 1..][..bytes].to_vec();
        self.unread.drain(..=end + bytes);
        Ok(Some(Answer { told, body }))
    }
}

/// A running adapter.
#[derive(Debug)]
pub struct Adapter {
    /// The driver's name.
    pub name: String,
    /// A channel for each connection.
    pub channels: Vec<Channel>,
    secret: String,
    child: Child,
    output: ChildStdout,
}

impl Adapter {
    /// Starts it and tells it its terms; with the words that it takes.
    ///
    /// # Errors
    /// It cannot be started, or refuses its terms.
    pub fn start(
        name: &str,
        command: &[String],
        job: &Job,
        calls: &[Call],
        laboratory: &mut Laboratory,
    ) -> Result<(Self, Vec<String>), Trouble> {
        let (mut channels, mut theirs, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..job.connections {
            let (their_in, to) = own_end(true)?;
            let (from, their_out) = own_end(false)?;
            numbers.push((their_in.as_raw_fd(), their_out.as_raw_fd()));
            theirs.extend([their_in, their_out]);
            channels.push(Channel {
                to: to.into(),
                from: from.into(),
                unread: Vec::new(),
            });
        }
        let mut child = spawn(command, job)?;
        drop(theirs);
        let (Some(stdin), Some(output)) = (child.stdin.as_mut(), child.stdout.take()) else {
            return Err(Trouble::new(
                ErrorKind::Internal,
                "the adapter has no pipes",
            ));
        };
        let mut line =
            serde_json::to_vec(&Terms::of(name, job, numbers, calls)).unwrap_or_default();
        line.push(b'\n');
        let _ = stdin.write_all(&line);
        let secret = job.account.password.clone();
        let mut adapter = Self {
            name: name.to_owned(),
            channels,
            secret,
            child,
            output,
        };
        let takes = adapter.greeting(laboratory)?;
        Ok((adapter, takes))
    }

    /// The one line on its standard output.
    fn greeting(&mut self, laboratory: &mut Laboratory) -> Result<Vec<String>, Trouble> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let readable = self.wait_for_output(laboratory);
            let mut byte = [0; 1];
            if readable && !matches!(self.output.read(&mut byte), Ok(1)) {
                return Err(self.ended());
            }
            line.extend_from_slice(&byte[..usize::from(readable)]);
        }
        let told: Value = serde_json::from_slice(&line)
            .map_err(|error| self.broken(&format!("its first line is no JSON ({error})")))?;
        self.check(&told)?;
        let words = told["takes"].as_array().into_iter().flatten();
        Ok(words.filter_map(Value::as_str).map(str::to_owned).collect())
    }

    fn wait_for_output(&mut self, laboratory: &mut Laboratory) -> bool {
        let mut watched = [
            PollFd::from_borrowed_fd(input(), PollFlags::IN),
            PollFd::new(&self.output, PollFlags::IN),
        ];
        let _ = poll(&mut watched, None);
        let [said, written] =
            [watched[0].revents(), watched[1].revents()].map(|seen| !seen.is_empty());
        self.listen(said, laboratory);
        written
    }

    /// Waits until one of these channels has an answer, or until that long has passed: all answers that came.
    ///
    /// # Errors
    /// The adapter has ended, or says what is no answer. Failures that it tells of are answers.
    pub fn answers(
        &mut self,
        of: &[usize],
        longest: Duration,
        laboratory: &mut Laboratory,
    ) -> Result<Vec<(usize, Answer)>, Trouble> {
        let timeout = Timespec {
            tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: longest.subsec_nanos().into(),
        };
        let said = if laboratory.is_released() {
            // At its end it could be read for ever.
            PollFd::from_borrowed_fd(self.output.as_fd(), PollFlags::empty())
        } else {
            PollFd::from_borrowed_fd(input(), PollFlags::IN)
        };
        let mut watched = vec![said];
        watched.extend(
            of.iter()
                .map(|number| PollFd::new(&self.channels[*number].from, PollFlags::IN)),
        );
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(self.broken(&format!("it cannot be waited for ({error})"))),
        }
        let seen: Vec<bool> = watched
            .iter()
            .map(|file| !file.revents().is_empty())
            .collect();
        drop(watched);
        self.listen(seen[0] && !laboratory.is_released(), laboratory);
        let mut answers = Vec::new();
        for (number, _) in of.iter().zip(&seen[1..]).filter(|(_, readable)| **readable) {
            let channel = &mut self.channels[*number];
            let mut bytes = [0; 16384];
            match channel.from.read(&mut bytes) {
                Ok(0) | Err(_) => return Err(self.ended()),
                Ok(count) => channel.unread.extend_from_slice(&bytes[..count]),
            }
            match channel.answer() {
                Ok(answer) => answers.extend(answer.map(|answer| (*number, answer))),
                Err(words) => return Err(self.broken(&words)),
            }
        }
        Ok(answers)
    }

    /// Takes in what the laboratory says, and ends the process where it has hung up.
    fn listen(&mut self, said: bool, laboratory: &mut Laboratory) {
        if said {
            laboratory.take_in();
        }
        if laboratory.is_gone() {
            self.kill();
            leave();
        }
    }

    /// The failure that an answer tells of, if it does.
    ///
    /// # Errors
    /// That failure.
    pub fn check(&self, told: &Value) -> Result<(), Trouble> {
        let Some(failure) = told.get("failure") else {
            return Ok(());
        };
        let told: Told = serde_json::from_value(failure.clone()).map_err(|error| {
            self.broken(&format!("it tells of a failure that is none ({error})"))
        })?;
        Err(Trouble::told(&told, &self.name, &self.secret))
    }

    fn broken(&self, words: &str) -> Trouble {
        let message = format!("the adapter of {} broke its protocol: {words}", self.name);
        Trouble::new(ErrorKind::Internal, message)
    }

    /// How it ended, where it should not have.
    fn ended(&mut self) -> Trouble {
        let begun = Instant::now();
        while begun.elapsed() < GRACE && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
        let how = match self.child.wait() {
            Ok(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("was ended by signal {signal}"),
                (None, code) => format!("ended with status {}", code.unwrap_or_default()),
            },
            Err(error) => format!("cannot be waited for ({error})"),
        };
        Trouble::new(
            ErrorKind::Internal,
            format!("the adapter of {} {how}", self.name),
        )
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it, by its own doing or by ours.
    pub fn end(mut self) {
        self.channels.clear();
        drop(self.child.stdin.take());
        let begun = Instant::now();
        while begun.elapsed() < GRACE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.kill();
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pipe's two ends, read and write; ours is closed in the adapter.
fn own_end(ours_writes: bool) -> Result<(OwnedFd, OwnedFd), Trouble> {
    let refused = |error: Errno| {
        let message =
            format!("this machine has no pipe left for a connection ({error}): raise `ulimit -n`");
        Trouble::new(ErrorKind::Limits, message)
    };
    let (read, write) = pipe().map_err(refused)?;
    let ours = if ours_writes {
        write.as_fd()
    } else {
        read.as_fd()
    };
    fcntl_setfd(ours, FdFlags::CLOEXEC).map_err(refused)?;
    Ok((read, write))
}

/// It dies with us, whatever becomes of us, and trusts whom the job says that its runtime trusts.
///
/// Drivers of `PostgreSQL` take what they are not told from variables (PGSSLMODE, PGPASSWORD; libpq, "Environment
/// Variables") and from a home directory (`~/.postgresql/root.crt`, `~/.pgpass`): these are the user's, and not what
/// the driver does by default.
fn spawn(command: &[String], job: &Job) -> Result<Child, Trouble> {
    let mut program = Command::new("setpriv");
    program
        .args(["--pdeathsig", "KILL", "--"])
        .args(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if let Tls::Unset {
        trusted_ca_file: Some(file),
    }
    | Tls::Required {
        trusted_ca_file: Some(file),
    } = &job.tls
    {
        program
            .env("SSL_CERT_FILE", file)
            .env("SSL_CERT_DIR", "/dev/null")
            .env("NODE_EXTRA_CA_CERTS", file);
    }
    if !job.server.is_mysql() {
        let named = env::vars_os().map(|(name, _)| name);
        for name in named.filter(|name| name.as_encoded_bytes().starts_with(b"PG")) {
            program.env_remove(name);
        }
        program.env("HOME", NO_HOME);
    }
    program.spawn().map_err(|error| {
        let message = format!("the adapter cannot be started by setpriv ({error})");
        Trouble::new(ErrorKind::Internal, message)
    })
}
