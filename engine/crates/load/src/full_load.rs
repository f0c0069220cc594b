//! The part of a slice in which all connections are at work: when it begins, when it ends, and what the clocks
//! say at either.
//!
//! At the beginning of a slice all connections start at once, in step; at its end fewer and fewer are left, and
//! client and server keep each other waiting. Where operations are long, as when connections come and go, a
//! short slice is made of little else. So what counts is what lies between two answers: the last one of the
//! lead-in, and the first one after the slice's length, when every connection still has an operation in flight.
//!
//! On a machine that has much else to do a slice can be over before its lead-in is. It goes on then, so that at
//! least half of its length is under full load: slices that tell this and slices that do not cannot be compared.
//!
//! Operations that lie across an end count by the part of their time that lies within: connections that began in
//! step are answered in step, so that whole ones would be eight or none.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use tlstax_client::Failure;
use tlstax_client::clock::{process_cpu_ns, seconds};
use tlstax_contract::{FullLoad, FullLoadSpan};

use crate::slice::SliceRecord;

/// How many times its length a slice lasts at the most, if its lead-in does not end.
const MOST_LENGTHS: u64 = 10;

/// The clocks at one end.
#[derive(Debug)]
struct Reading {
    own_ns: u64,
    others_ns: Vec<u64>,
}

/// Both ends of the part of a slice that counts, for all threads.
#[derive(Debug)]
pub struct Meter {
    after_operations: u64,
    others: Vec<ClockId>,
    length_ns: AtomicU64,
    latest_ns: AtomicU64,
    until_ns: AtomicU64,
    answered: AtomicU64,
    begun_ns: AtomicU64,
    ended_ns: AtomicU64,
    readings: Mutex<[Option<Reading>; 2]>,
}

impl Meter {
    /// A meter for a job; none where it does not ask for one.
    ///
    /// # Errors
    /// A process that it names has no clock here.
    pub fn of(asked: Option<&FullLoad>) -> Result<Option<Self>, Failure> {
        let Some(asked) = asked else {
            return Ok(None);
        };
        Ok(Some(Self {
            after_operations: u64::from(asked.after_operations),
            others: asked
                .cpu_of
                .iter()
                .copied()
                .map(clock_of)
                .collect::<Result<_, _>>()?,
            length_ns: AtomicU64::new(0),
            latest_ns: AtomicU64::new(0),
            until_ns: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            begun_ns: AtomicU64::new(0),
            ended_ns: AtomicU64::new(0),
            readings: Mutex::default(),
        }))
    }

    /// A slice begins in which operations are started from `start_ns` until `until_ns`, or later (`until_ns`).
    pub fn begin(&self, start_ns: u64, until_ns: u64) {
        let length_ns = until_ns.saturating_sub(start_ns);
        self.length_ns.store(length_ns, Ordering::Relaxed);
        self.latest_ns
            .store(start_ns + MOST_LENGTHS * length_ns, Ordering::Relaxed);
        for counter in [&self.answered, &self.begun_ns, &self.ended_ns] {
            counter.store(0, Ordering::Relaxed);
        }
        self.readings().fill_with(|| None);
        self.until_ns.store(until_ns, Ordering::Release);
    }

    /// Until when operations of this slice are started, as far as is known yet.
    #[inline]
    pub fn until_ns(&self) -> u64 {
        self.until_ns.load(Ordering::Acquire)
    }

    /// Notes an answer at `at_ns` to an operation that took `took_ns`; how much of that time counts. Of several
    /// threads the first one that sees an end reads the clocks there.
    #[inline]
    pub fn answered(&self, took_ns: u64, at_ns: u64) -> u64 {
        let begun_ns = self.begun_ns.load(Ordering::Acquire);
        if begun_ns == 0 {
            self.lead_in(at_ns);
            return 0;
        }
        let mut ended_ns = self.ended_ns.load(Ordering::Acquire);
        if ended_ns == 0 && at_ns >= self.until_ns() {
            ended_ns = self.end(at_ns);
        }
        let until_ns = if ended_ns == 0 {
            at_ns
        } else {
            at_ns.min(ended_ns)
        };
        until_ns.saturating_sub(begun_ns.max(at_ns.saturating_sub(took_ns)))
    }

    /// What was done between both ends of the slice that is over; none where it had not both.
    pub fn span(&self, slice: &SliceRecord) -> Option<FullLoadSpan> {
        let (begun_ns, ended_ns) = (
            self.begun_ns.load(Ordering::Acquire),
            self.ended_ns.load(Ordering::Acquire),
        );
        let [Some(before), Some(after)] = &*self.readings() else {
            return None;
        };
        let elapsed_ns = ended_ns.checked_sub(begun_ns).filter(|ns| *ns > 0)?;
        let spent_us = |from: u64, to: u64| seconds(to.saturating_sub(from)) * 1e6;
        let others = before.others_ns.iter().zip(&after.others_ns);
        Some(FullLoadSpan {
            elapsed_s: seconds(elapsed_ns),
            operations: slice.counted,
            latency_sum_s: seconds(slice.counted_ns),
            cpu_us: spent_us(before.own_ns, after.own_ns),
            cpu_of_us: others.map(|(from, to)| spent_us(*from, *to)).collect(),
        })
    }

    /// Counts an answer of the lead-in; the last one is the beginning, after which there is half a slice at
    /// least. One that comes when the slice would be over has it go on.
    fn lead_in(&self, at_ns: u64) {
        let answered = self.answered.fetch_add(1, Ordering::Relaxed) + 1;
        let length_ns = self.length_ns.load(Ordering::Relaxed);
        let latest_ns = self.latest_ns.load(Ordering::Relaxed);
        if answered == self.after_operations && at_ns < latest_ns {
            self.readings()[0] = self.read();
            self.until_ns
                .fetch_max(at_ns + length_ns / 2, Ordering::AcqRel);
            self.begun_ns.store(at_ns, Ordering::Release);
        } else if at_ns >= self.until_ns() {
            self.until_ns
                .fetch_max((at_ns + length_ns).min(latest_ns), Ordering::AcqRel);
        }
    }

    /// Ends what counts with an answer at `at_ns`, unless another thread has done it before; when it ended.
    fn end(&self, at_ns: u64) -> u64 {
        let mut readings = self.readings();
        let ended_ns = self.ended_ns.load(Ordering::Acquire);
        if ended_ns > 0 {
            return ended_ns;
        }
        readings[1] = self.read();
        self.ended_ns.store(at_ns, Ordering::Release);
        at_ns
    }

    /// None where a process has ended.
    fn read(&self) -> Option<Reading> {
        let read_ns = |clock: &ClockId| {
            let time = clock_gettime(*clock).ok()?;
            let whole_s = u64::try_from(time.tv_sec()).ok()?;
            Some(whole_s * 1_000_000_000 + u64::try_from(time.tv_nsec()).ok()?)
        };
        Some(Reading {
            own_ns: process_cpu_ns(),
            others_ns: self.others.iter().map(read_ns).collect::<Option<_>>()?,
        })
    }

    fn readings(&self) -> std::sync::MutexGuard<'_, [Option<Reading>; 2]> {
        // A thread that died while it held the lock ends the job anyhow.
        self.readings
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The CPU clock of the process with this id.
fn clock_of(pid: u32) -> Result<ClockId, Failure> {
    let known = i32::try_from(pid).map_or(Err(Errno::ESRCH), |pid| {
        clock_getcpuclockid(Pid::from_raw(pid))
    });
    known.map_err(|source| Failure::NoClock { pid, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(after_operations: u32) -> Meter {
        let asked = FullLoad {
            after_operations,
            cpu_of: vec![std::process::id()],
        };
        Meter::of(Some(&asked)).unwrap().unwrap()
    }

    /// What a slice from 0 until `until_ns` came to with operations that took so long and were answered then:
    /// operations, their time, and the time between both ends.
    fn told(meter: &Meter, until_ns: u64, answers: &[(u64, u64)]) -> Option<(f64, f64, f64)> {
        meter.begin(0, until_ns);
        let mut slice = SliceRecord::default();
        for (took_ns, at_ns) in answers {
            slice.answered(*took_ns, *at_ns, meter.answered(*took_ns, *at_ns));
        }
        let span = meter.span(&slice)?;
        assert_eq!(span.cpu_of_us.len(), 1);
        let ns = |time_s: f64| (time_s * 1e9).round();
        Some((span.operations, ns(span.latency_sum_s), ns(span.elapsed_s)))
    }

    #[test]
    fn what_counts_lies_between_the_last_answer_of_the_lead_in_and_the_first_after_the_end() {
        let meter = meter(2);
        // Two connections: of what is under way at 20 half counts, and of what ends at 110 a half as well.
        let answers = [
            (10, 10),
            (20, 20),
            (20, 30),
            (20, 40),
            (60, 90),
            (60, 100),
            (20, 110),
        ];
        assert_eq!(
            told(&meter, 95, &answers),
            Some((
                0.5 + 1.0 + 1.0 + 1.0 + 0.5,
                10.0 + 20.0 + 60.0 + 60.0 + 10.0,
                80.0
            ))
        );
        // Each slice begins anew.
        let answers = [(1, 60), (1, 70), (20, 150), (20, 200)];
        assert_eq!(told(&meter, 200, &answers), Some((2.0, 40.0, 130.0)));
    }

    #[test]
    fn connections_that_are_always_at_work_have_all_the_time_between_both_ends() {
        let meter = meter(3);
        // Three in step, each operation 7 long: integers would count 12 or 15.
        let answers: Vec<_> = (1..10).flat_map(|round| [(7, 7 * round); 3]).collect();
        let (operations, latency_sum, elapsed) = told(&meter, 40, &answers).unwrap();
        assert_eq!((latency_sum, elapsed), (3.0 * 35.0, 35.0));
        assert!((operations - 15.0).abs() < 1e-9);
        // One of them is answered a little earlier than the others.
        let answers: Vec<_> = (1..10)
            .flat_map(|round| [(7, 7 * round - 3), (7, 7 * round), (7, 7 * round)])
            .collect();
        let (operations, _, elapsed) = told(&meter, 37, &answers).unwrap();
        assert!((operations / elapsed - 3.0 / 7.0).abs() < 1e-9);
    }

    #[test]
    fn a_slice_whose_lead_in_is_late_goes_on_for_half_of_its_length() {
        let meter = meter(3);
        meter.begin(1000, 1100);
        for (at_ns, until_ns) in [(1010, 1100), (1020, 1100), (1080, 1130), (1090, 1130)] {
            meter.answered(5, at_ns);
            assert_eq!(meter.until_ns(), until_ns, "{at_ns}");
        }
        // By hand: between 80 and 130 there is half of what ends at 100, and all of what ends at 130.
        let answers = [(9, 10), (9, 20), (9, 80), (40, 100), (25, 130), (9, 139)];
        assert_eq!(told(&meter, 100, &answers), Some((1.5, 45.0, 50.0)));
        // A lead-in that is not over when the slice would be has it go on for another length.
        let answers = [(9, 10), (9, 120), (9, 219), (9, 250), (9, 269)];
        assert_eq!(told(&meter, 100, &answers), Some((2.0, 18.0, 50.0)));
    }

    #[test]
    fn a_slice_whose_lead_in_never_ends_or_that_ends_early_tells_nothing() {
        let meter = meter(3);
        assert_eq!(
            told(&meter, 100, &[(9, 10), (9, 120), (9, 1000), (9, 1010)]),
            None
        );
        meter.begin(0, 100);
        for at_ns in [990, 995] {
            meter.answered(9, at_ns);
        }
        assert_eq!(meter.until_ns(), 1000, "ten lengths are the most");
        assert_eq!(
            told(&meter, 100, &[(9, 10), (9, 20), (9, 30), (9, 40)]),
            None
        );
        assert_eq!(told(&meter, 100, &[]), None);
    }

    #[test]
    fn outside_of_slices_nothing_goes_on() {
        let meter = meter(2);
        for at_ns in [10, 20, 30] {
            assert_eq!(meter.answered(5, at_ns), 0);
            assert_eq!(meter.until_ns(), 0);
        }
    }

    #[test]
    fn an_answer_that_another_thread_notes_late_counts_by_its_time() {
        let meter = meter(1);
        let answers = [
            (9, 10),
            (4, 9),
            (20, 30),
            (4, 104),
            (9, 99),
            (6, 110),
            (4, 120),
        ];
        let (operations, latency_sum, elapsed) = told(&meter, 100, &answers).unwrap();
        assert!((operations - 3.0).abs() < 1e-9, "{operations}");
        assert_eq!((latency_sum, elapsed), (20.0 + 4.0 + 9.0, 94.0));
    }

    #[test]
    fn who_does_not_ask_has_no_meter_and_a_process_that_is_not_there_no_clock() {
        assert!(Meter::of(None).unwrap().is_none());
        let gone = FullLoad {
            after_operations: 1,
            cpu_of: vec![u32::MAX],
        };
        let refused = Meter::of(Some(&gone)).unwrap_err();
        assert!(
            refused.to_string().contains("full_load.cpu_of"),
            "{refused:?}"
        );
    }
}
