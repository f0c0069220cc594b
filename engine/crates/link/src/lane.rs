//! One way of the distance: which packet leaves when. Told the time, so that a test knows it all beforehand.
//!
//! A packet first waits for the line, which carries one after another at the rate (as a network device's
//! queue does), and is then on its way for the delay. Packets never overtake each other, whatever
//! jitter draws: a packet of a shorter delay waits for the one before it, so that jitter looks like a
//! queue somewhere and not like loss to TCP, which takes reordering for loss (RFC 5681, section 3.2).

use std::collections::VecDeque;

use serde::Serialize;

use crate::settings::Settings;

/// What may wait for the line: a thousand full packets, as many as Linux lets wait at a device (txqueuelen).
const QUEUE_BYTES: usize = 1_000 * 1_500;
/// What may be on its way; more than that is memory without end. A gigabit over 170 ms is a seventh of it.
const MOST_ON_THEIR_WAY: usize = 100_000;
/// Buffers that are kept for packets to come.
const MOST_SPARE: usize = 1_024;

/// What one way has carried since it was asked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Packets that arrived at their due time or later.
    pub packets: u64,
    /// Bytes of those, with the header of IP.
    pub bytes: u64,
    /// Packets for which there was no room.
    pub drops: u64,
}

/// A packet that has left and not arrived.
#[derive(Debug)]
struct Travelling {
    due_ns: u64,
    packet: Vec<u8>,
}

/// One way of the distance.
#[derive(Debug, Default)]
pub struct Lane {
    settings: Settings,
    line_free_ns: u64,
    last_due_ns: u64,
    travelling: VecDeque<Travelling>,
    spare: Vec<Vec<u8>>,
    counts: Counts,
}

impl Lane {
    /// Makes the distance this one, from the next packet on; those on their way arrive as they were to.
    pub fn set(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// A packet is sent at `now_ns`; `draw`, between -1 and 1, is its share of the jitter.
    pub fn send(&mut self, packet: &[u8], now_ns: u64, draw: f64) {
        let begins_ns = self.line_free_ns.max(now_ns);
        if self.waits(begins_ns - now_ns) || self.travelling.len() >= MOST_ON_THEIR_WAY {
            self.counts.drops += 1;
            return;
        }
        self.line_free_ns = begins_ns + self.settings.sending_ns(packet.len());
        let due_ns = self.line_free_ns + self.settings.delay_ns(draw);
        self.last_due_ns = due_ns.max(self.last_due_ns);
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(packet);
        self.travelling.push_back(Travelling {
            due_ns: self.last_due_ns,
            packet: kept,
        });
    }

    /// Whether more waits for the line than there is room for, when it is free so late.
    fn waits(&self, wait_ns: u64) -> bool {
        self.settings.rate_mbit > 0.0 && wait_ns > self.settings.sending_ns(QUEUE_BYTES)
    }

    /// When the next packet arrives; none where there is none.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.travelling.front().map(|first| first.due_ns)
    }

    /// The next packet that has arrived by `now_ns`, and when it was to.
    pub fn arrived(&mut self, now_ns: u64) -> Option<(u64, Vec<u8>)> {
        self.travelling
            .front()
            .filter(|first| first.due_ns <= now_ns)?;
        let first = self.travelling.pop_front()?;
        self.counts.packets += 1;
        self.counts.bytes += first.packet.len() as u64;
        Some((first.due_ns, first.packet))
    }

    /// A packet's buffer, for another one.
    pub fn give_back(&mut self, packet: Vec<u8>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(packet);
        }
    }

    /// A packet that had arrived could not be handed over after all.
    pub fn lost(&mut self, bytes: usize) {
        self.counts.packets -= 1;
        self.counts.bytes -= bytes as u64;
        self.counts.drops += 1;
    }

    /// What was carried since this was asked last.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn lane(rtt_ms: f64, jitter_ms: f64, rate_mbit: f64) -> Lane {
        let mut lane = Lane::default();
        lane.set(Settings {
            rtt_ms,
            jitter_ms,
            rate_mbit,
        });
        lane
    }

    fn arrivals(lane: &mut Lane) -> Vec<(u64, u8)> {
        std::iter::from_fn(|| lane.arrived(u64::MAX))
            .map(|(due_ns, packet)| (due_ns, packet[0]))
            .collect()
    }

    #[test]
    fn a_packet_arrives_after_half_the_round_trip_and_not_before() {
        let mut lane = lane(45.0, 0.0, 0.0);
        lane.send(&[7; 60], 100, 0.0);
        assert_eq!(lane.next_due_ns(), Some(22_500_100));
        assert_eq!(lane.arrived(22_500_099), None);
        assert_eq!(lane.arrived(22_500_100), Some((22_500_100, vec![7; 60])));
        assert_eq!(lane.next_due_ns(), None);
        let counts = Counts {
            packets: 1,
            bytes: 60,
            drops: 0,
        };
        assert_eq!(lane.take_counts(), counts);
        assert_eq!(lane.take_counts(), Counts::default());
    }

    #[test]
    fn packets_in_flight_do_not_wait_for_each_other() {
        let mut lane = lane(20.0, 0.0, 0.0);
        lane.send(&[1], 0, 0.0);
        lane.send(&[2], 3, 0.0);
        assert_eq!(arrivals(&mut lane), [(10 * MS, 1), (10 * MS + 3, 2)]);
    }

    #[test]
    fn jitter_delays_and_hastens_but_nobody_overtakes() {
        let mut lane = lane(20.0, 4.0, 0.0);
        for (packet, (at, draw)) in [(0, 1.0), (MS, -1.0), (2 * MS, 0.0), (20 * MS, -1.0)]
            .iter()
            .enumerate()
        {
            lane.send(&[u8::try_from(packet).unwrap()], *at, *draw);
        }
        assert_eq!(
            arrivals(&mut lane),
            [(14 * MS, 0), (14 * MS, 1), (14 * MS, 2), (26 * MS, 3)]
        );
    }

    #[test]
    fn the_line_carries_one_packet_after_another_at_its_rate() {
        // 1,000 bytes at 8 Mbit/s take a millisecond.
        let mut lane = lane(10.0, 0.0, 8.0);
        for packet in 0..3 {
            lane.send(&[packet; 1_000], 0, 0.0);
        }
        lane.send(&[3; 1_000], 10 * MS, 0.0);
        assert_eq!(
            arrivals(&mut lane),
            [(6 * MS, 0), (7 * MS, 1), (8 * MS, 2), (16 * MS, 3)]
        );
    }

    #[test]
    fn what_finds_no_room_at_the_line_is_dropped_and_counted() {
        let mut lane = lane(0.0, 0.0, 12.0);
        // Each takes a millisecond; the first is on the line at once, and a thousand may wait behind it.
        for _ in 0..2_000 {
            lane.send(&[1; 1_500], 0, 0.0);
        }
        assert_eq!(arrivals(&mut lane).len(), 1_001);
        let counts = lane.take_counts();
        assert_eq!((counts.packets, counts.drops), (1_001, 999));
        lane.send(&[1; 1_500], 1_000 * MS, 0.0);
        assert_eq!(arrivals(&mut lane).len(), 1);
    }

    #[test]
    fn a_new_distance_is_for_packets_to_come() {
        let mut lane = lane(40.0, 0.0, 0.0);
        lane.send(&[1], 0, 0.0);
        lane.set(Settings {
            rtt_ms: 2.0,
            ..Settings::default()
        });
        lane.send(&[2], 0, 0.0);
        lane.send(&[3], 30 * MS, 0.0);
        assert_eq!(
            arrivals(&mut lane),
            [(20 * MS, 1), (20 * MS, 2), (31 * MS, 3)]
        );
    }

    #[test]
    fn a_packet_that_could_not_be_handed_over_is_a_drop() {
        let mut lane = lane(0.0, 0.0, 0.0);
        lane.send(&[1; 40], 0, 0.0);
        let (_, packet) = lane.arrived(0).unwrap();
        lane.lost(packet.len());
        assert_eq!(
            lane.take_counts(),
            Counts {
                packets: 0,
                bytes: 0,
                drops: 1
            }
        );
    }
}
