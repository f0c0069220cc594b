//! What the laboratory says on standard input, and what is said to it.

use std::io::{Read, Write};
use std::os::fd::BorrowedFd;

use tlstax_client::Failure;
use tlstax_contract::{Event, Order};

/// The longest line that may be a job.
const LONGEST_LINE_BYTES: usize = 16 << 20;

/// Standard input, line by line. The process ends when it does, and with it the adapter.
#[derive(Debug, Default)]
pub struct Laboratory {
    unread: Vec<u8>,
    has_ended: bool,
    is_released: bool,
}

impl Laboratory {
    /// The next line; none at the end.
    pub fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).into_owned());
            }
            if self.has_ended || self.unread.len() > LONGEST_LINE_BYTES {
                return None;
            }
            self.take_in();
        }
    }

    /// The next order. Ends the process where there is none.
    ///
    /// # Errors
    /// A `go` without a length that can be.
    pub fn order(&mut self) -> Result<Order, Failure> {
        loop {
            let Some(line) = self.line() else { leave() };
            if let Some(order) = Order::from_line(&line)? {
                return Ok(order);
            }
        }
    }

    /// Takes in what has come, or waits for something.
    pub fn take_in(&mut self) {
        let mut bytes = [0; 4096];
        match std::io::stdin().read(&mut bytes) {
            Ok(0) | Err(_) => self.has_ended = true,
            Ok(count) => self.unread.extend_from_slice(&bytes[..count]),
        }
    }

    /// Whether it has hung up though it wants a result.
    pub fn is_gone(&self) -> bool {
        self.has_ended && !self.is_released
    }

    /// Whether it has the result.
    pub fn is_released(&self) -> bool {
        self.is_released
    }

    /// Returns when it has hung up, which from now on ends nothing.
    pub fn await_end(&mut self) {
        self.is_released = true;
        while !self.has_ended {
            self.take_in();
        }
    }
}

/// Standard input, to wait for.
pub fn input() -> BorrowedFd<'static> {
    rustix::stdio::stdin()
}

/// Says an event.
pub fn say(event: &Event) {
    let mut line = serde_json::to_vec(event).unwrap_or_default();
    line.push(b'\n');
    let mut output = std::io::stdout().lock();
    if output
        .write_all(&line)
        .and_then(|()| output.flush())
        .is_err()
    {
        leave();
    }
}

/// Nobody wants the result any more. The adapter dies with this process.
pub fn leave() -> ! {
    std::process::exit(1)
}
