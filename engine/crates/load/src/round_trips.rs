//! Round trips on a connection, and the bytes of each of its phases. Pure.

use crate::recorder::Crossed;

/// Bytes sent and received since a connection was opened.
pub type Bytes = (u64, u64);

/// Counts the round trips of one connection, and what crossed the wire since its phase began.
///
/// A round trip is a change from sending to receiving: how the answer is cut into pieces, and what is
/// sent without being answered, costs none.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundTrips {
    asked: bool,
    in_phase: u32,
    connecting: u32,
    since: Bytes,
}

impl RoundTrips {
    /// Something was sent.
    #[inline]
    pub fn sent(&mut self) {
        self.asked = true;
    }

    /// Something was received.
    #[inline]
    pub fn received(&mut self) {
        if self.asked {
            self.asked = false;
            self.in_phase += 1;
        }
    }

    /// What was sent last is not waited for by itself, since more follows.
    pub fn sent_ahead(&mut self) {
        self.asked = false;
    }

    /// N round trips were counted by somebody who sees more.
    pub fn counted(&mut self, round_trips: u32) {
        self.in_phase += round_trips;
    }

    /// A phase begins at these bytes; what was before belongs to none.
    #[inline]
    pub fn begin_phase(&mut self, at: Bytes) {
        self.in_phase = 0;
        self.since = at;
    }

    /// A phase ends at these bytes, and the next begins.
    #[inline]
    pub fn end_phase(&mut self, at: Bytes) -> Crossed {
        let crossed = Crossed {
            round_trips: self.in_phase,
            bytes_sent: at.0 - self.since.0,
            bytes_received: at.1 - self.since.1,
        };
        self.connecting += self.in_phase;
        self.begin_phase(at);
        crossed
    }

    /// All phases since the connection was begun, together.
    pub fn all(&self, at: Bytes) -> Crossed {
        Crossed {
            round_trips: self.connecting,
            bytes_sent: at.0,
            bytes_received: at.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trips(conversation: &str) -> u32 {
        let mut trips = RoundTrips::default();
        for turn in conversation.chars() {
            match turn {
                '>' => trips.sent(),
                _ => trips.received(),
            }
        }
        trips.end_phase((0, 0)).round_trips
    }

    #[test]
    fn a_round_trip_is_a_change_from_sending_to_receiving() {
        for (conversation, expected) in [
            ("", 0),
            (">", 0),
            ("<", 0),
            ("><", 1),
            (">><<<", 1),
            ("><><", 2),
            ("><>", 1),
        ] {
            assert_eq!(round_trips(conversation), expected, "{conversation}");
        }
    }

    #[test]
    fn each_phase_has_its_own_bytes_and_all_of_them_together_what_there_was() {
        let mut trips = RoundTrips::default();
        trips.counted(1);
        assert_eq!(trips.end_phase((0, 0)).round_trips, 1);
        trips.sent();
        trips.sent_ahead();
        trips.counted(2);
        trips.received();
        let handshake = trips.end_phase((500, 2000));
        let all = trips.all((500, 2000));
        trips.sent();
        trips.received();
        let query = trips.end_phase((530, 2100));
        let crossed = |round_trips, bytes_sent, bytes_received| Crossed {
            round_trips,
            bytes_sent,
            bytes_received,
        };
        assert_eq!(handshake, crossed(2, 500, 2000));
        assert_eq!(all, crossed(3, 500, 2000));
        assert_eq!(query, crossed(1, 30, 100));
        trips.sent();
        trips.received();
        trips.begin_phase((600, 2200));
        assert_eq!(trips.end_phase((600, 2200)), Crossed::default());
    }
}
