//! What the processor counts of a process, where the kernel allows it (`perf_event_open(2)`).

use std::io;

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

/// What is counted, by the name that a record has for it, in user space and in the kernel.
const EVENTS: [(&str, Hardware); 3] = [
    ("instructions", Hardware::INSTRUCTIONS),
    ("cycles", Hardware::CPU_CYCLES),
    ("cache_misses", Hardware::CACHE_MISSES),
];

/// The part of a thread's time that is counted.
#[derive(Clone, Copy)]
enum Part {
    User,
    Kernel,
}

/// Counters of one process: of each thread that it had when they were opened, and of all that those start.
pub struct Counters {
    open: Vec<(String, Vec<Counter>)>,
}

impl Counters {
    /// Those that the kernel allows; an event that cannot be counted in every thread is left out.
    pub fn of(threads: &[i32]) -> Self {
        let mut open = Vec::new();
        for (name, event) in EVENTS {
            for (part, behind) in [(Part::User, "user"), (Part::Kernel, "kernel")] {
                let opened: io::Result<Vec<Counter>> = threads
                    .iter()
                    .map(|thread| counter(event, part, *thread))
                    .collect();
                if let Some(opened) = opened.ok().filter(|opened| !opened.is_empty()) {
                    open.push((format!("{name}_{behind}"), opened));
                }
            }
        }
        Self { open }
    }

    /// Each as `NAME=TIMES/ENABLED/RUNNING`: how often so far, and the nanoseconds for which it was wanted and had.
    pub fn words(&mut self) -> Vec<String> {
        let read = |(name, counters): &mut (String, Vec<Counter>)| {
            let [times, enabled, running] = sum(counters).ok()?;
            Some(format!("{name}={times}/{enabled}/{running}"))
        };
        self.open.iter_mut().filter_map(read).collect()
    }
}

fn counter(event: Hardware, part: Part, thread: i32) -> io::Result<Counter> {
    let mut builder = Builder::new(event);
    builder
        .observe_pid(thread)
        .any_cpu()
        .inherit(true)
        .enabled(true)
        .exclude_hv(true);
    match part {
        Part::User => builder.exclude_user(false).exclude_kernel(true),
        Part::Kernel => builder.exclude_user(true).exclude_kernel(false),
    };
    builder.build()
}

/// The sum over all threads' counters.
fn sum(counters: &mut [Counter]) -> io::Result<[u128; 3]> {
    let mut sums = [0; 3];
    for counter in counters {
        let read = counter.read_full()?;
        let ns = |time: Option<std::time::Duration>| time.map_or(0, |time| time.as_nanos());
        sums[0] += u128::from(read.count());
        sums[1] += ns(read.time_enabled());
        sums[2] += ns(read.time_running());
    }
    Ok(sums)
}
