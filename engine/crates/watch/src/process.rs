//! The process that holds a socket, and what it uses.

use std::fs;
use std::path::Path;

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// The process that is watched.
#[derive(Debug)]
pub struct Watched {
    pid: i32,
    name: String,
    clock: ClockId,
}

impl Watched {
    /// The process that holds the socket with this inode, found by its open files (proc(5), `/proc/PID/fd`).
    ///
    /// An error where none may be looked at that does: only the process's own user and root may.
    pub fn holding(inode: u64, proc: &Path) -> Result<Self, String> {
        let wanted = format!("socket:[{inode}]");
        let mut refused = false;
        for pid in processes(proc)? {
            match holds(&proc.join(pid.to_string()).join("fd"), &wanted) {
                Some(true) => return Self::of(pid, proc),
                Some(false) => {}
                None => refused = true,
            }
        }
        let why = if refused {
            "whose it is may only be seen by root and by the user that the server runs as"
        } else {
            "it belongs to no process of this machine"
        };
        Err(format!(
            "the server's end of the connection is here, but {why}"
        ))
    }

    fn of(pid: i32, proc: &Path) -> Result<Self, String> {
        let name = fs::read_to_string(proc.join(pid.to_string()).join("comm"));
        let clock = clock_getcpuclockid(Pid::from_raw(pid));
        Ok(Self {
            pid,
            name: name.unwrap_or_default().trim_end().to_owned(),
            clock: clock.map_err(|error| format!("process {pid} has no CPU clock ({error})"))?,
        })
    }

    /// What is said first: which process it is, and of how many processors this program may use.
    pub fn words(&self) -> String {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        format!("watching {} {processors} {}", self.pid, self.name)
    }

    /// Nanoseconds of CPU time of all its threads, those that have ended among them.
    pub fn cpu_ns(&self) -> Result<u64, String> {
        let time = clock_gettime(self.clock).map_err(|error| self.gone(error))?;
        let (seconds, nanoseconds) = (time.tv_sec(), time.tv_nsec());
        u64::try_from(i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds))
            .map_err(|error| self.gone(error))
    }

    /// Its resident memory (proc(5), `VmRSS` of `/proc/PID/status`).
    pub fn resident_bytes(&self) -> Result<u64, String> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid))
            .map_err(|error| self.gone(error))?;
        let kib = text
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|rest| rest.trim().strip_suffix(" kB"))
            .and_then(|number| number.parse::<u64>().ok());
        kib.map(|kib| kib * 1024)
            .ok_or_else(|| self.gone("it has no memory"))
    }

    /// Its CPU time, page faults (proc(5), `/proc/PID/stat`), and the context switches of each thread.
    ///
    /// Page faults include those of threads that have ended; what those switched went with them.
    pub fn used(&self) -> Result<Vec<String>, String> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.pid))
            .map_err(|error| self.gone(error))?;
        let [minor, major, user, system] =
            stat_fields(&text).ok_or_else(|| self.gone("its stat has another form"))?;
        let mut words = vec![
            format!("clock={}", self.cpu_ns()?),
            format!("user={user}"),
            format!("system={system}"),
            format!("faults={}", minor + major),
        ];
        for thread in self.threads() {
            if let Some(switches) = self.switches(thread) {
                words.push(format!("switches.{thread}={switches}"));
            }
        }
        Ok(words)
    }

    /// The ids of its threads; none where they can no longer be read.
    pub fn threads(&self) -> Vec<i32> {
        processes(Path::new(&format!("/proc/{}/task", self.pid))).unwrap_or_default()
    }

    /// How often a thread gave the processor away or lost it; `None` for one that has ended.
    fn switches(&self, thread: i32) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/task/{thread}/status", self.pid)).ok()?;
        let counts = text
            .lines()
            .filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
        counts
            .map(|(_, count)| count.trim().parse::<u64>().ok())
            .sum()
    }

    fn gone(&self, why: impl std::fmt::Display) -> String {
        format!("process {} can no longer be read ({why})", self.pid)
    }
}

/// Of a process's stat: minor and major faults, ticks in user space and in the kernel (proc(5), fields 10, 12, 14, 15).
fn stat_fields(text: &str) -> Option<[u64; 4]> {
    // A name may hold blanks and parentheses; the fields behind it do not.
    let (_, behind) = text.rsplit_once(')')?;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some([field(10)?, field(12)?, field(14)?, field(15)?])
}

/// The ids of all processes.
fn processes(proc: &Path) -> Result<Vec<i32>, String> {
    let entries = fs::read_dir(proc)
        .map_err(|error| format!("{} cannot be read ({error})", proc.display()))?;
    Ok(entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect())
}

/// Whether one of a process's open files is this socket; `None` where that may not be seen.
fn holds(files: &Path, wanted: &str) -> Option<bool> {
    let entries = fs::read_dir(files).ok()?;
    Some(
        entries.flatten().any(|entry| {
            fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str() == wanted)
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::stat_fields;

    #[test]
    fn fields_are_counted_behind_the_last_parenthesis() {
        let text = "7 (a (b) c) S 1 7 7 0 -1 4194560 101 102 103 104 105 106 107 108 20 0 40 0";
        assert_eq!(stat_fields(text), Some([101, 103, 105, 106]));
        assert_eq!(stat_fields("7 mysqld S 1"), None);
        assert_eq!(stat_fields("7 (mysqld) S 1"), None);
    }
}
