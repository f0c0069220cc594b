//! The window: what was done in each slice and in all of them, out of the times that adapters tell.

use std::collections::BTreeMap;

use tlstax_client::clock::{CpuSpans, nanoseconds, now_ns, seconds};
use tlstax_contract::{Counts, Done as Result_, ErrorKind, Event, Interval, RowSample, Slice};
use tlstax_load::{Phase, Recorder};

use crate::clock::ProcessClock;
use crate::crew::{Crew, Done};
use crate::laboratory::say;
use crate::trouble::Trouble;

/// Times of an operation beside those of its calls: began, connected, ready; closed.
const OTHER_TIMES: usize = 4;

/// How an operation's times are read.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Calls of an operation, a commit among them.
    pub calls: usize,
    /// Operations that are handed over at once.
    pub batch: u64,
    /// Whether each has a connection of its own.
    pub reconnect: bool,
}

/// What is written down of all slices.
#[derive(Debug)]
pub struct Window {
    shape: Shape,
    recorder: Recorder,
    cpu: CpuSpans,
    elapsed_s: f64,
    started: u64,
    operations: u64,
    opened_before: u64,
    opened: u64,
    has_slices: bool,
    refills: u64,
}

/// Sums over one slice.
#[derive(Debug, Default)]
struct Sums {
    latency_ns: u64,
    last_answer_ns: u64,
}

impl Window {
    /// One without slices; what was opened before is not in it.
    pub fn new(shape: Shape, opened_before: u64) -> Self {
        Self {
            shape,
            recorder: Recorder::new(),
            cpu: CpuSpans::default(),
            elapsed_s: 0.0,
            started: 0,
            operations: 0,
            opened_before,
            opened: opened_before,
            has_slices: false,
            refills: 0,
        }
    }

    /// Works for a slice; the event that tells of it.
    ///
    /// # Errors
    /// What ends the job.
    pub fn slice(
        &mut self,
        crew: &mut Crew,
        clock: &ProcessClock,
        length_s: f64,
    ) -> Result<Slice, Trouble> {
        let begun_ns = now_ns();
        let before = clock.read();
        let (mut operations, mut errors) = (0, 0);
        let done = crew.work(begun_ns + nanoseconds(length_s), |done| {
            say(&Event::Interval(Interval {
                elapsed_s: seconds(now_ns() - begun_ns),
                operations: done.operations - operations,
                errors: done.errors() - errors,
            }));
            (operations, errors) = (done.operations, done.errors());
        })?;
        let cpu_us = self.cpu.add(before, clock.read());
        let mut sums = Sums {
            last_answer_ns: done.last_failure_ns,
            ..Sums::default()
        };
        let opened_before = self.opened;
        self.opened = self.take_reports(crew, begun_ns, &mut sums)?;
        let elapsed_s = if done.started > 0 {
            seconds(sums.last_answer_ns.saturating_sub(begun_ns))
        } else {
            length_s
        };
        self.add(&done, elapsed_s);
        Ok(Slice {
            elapsed_s,
            operations: done.operations,
            latency_sum_s: seconds(sums.latency_ns),
            cpu_us,
            counts: counts(self.opened - opened_before),
            rounds_s: Vec::new(),
            full_load: None,
        })
    }

    fn add(&mut self, done: &Done, elapsed_s: f64) {
        self.elapsed_s += elapsed_s;
        self.started += done.started;
        self.operations += done.operations;
        self.refills += done.refills;
        self.has_slices = true;
        for (trouble, operations) in &done.failures {
            let known = self
                .recorder
                .errors
                .entry((trouble.kind, trouble.code))
                .or_default();
            if *known == 0 {
                say(&Event::Error(trouble.event(false)));
            }
            *known += operations;
        }
    }

    /// Reads all times of a slice that has begun then; how many connections were opened until now.
    fn take_reports(
        &mut self,
        crew: &mut Crew,
        begun_ns: u64,
        sums: &mut Sums,
    ) -> Result<u64, Trouble> {
        let mut opened = 0;
        for report in crew.reports()? {
            let operations = report.operations;
            opened += report.answer.number("opened");
            let times = times_of(&report.answer.body);
            let each = self.shape.calls + OTHER_TIMES;
            let expected = operations.div_ceil(self.shape.batch);
            let now = now_ns();
            let is_of_slice = |time: &u64| *time >= begun_ns && *time <= now;
            if !times.iter().all(is_of_slice) {
                return Err(Trouble::new(
                    ErrorKind::Internal,
                    "the adapter tells times of another clock, or of before the slice",
                ));
            }
            if times.len() as u64 != expected * each as u64 {
                return Err(Trouble::new(
                    ErrorKind::Internal,
                    format!(
                        "the adapter tells {} times of {operations} operations",
                        times.len()
                    ),
                ));
            }
            let mut left = operations;
            for (place, times) in times.chunks_exact(each).enumerate() {
                let together = left.min(self.shape.batch);
                left -= together;
                let is_first = report.is_first && place == 0;
                self.record(times, together, is_first, sums);
            }
        }
        Ok(opened)
    }

    /// One operation's times, or a batch's; whether it `is_first` on a connection that was opened before.
    fn record(&mut self, times: &[u64], together: u64, is_first: bool, sums: &mut Sums) {
        let (began, connected, ready) = (times[0], times[1], times[2]);
        let closed = times[times.len() - 1];
        let answers = &times[3..times.len() - 1];
        let is_new = connected != began;
        if is_new && self.shape.reconnect {
            self.recorder.phase(Phase::Connect, connected - began);
        }
        let mut asked = ready;
        for (place, answered) in answers.iter().enumerate() {
            let phase = if (is_new || is_first) && place == 0 {
                Phase::FirstQuery
            } else {
                Phase::Query
            };
            self.recorder.phase(phase, answered.saturating_sub(asked));
            asked = *answered;
        }
        if self.shape.reconnect {
            self.recorder
                .phase(Phase::Close, closed.saturating_sub(asked));
        }
        let took_ns = closed.saturating_sub(began);
        for _ in 0..together {
            self.recorder.phase(Phase::Operation, took_ns);
        }
        sums.latency_ns += took_ns * together;
        sums.last_answer_ns = sums.last_answer_ns.max(closed);
    }

    /// Whether there was a slice.
    pub fn has_slices(&self) -> bool {
        self.has_slices
    }

    /// How often an adapter's stock was empty before a slice was over.
    pub fn refills(&self) -> u64 {
        self.refills
    }

    /// The result of all slices.
    pub fn result(&self, row_samples: Vec<RowSample>) -> Result_ {
        Result_ {
            elapsed_s: self.elapsed_s,
            operations: self.operations,
            scheduled: self.started,
            skipped: 0,
            window: counts(self.opened - self.opened_before),
            lifetime: counts(self.opened),
            histograms_ns: self.recorder.encoded_histograms(),
            cpu: self.cpu.sum(),
            threads_cpu_us: Vec::new(),
            wire: None,
            compression: None,
            errors: self.recorder.error_counts(),
            row_samples,
            overhead: None,
            reported_s: BTreeMap::new(),
            rounds_s: Vec::new(),
            phase_wire: BTreeMap::new(),
        }
    }
}

/// What was opened: drivers do not tell of handshakes and logins.
fn counts(connections: u64) -> Counts {
    Counts {
        connections,
        ..Counts::default()
    }
}

/// Decimal numbers with anything between them.
fn times_of(body: &[u8]) -> Vec<u64> {
    let mut times = Vec::new();
    let mut number: Option<u64> = None;
    for byte in body.iter().chain(b"\n") {
        if byte.is_ascii_digit() {
            let digit = u64::from(byte - b'0');
            number = Some(
                number
                    .unwrap_or_default()
                    .wrapping_mul(10)
                    .wrapping_add(digit),
            );
        } else {
            times.extend(number.take());
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(reconnect: bool, batch: u64) -> Window {
        Window::new(
            Shape {
                calls: 2,
                batch,
                reconnect,
            },
            0,
        )
    }

    fn phases(window: &Window) -> Vec<String> {
        window.recorder.encoded_histograms().into_keys().collect()
    }

    #[test]
    fn numbers_are_read_whatever_stands_between_them() {
        assert_eq!(times_of(b"12 3\n456\n"), [12, 3, 456]);
        assert_eq!(times_of(b"7"), [7]);
        assert!(times_of(b"\n").is_empty());
    }

    #[test]
    fn an_operation_that_reconnects_has_all_phases() {
        let (mut window, mut sums) = (window(true, 1), Sums::default());
        window.record(&[100, 150, 160, 200, 220, 250], 1, false, &mut sums);
        assert_eq!(
            phases(&window),
            ["close", "connect", "first_query", "operation", "query"]
        );
        assert_eq!((sums.latency_ns, sums.last_answer_ns), (150, 250));
    }

    #[test]
    fn a_kept_connection_is_not_opened_nor_closed() {
        let (mut window, mut sums) = (window(false, 1), Sums::default());
        window.record(&[100, 100, 100, 130, 140, 140], 1, false, &mut sums);
        assert_eq!(phases(&window), ["operation", "query"]);
        assert_eq!(sums.latency_ns, 40);
    }

    #[test]
    fn the_first_statement_on_a_kept_connection_is_told_apart() {
        let (mut window, mut sums) = (window(false, 1), Sums::default());
        window.record(&[100, 100, 100, 130, 140, 140], 1, true, &mut sums);
        assert_eq!(phases(&window), ["first_query", "operation", "query"]);
    }

    #[test]
    fn a_batch_counts_as_many_operations_as_it_had() {
        let (mut window, mut sums) = (window(false, 3), Sums::default());
        window.record(&[100, 100, 100, 130, 140, 140], 3, false, &mut sums);
        assert_eq!(sums.latency_ns, 120);
    }
}
