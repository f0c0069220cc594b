//! The process that holds a socket, or all those that its server consists of, and what is used.

use std::fs;
use std::path::Path;

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use crate::tree::{Stat, Tree};

/// The process that is watched; `tree` has all processes of a server that starts some.
#[derive(Debug)]
pub struct Watched {
    pid: i32,
    name: String,
    clock: ClockId,
    tree: Option<Tree>,
}

impl Watched {
    /// The process that holds the socket with this inode, found by its open files (proc(5), `/proc/PID/fd`).
    ///
    /// `listening` are the inodes of the sockets by which its server is reached.
    ///
    /// An error where none may be looked at that does: only the process's own user and root may.
    pub fn holding(inode: u64, listening: &[u64], proc: &Path) -> Result<Self, String> {
        let wanted = socket(inode);
        let mut refused = false;
        for pid in processes(proc)? {
            match holds(&proc.join(pid.to_string()).join("fd"), &wanted) {
                Some(true) => return Self::of(pid, listening, proc),
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

    fn of(holder: i32, listening: &[u64], proc: &Path) -> Result<Self, String> {
        let listens = |pid: i32| {
            let files = proc.join(pid.to_string()).join("fd");
            let held = |inode: &u64| holds(&files, &socket(*inode)) == Some(true);
            listening.iter().any(held)
        };
        let tree = Tree::around(holder, proc, listens);
        let pid = tree.as_ref().map_or(holder, Tree::first);
        let name = fs::read_to_string(proc.join(pid.to_string()).join("comm"));
        let clock = clock_getcpuclockid(Pid::from_raw(pid));
        Ok(Self {
            pid,
            name: name.unwrap_or_default().trim_end().to_owned(),
            clock: clock.map_err(|error| format!("process {pid} has no CPU clock ({error})"))?,
            tree,
        })
    }

    /// What is said first: which process it is, and of how many processors this program may use.
    pub fn words(&self) -> String {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let source = self.tree.as_ref().map(Tree::source);
        let how = source.map_or(String::new(), |source| format!("{source} "));
        format!("watching {how}{} {processors} {}", self.pid, self.name)
    }

    /// Nanoseconds of CPU time of all threads and processes, those that have ended among them.
    pub fn cpu_ns(&self) -> Result<u64, String> {
        if let Some(tree) = &self.tree {
            return tree
                .cpu_ns()
                .ok_or_else(|| self.gone("it and what it started have ended"));
        }
        let time = clock_gettime(self.clock).map_err(|error| self.gone(error))?;
        let (seconds, nanoseconds) = (time.tv_sec(), time.tv_nsec());
        u64::try_from(i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds))
            .map_err(|error| self.gone(error))
    }

    /// Its resident memory (proc(5), `VmRSS` of `/proc/PID/status`); that of several with what they share once.
    pub fn resident_bytes(&self) -> Result<u64, String> {
        if let Some(tree) = &self.tree {
            return tree
                .resident_bytes()
                .ok_or_else(|| self.gone("it has no memory"));
        }
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

    /// CPU time, page faults (proc(5), `/proc/PID/stat`), and the context switches of each thread.
    ///
    /// Page faults include those of threads that have ended, and of processes; what those switched went with them.
    pub fn used(&self) -> Result<Vec<String>, String> {
        let (mut user, mut system, mut faults, mut processes) = (0, 0, 0, 0);
        for (_, stat) in self.members() {
            user += stat.user;
            system += stat.system;
            faults += stat.faults;
            processes += 1;
            if self.tree.is_some() {
                user += stat.user_of_ended;
                system += stat.system_of_ended;
                faults += stat.faults_of_ended;
            }
        }
        if processes == 0 {
            return Err(self.gone("it has ended"));
        }
        let mut words = vec![
            format!("clock={}", self.cpu_ns()?),
            format!("user={user}"),
            format!("system={system}"),
            format!("faults={faults}"),
        ];
        if self.tree.is_some() {
            words.push(format!("processes={processes}"));
        }
        for (process, thread) in self.threads_of_members() {
            if let Some(switches) = switches(process, thread) {
                words.push(format!("switches.{thread}={switches}"));
            }
        }
        Ok(words)
    }

    /// The ids of all threads; none where they can no longer be read.
    pub fn threads(&self) -> Vec<i32> {
        let threads = self.threads_of_members().into_iter();
        threads.map(|(_, thread)| thread).collect()
    }

    /// The threads of each process, with the process.
    fn threads_of_members(&self) -> Vec<(i32, i32)> {
        let threads_of = |(pid, _): &(i32, Stat)| {
            let threads = processes(Path::new(&format!("/proc/{pid}/task"))).unwrap_or_default();
            let pid = *pid;
            threads.into_iter().map(move |thread| (pid, thread))
        };
        self.members().iter().flat_map(threads_of).collect()
    }

    /// The processes, with what the kernel says of each.
    fn members(&self) -> Vec<(i32, Stat)> {
        match &self.tree {
            Some(tree) => tree.members(),
            None => Stat::of(self.pid, Path::new("/proc"))
                .map(|stat| (self.pid, stat))
                .into_iter()
                .collect(),
        }
    }

    fn gone(&self, why: impl std::fmt::Display) -> String {
        format!("process {} can no longer be read ({why})", self.pid)
    }
}

/// How often a thread gave the processor away or lost it; `None` for one that has ended.
fn switches(process: i32, thread: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).ok()?;
    let counts = text
        .lines()
        .filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
    counts
        .map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

/// What the link of an open file says that is this socket.
fn socket(inode: u64) -> String {
    format!("socket:[{inode}]")
}

/// The ids of all processes.
pub fn processes(proc: &Path) -> Result<Vec<i32>, String> {
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
