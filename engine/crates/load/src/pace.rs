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

/// With fewer operations in flight than this the server could run dry.
const FEWEST_IN_FLIGHT: usize = 8;
/// At most this part of what is in flight should be answered during one nap.
const SHARE_IN_FLIGHT: f64 = 0.25;
/// No nap is longer: what ends the window must be seen in time.
const LONGEST_NS: f64 = 1_000_000.0;
/// The weight of the newest look in the mean of the gap: about the last sixteen count.
const WEIGHT: f64 = 1.0 / 16.0;

/// What the last looks at the sockets have taught.
#[derive(Debug, Default)]
pub struct Pace {
    gap_ns: f64,
    looked_ns: u64,
}

impl Pace {
    /// Notes a look at `now_ns` that found so many sockets ready.
    #[allow(clippy::cast_precision_loss)]
    pub fn looked(&mut self, found: usize, now_ns: u64) {
        if found == 0 {
            return;
        }
        let gap_ns = now_ns.saturating_sub(self.looked_ns) as f64 / found as f64;
        if self.looked_ns > 0 {
            let known = if self.gap_ns > 0.0 {
                self.gap_ns
            } else {
                gap_ns
            };
            self.gap_ns = known + (gap_ns - known) * WEIGHT;
        }
        self.looked_ns = now_ns;
    }

    /// How long to nap with so many operations in flight; none where the server could run dry.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    pub fn nap_ns(&self, in_flight: usize) -> Option<u64> {
        let nap_ns = (in_flight as f64 * self.gap_ns * SHARE_IN_FLIGHT).min(LONGEST_NS);
        (in_flight >= FEWEST_IN_FLIGHT && self.gap_ns > 0.0).then_some(nap_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_looks(found: usize, every_ns: u64) -> Pace {
        let mut pace = Pace::default();
        for look in 1..200 {
            pace.looked(found, look * every_ns);
        }
        pace
    }

    #[test]
    fn a_nap_lasts_as_long_as_a_quarter_of_the_answers_in_flight() {
        let pace = after_looks(2, 60_000);
        assert_eq!(pace.nap_ns(8), Some(60_000));
        assert_eq!(pace.nap_ns(64), Some(480_000));
        assert_eq!(pace.nap_ns(10_000), Some(1_000_000));
    }

    #[test]
    fn few_connections_never_nap_and_nor_does_who_knows_nothing() {
        assert_eq!(after_looks(2, 60_000).nap_ns(7), None);
        assert_eq!(Pace::default().nap_ns(64), None);
    }

    #[test]
    fn the_gap_follows_the_server() {
        let mut pace = after_looks(1, 10_000);
        let then = pace.looked_ns;
        for look in 1..100 {
            pace.looked(0, then + look * 40_000 - 1);
            pace.looked(1, then + look * 40_000);
        }
        let nap_ns = pace.nap_ns(8).unwrap_or_default();
        assert!((75_000..=80_000).contains(&nap_ns), "{nap_ns}");
    }
}
