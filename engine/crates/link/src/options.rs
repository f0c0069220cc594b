//! What the command line asks for.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};

/// What is to be done.
#[derive(Debug, PartialEq)]
pub enum Task {
    /// Carry packets between two devices, as a Unix socket says.
    Carry {
        /// The socket's path.
        socket: PathBuf,
    },
    /// Measure round trips.
    RoundTrips(RoundTrips),
}

/// Which round trips are to be measured.
#[derive(Debug, PartialEq)]
pub struct RoundTrips {
    /// Where nobody listens.
    pub to: SocketAddrV4,
    /// How many.
    pub samples: usize,
    /// How long all of them may take.
    pub timeout: Duration,
}

const USAGE: &str = "usage: tlstax-tools link carry --socket PATH, or tlstax-tools link rtt --to ADDRESS --port PORT \
                     [--samples N] [--timeout-s S]";

/// Reads the arguments; an unknown one, or a bad value, is told in one sentence.
pub fn task(mut arguments: Parser) -> Result<Task, String> {
    let mut word = None;
    let (mut socket, mut to, mut port) = (None, None, None);
    let (mut samples, mut timeout_s) = (9, 5.0);
    while let Some(argument) = arguments.next().map_err(|error| error.to_string())? {
        match argument {
            Arg::Value(value) if word.is_none() => word = Some(value.string().map_err(said)?),
            Arg::Long("socket") => socket = Some(PathBuf::from(arguments.value().map_err(said)?)),
            Arg::Long("to") => to = Some(parsed::<Ipv4Addr>(&mut arguments, "an IPv4 address")?),
            Arg::Long("port") => port = Some(parsed::<u16>(&mut arguments, "a port")?),
            Arg::Long("samples") => samples = parsed(&mut arguments, "a number")?,
            Arg::Long("timeout-s") => timeout_s = parsed(&mut arguments, "a time in seconds")?,
            unknown => return Err(format!("{}; {USAGE}", unknown.unexpected())),
        }
    }
    match (word.as_deref(), socket, to, port) {
        (Some("carry"), Some(socket), None, None) => Ok(Task::Carry { socket }),
        (Some("rtt"), None, Some(to), Some(port)) if (1..=1_000).contains(&samples) => {
            let timeout =
                Duration::try_from_secs_f64(timeout_s).map_err(|error| error.to_string())?;
            let to = SocketAddrV4::new(to, port);
            Ok(Task::RoundTrips(RoundTrips {
                to,
                samples,
                timeout,
            }))
        }
        _ => Err(USAGE.into()),
    }
}

fn parsed<T: FromStr>(arguments: &mut Parser, what: &str) -> Result<T, String> {
    let given = arguments.value().and_then(ValueExt::string).map_err(said)?;
    given.parse().map_err(|_| format!("{given} is not {what}"))
}

#[allow(clippy::needless_pass_by_value)] // what map_err hands over
fn said(error: impl ToString) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Task, String> {
        task(Parser::from_args(words.split_whitespace()))
    }

    #[test]
    fn both_tasks_are_understood() {
        let socket = PathBuf::from("/s");
        assert_eq!(read("carry --socket /s").unwrap(), Task::Carry { socket });
        let Task::RoundTrips(asked) = read("rtt --to 198.18.0.1 --port 1 --samples 5").unwrap()
        else {
            panic!("another task");
        };
        assert_eq!(
            (asked.to.to_string().as_str(), asked.samples),
            ("198.18.0.1:1", 5)
        );
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (words, said) in [
            ("", "usage"),
            ("carry", "usage"),
            ("rtt --to 198.18.0.1", "usage"),
            ("rtt --to here --port 1", "here is not an IPv4 address"),
            ("rtt --to 198.18.0.1 --port 1 --samples 0", "usage"),
            ("rtt --to 198.18.0.1 --port 1 --timeout-s -1", "negative"),
            ("carry --socket /s --fast", "fast"),
        ] {
            let why = read(words).unwrap_err();
            assert!(why.contains(said), "{words}: {why}");
        }
    }
}
