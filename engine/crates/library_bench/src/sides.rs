//! Whose CPU time it was: one thread works for both sides in turn, and reads its own clock in between.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::clock;

/// Where in the page of who counts locks the side stands (`struct page` of `specimens/faults/count_locks.c`).
const SIDE_AT: u64 = 24;

const NOBODY: u64 = 0;
const CLIENT: u64 = 1;
const SERVER: u64 = 2;

/// The CPU time of either side so far.
#[derive(Debug, Default)]
pub struct Sides {
    client_ns: u64,
    server_ns: u64,
    page: Option<File>,
}

impl Sides {
    /// Writes into this page for which side it works at any time.
    pub fn told_to(page: &Path) -> io::Result<Self> {
        let page = OpenOptions::new().write(true).open(page)?;
        Ok(Self {
            page: Some(page),
            ..Self::default()
        })
    }

    /// Does something for the client.
    pub fn client<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (spent_ns, done) = self.timed(CLIENT, work);
        self.client_ns += spent_ns;
        done
    }

    /// Does something for the server.
    pub fn server<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (spent_ns, done) = self.timed(SERVER, work);
        self.server_ns += spent_ns;
        done
    }

    /// The client's, in microseconds.
    pub fn client_us(&self) -> f64 {
        clock::seconds(self.client_ns) * 1e6
    }

    /// The server's, in microseconds.
    pub fn server_us(&self) -> f64 {
        clock::seconds(self.server_ns) * 1e6
    }

    fn timed<T>(&self, side: u64, work: impl FnOnce() -> T) -> (u64, T) {
        self.tell(side);
        let before_ns = clock::thread_cpu_ns();
        let done = work();
        let spent_ns = clock::thread_cpu_ns() - before_ns;
        self.tell(NOBODY);
        (spent_ns, done)
    }

    fn tell(&self, side: u64) {
        if let Some(page) = &self.page {
            // A page that cannot be written any more shows: nothing is counted for either side.
            let _ = page.write_all_at(&side.to_le_bytes(), SIDE_AT);
        }
    }
}
