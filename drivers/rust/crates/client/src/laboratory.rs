//! The laboratory's end of standard input: `go` with the length of a slice, and `end`.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::failure::Failure;

/// No time in the contract is longer than a year.
const LONGEST_S: f64 = 365.0 * 24.0 * 3600.0;

/// What the laboratory wants next.
#[derive(Debug, PartialEq, Eq)]
pub enum Order {
    /// A slice of this length.
    Go(Duration),
    /// The result of all slices.
    End,
}

impl Order {
    /// What a line orders, if anything. A `go` without a length that can be is a `bad_job`.
    fn of(line: &str) -> Result<Option<Self>, Failure> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["end"] => Ok(Some(Self::End)),
            ["go", ref rest @ ..] => {
                let length = match rest {
                    [number] => number.parse::<f64>().ok(),
                    _ => None,
                };
                length
                    .filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST_S)
                    .map(|seconds| Some(Self::Go(Duration::from_secs_f64(seconds))))
                    .ok_or_else(|| {
                        let line = line.trim();
                        Failure::bad_job(format!(
                            "go needs the length of a slice in seconds, a year at most: {line}"
                        ))
                    })
            }
            _ => Ok(None),
        }
    }
}

/// Its orders, in a task of their own. That it leaves before its time ends the process at once, whatever is
/// under way.
pub struct Laboratory {
    orders: UnboundedReceiver<Result<Order, Failure>>,
    done: Arc<AtomicBool>,
}

impl Laboratory {
    /// Listens on standard input, which the runtime waits for as it waits for answers: an order wakes the thread
    /// that carries it out, and no other in between.
    pub fn listen() -> Result<Self, Failure> {
        let input = std::io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .and_then(Receiver::from_owned_fd)
            .map_err(|error| Failure::new("internal", format!("standard input: {error}")))?;
        let (say, orders) = unbounded_channel();
        let done = Arc::new(AtomicBool::new(false));
        tokio::spawn(hear(input, say, Arc::clone(&done)));
        Ok(Self { orders, done })
    }

    /// The next order.
    pub async fn order(&mut self) -> Result<Order, Failure> {
        match self.orders.recv().await {
            Some(order) => order,
            None => std::future::pending().await, // the process is about to end
        }
    }

    /// From now on it may leave.
    pub fn may_leave(&self) {
        self.done.store(true, Relaxed);
    }

    /// Waits until it has left.
    pub async fn over(&mut self) {
        while self.orders.recv().await.is_some() {}
    }
}

async fn hear(
    input: Receiver,
    say: UnboundedSender<Result<Order, Failure>>,
    done: Arc<AtomicBool>,
) {
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(order) = Order::of(&line).transpose() {
            let _ = say.send(order);
        }
    }
    if !done.load(Relaxed) {
        std::process::exit(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_ordered_with_its_length() {
        let ordered = |line| Order::of(line).ok().unwrap();
        let short = Order::Go(Duration::from_millis(20));
        assert_eq!(ordered("go 0.020000000"), Some(short));
        assert_eq!(ordered(" end "), Some(Order::End));
        for line in ["", "{}", "going 1", "the end", "end 1"] {
            assert_eq!(ordered(line), None, "{line}");
        }
    }

    #[test]
    fn a_length_that_is_none_is_refused_in_one_sentence() {
        for number in ["", "soon", "0", "-1", "nan", "inf", "1 2", "31536001"] {
            let failure = Order::of(&format!("go {number}")).unwrap_err();
            assert_eq!(failure.kind, "bad_job");
            assert!(failure.message.starts_with("go needs the length"));
            assert_eq!(failure.message.lines().count(), 1);
        }
    }
}
