//! How long a closed loop sleeps by the clock, so that it collects several answers at once. Pure.
//!
//! A thread that waits in `epoll_wait(2)` is woken by the server, answer by answer, and on another
//! core that wake-up costs the server more than the answer's way through the kernel: what is
//! measured would be the price of a sleeping client. A thread that sleeps by the clock is woken
//! by its own core. The server never runs dry meanwhile: only a part of what is in flight can be
//! answered during a nap.
//!
//! In a closed loop the mean latency is the number of connections over the rate (Little, "A Proof for
//! the Queuing Formula L = λW", 1961), so that a nap which does not slow the server down moves time from
//! the server's queue to the client, and adds none. An open loop, whose latencies are
//! promised to be true one by one, must not nap.

use std::cmp::Ordering;

/// With fewer operations in flight than this the server could run dry.
const FEWEST_IN_FLIGHT: usize = 8;
/// A look should find about one in this many of the operations in flight ready: the server is then
/// left with the others to work on.
const ONE_IN: usize = 4;
/// Fewer would not pay for the nap's timer.
const FEWEST_FOUND: usize = 4;
/// A shorter nap is not worth its timer.
const SHORTEST_NS: f64 = 5_000.0;
/// No nap is longer: what ends the window must be seen in time.
const LONGEST_NS: f64 = 1_000_000.0;
/// How fast looks come together when one found too much: faster than they go apart again, because
/// a server that runs dry is worse than a client that is woken once more.
const CLOSER: f64 = 0.8;
const FARTHER: f64 = 1.1;

/// What the last looks at the sockets have taught.
#[derive(Debug)]
pub struct Pace {
    apart_ns: f64,
    looked_ns: u64,
}

impl Pace {
    /// Nothing known yet; none for connections that are too few for naps.
    pub fn of(connections: usize) -> Option<Self> {
        (connections >= FEWEST_IN_FLIGHT).then_some(Self {
            apart_ns: SHORTEST_NS,
            looked_ns: 0,
        })
    }

    /// Notes a look at `now_ns` that teaches nothing, because fewer and fewer operations are in flight or
    /// all have just been begun.
    pub fn passed(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
    }

    /// Notes a look at `now_ns` that found N sockets of those in flight ready.
    pub fn looked(&mut self, found: usize, in_flight: usize, now_ns: u64) {
        self.looked_ns = now_ns;
        self.apart_ns = match found.cmp(&(in_flight / ONE_IN).max(FEWEST_FOUND)) {
            Ordering::Less => (self.apart_ns * FARTHER).min(LONGEST_NS),
            Ordering::Equal => self.apart_ns,
            Ordering::Greater => (self.apart_ns * CLOSER).max(SHORTEST_NS),
        };
    }

    /// How long to nap at `now_ns` with N operations in flight; none where the server could
    /// run dry. The time that went into the answers of the last look counts as slept: the server has
    /// worked meanwhile.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn nap_ns(&self, in_flight: usize, now_ns: u64) -> Option<u64> {
        if in_flight < FEWEST_IN_FLIGHT || self.apart_ns <= SHORTEST_NS {
            return None;
        }
        (self.looked_ns + self.apart_ns as u64)
            .checked_sub(now_ns)
            .filter(|nap_ns| *nap_ns > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// A server that answers one operation every `service_ns`, in the order they came, and a client
    /// that needs `handling_ns` for each; how many a look found in the end, and the busy share of
    /// the server.
    #[allow(clippy::cast_precision_loss)]
    fn simulated(connections: u64, service_ns: u64, handling_ns: u64) -> (u64, f64) {
        let (mut pace, mut now, mut found) = (Pace::of(8).unwrap(), 0, 0);
        let (mut free_at, mut busy_ns) = (0, 0);
        let mut due: VecDeque<u64> = VecDeque::new();
        let mut ask = |due: &mut VecDeque<u64>, at: u64| {
            free_at = at.max(free_at) + service_ns;
            busy_ns += service_ns;
            due.push_back(free_at);
        };
        (0..connections).for_each(|_| ask(&mut due, 0));
        for _ in 0..2_000 {
            let in_flight = due.len();
            now += pace.nap_ns(in_flight, now).unwrap_or_default();
            now = now.max(due[0]);
            found = due.iter().filter(|at| **at <= now).count();
            pace.looked(found, in_flight, now);
            for _ in 0..found {
                due.pop_front();
                now += handling_ns;
                ask(&mut due, now);
            }
        }
        (found as u64, busy_ns as f64 / now as f64)
    }

    #[test]
    fn a_look_finds_a_quarter_of_what_is_in_flight_and_the_server_never_rests() {
        for (connections, service_ns) in [(8, 20_000), (64, 20_000), (64, 35_000), (512, 3_000)] {
            let (found, busy) = simulated(connections, service_ns, service_ns / 4);
            let wanted = (connections / 4).max(4);
            assert!(
                (wanted / 2..=wanted * 3 / 2).contains(&found),
                "{connections} connections: {found} found"
            );
            assert!(busy > 0.99, "{connections} connections: busy {busy}");
        }
    }

    #[test]
    fn a_client_as_slow_as_the_server_keeps_it_as_busy_as_without_naps() {
        let (_, busy) = simulated(8, 100_000, 90_000);
        assert!(busy > 0.99, "busy {busy}");
    }

    #[test]
    fn few_connections_never_nap_and_nor_does_who_knows_nothing() {
        assert!(Pace::of(7).is_none());
        let mut pace = Pace::of(8).unwrap();
        assert_eq!(pace.nap_ns(64, 1), None);
        (1..100).for_each(|look| pace.looked(1, 64, look));
        assert_eq!(pace.nap_ns(7, 100), None);
        assert!(pace.nap_ns(8, 100).is_some());
    }

    #[test]
    fn a_look_that_teaches_nothing_changes_no_nap() {
        let mut pace = Pace::of(8).unwrap();
        (1..20).for_each(|look| pace.looked(1, 64, look));
        let learned = pace.nap_ns(64, 19);
        assert!(learned.is_some());
        pace.passed(1_000_000);
        assert_eq!(pace.nap_ns(64, 1_000_000), learned);
    }

    #[test]
    fn no_nap_outlasts_what_can_be_waited_for() {
        let mut pace = Pace::of(64).unwrap();
        (0..1_000).for_each(|_| pace.looked(0, 64, 7));
        assert_eq!(pace.nap_ns(64, 7), Some(1_000_000));
        assert_eq!(pace.nap_ns(64, 400_007), Some(600_000));
        assert_eq!(pace.nap_ns(64, 2_000_000), None);
    }
}
