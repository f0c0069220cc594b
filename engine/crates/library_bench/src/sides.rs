//! Whose CPU time it was: one thread works for both sides in turn, and reads its own clock in between.

use crate::clock;

/// The CPU time of either side so far.
#[derive(Debug, Default)]
pub struct Sides {
    client_ns: u64,
    server_ns: u64,
}

impl Sides {
    /// Does something for the client.
    pub fn client<T>(&mut self, work: impl FnOnce() -> T) -> T {
        timed(&mut self.client_ns, work)
    }

    /// Does something for the server.
    pub fn server<T>(&mut self, work: impl FnOnce() -> T) -> T {
        timed(&mut self.server_ns, work)
    }

    /// The client's, in microseconds.
    pub fn client_us(&self) -> f64 {
        clock::seconds(self.client_ns) * 1e6
    }

    /// The server's, in microseconds.
    pub fn server_us(&self) -> f64 {
        clock::seconds(self.server_ns) * 1e6
    }
}

fn timed<T>(side_ns: &mut u64, work: impl FnOnce() -> T) -> T {
    let before_ns = clock::thread_cpu_ns();
    let done = work();
    *side_ns += clock::thread_cpu_ns() - before_ns;
    done
}
