//! A server's first process and all that it starts, as one: who belongs to it, and what all of them use.
//!
//! `PostgreSQL`'s server is such a tree, with a process for each connection that ends with it. Nothing is made or
//! changed for it here. Its CPU time is its control group's where nothing else is in that, to the microsecond
//! (the kernel's Documentation/admin-guide/cgroup-v2.rst, `cpu.stat`). Elsewhere it is the clocks of those that
//! are there, and for those that have ended what their parents have been told, in ticks (proc(5),
//! `/proc/PID/stat`, cutime and cstime). Perf's task clock is not taken: many kernels stop counting before a
//! process gives its memory back, and processes that ran before would be counted by themselves.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};

/// What tells the CPU time.
#[derive(Debug)]
enum Source {
    Group(PathBuf),
    Ticks { a_second: u64 },
}

/// A process that was first, and those that it has started.
#[derive(Debug)]
pub struct Tree {
    first: i32,
    proc: PathBuf,
    source: Source,
    shown_ns: Cell<u64>,
}

/// Of a process's stat what is wanted of it: its parent, faults and ticks, with those of children that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub parent: i32,
    pub ended: bool,
    pub faults: u64,
    pub faults_of_ended: u64,
    pub user: u64,
    pub system: u64,
    pub user_of_ended: u64,
    pub system_of_ended: u64,
}

impl Stat {
    /// From the text of `/proc/PID/stat` (proc(5): fields 3, 4, and 10 to 17).
    pub fn parsed(text: &str) -> Option<Self> {
        // A name may hold blanks and parentheses; the fields behind it do not.
        let (_, behind) = text.rsplit_once(')')?;
        let fields: Vec<&str> = behind.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            ended: matches!(*fields.first()?, "Z" | "X"),
            faults: field(10)? + field(12)?,
            faults_of_ended: field(11)? + field(13)?,
            user: field(14)?,
            system: field(15)?,
            user_of_ended: field(16)?,
            system_of_ended: field(17)?,
        })
    }

    /// That of a process; `None` where it is gone.
    pub fn of(pid: i32, proc: &Path) -> Option<Self> {
        let text = fs::read(proc.join(pid.to_string()).join("stat")).ok()?;
        Self::parsed(&String::from_utf8_lossy(&text))
    }
}

impl Tree {
    /// The tree that a process belongs to; `None` where it is all of its server.
    ///
    /// The first one is the topmost above it that executes the same program and that `listens` for clients.
    pub fn around(pid: i32, proc: &Path, listens: impl Fn(i32) -> bool) -> Option<Self> {
        let first = first_of(pid, proc, listens);
        if first == pid && !has_kin(pid, proc) {
            return None;
        }
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
        let mut tree = Self {
            first,
            proc: proc.to_owned(),
            source: Source::Ticks {
                a_second: u64::try_from(ticks).unwrap_or(100),
            },
            shown_ns: Cell::new(0),
        };
        if let Some(group) = group_of(first, proc).filter(|group| tree.is_alone_in(group)) {
            tree.source = Source::Group(group);
        }
        Some(tree)
    }

    pub fn first(&self) -> i32 {
        self.first
    }

    /// What tells its CPU time, in a word.
    pub fn source(&self) -> &'static str {
        match self.source {
            Source::Group(_) => "group",
            Source::Ticks { .. } => "ticks",
        }
    }

    /// Its processes with their stats, the first one first; those whose end their parent has not seen among them.
    pub fn members(&self) -> Vec<(i32, Stat)> {
        let known: HashMap<i32, Stat> = crate::process::processes(&self.proc)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|pid| Some((pid, Stat::of(pid, &self.proc)?)))
            .collect();
        let mut family: Vec<i32> = known
            .contains_key(&self.first)
            .then_some(self.first)
            .into_iter()
            .collect();
        let mut place = 0;
        while let Some(parent) = family.get(place).copied() {
            family.extend(
                known
                    .iter()
                    .filter(|(_, stat)| stat.parent == parent)
                    .map(|(pid, _)| *pid),
            );
            place += 1;
        }
        family.into_iter().map(|pid| (pid, known[&pid])).collect()
    }

    /// Nanoseconds of CPU time of all, those that have ended among them; `None` where they are gone.
    pub fn cpu_ns(&self) -> Option<u64> {
        let now_ns = match &self.source {
            Source::Group(group) => usage_us(group)? * 1000,
            Source::Ticks { a_second } => {
                let members = self.members();
                members.first()?;
                let sum = |(pid, stat): &(i32, Stat)| {
                    let ticks = stat.user_of_ended + stat.system_of_ended;
                    clock_ns(*pid) + ticks * 1_000_000_000 / a_second
                };
                members.iter().map(sum).sum()
            }
        };
        // Who ends between two looks is missed by one of them, which lets no time run backwards.
        self.shown_ns.set(now_ns.max(self.shown_ns.get()));
        Some(self.shown_ns.get())
    }

    /// Resident memory with what they share counted once: of files and of shared memory the most that one has.
    pub fn resident_bytes(&self) -> Option<u64> {
        let held: Vec<[u64; 3]> = self
            .members()
            .iter()
            .filter_map(|(pid, _)| resident(*pid, &self.proc))
            .collect();
        let most = |place: usize| held.iter().map(|sizes| sizes[place]).max();
        Some(held.iter().map(|sizes| sizes[0]).sum::<u64>() + most(1)? + most(2)?)
    }

    /// Whether the processes in a control group are just these.
    fn is_alone_in(&self, group: &Path) -> bool {
        let Some(mut inside) = pids_in(group).filter(|_| usage_us(group).is_some()) else {
            return false;
        };
        let mut own: Vec<i32> = self
            .members()
            .iter()
            .filter_map(|(pid, stat)| (!stat.ended).then_some(*pid))
            .collect();
        inside.sort_unstable();
        own.sort_unstable();
        inside == own
    }
}

/// The topmost process above this one that executes the same program and listens; itself where there is none.
fn first_of(pid: i32, proc: &Path, listens: impl Fn(i32) -> bool) -> i32 {
    let own = program(pid, proc);
    let (mut first, mut above) = (pid, pid);
    while let Some(stat) = Stat::of(above, proc) {
        above = stat.parent;
        if own.is_none() || program(above, proc) != own {
            break;
        }
        if listens(above) {
            first = above;
        }
    }
    first
}

/// Whether a process has started one that executes the same program.
fn has_kin(pid: i32, proc: &Path) -> bool {
    let own = program(pid, proc);
    own.is_some()
        && crate::process::processes(proc)
            .unwrap_or_default()
            .into_iter()
            .any(|other| {
                Stat::of(other, proc).is_some_and(|stat| stat.parent == pid)
                    && program(other, proc) == own
            })
}

/// The file that a process executes, by device and inode; `None` where it is out of reach.
fn program(pid: i32, proc: &Path) -> Option<(u64, u64)> {
    let file = fs::metadata(proc.join(pid.to_string()).join("exe")).ok()?;
    Some((file.dev(), file.ino()))
}

/// The control group of version 2 that a process is in.
fn group_of(pid: i32, proc: &Path) -> Option<PathBuf> {
    let mounts = fs::read_to_string(proc.join("self/mountinfo")).ok()?;
    let mount = mounts.lines().find_map(|line| {
        let (before, behind) = line.split_once(" - ")?;
        let is_it = behind.starts_with("cgroup2 ");
        is_it.then(|| before.split_whitespace().nth(4))?
    })?;
    let groups = fs::read_to_string(proc.join(pid.to_string()).join("cgroup")).ok()?;
    let place = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(mount).join(place))
}

/// Who is in a control group and in those below it.
fn pids_in(group: &Path) -> Option<Vec<i32>> {
    let text = fs::read_to_string(group.join("cgroup.procs")).ok()?;
    let mut pids = text
        .lines()
        .map(|line| line.parse().ok())
        .collect::<Option<Vec<i32>>>()?;
    for entry in fs::read_dir(group).ok()?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            pids.extend(pids_in(&entry.path())?);
        }
    }
    Some(pids)
}

/// Microseconds of CPU time that were used in a control group.
fn usage_us(group: &Path) -> Option<u64> {
    let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("usage_usec "))?
        .parse()
        .ok()
}

/// Nanoseconds of CPU time of a process; none of one that is gone.
fn clock_ns(pid: i32) -> u64 {
    let time = clock_getcpuclockid(Pid::from_raw(pid)).and_then(clock_gettime);
    time.ok().map_or(0, |time| {
        let (seconds, nanoseconds) = (time.tv_sec(), time.tv_nsec());
        u64::try_from(i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)).unwrap_or(0)
    })
}

/// Resident bytes that are anonymous, of files, and shared (proc(5), `/proc/PID/status`).
fn resident(pid: i32, proc: &Path) -> Option<[u64; 3]> {
    let text = fs::read_to_string(proc.join(pid.to_string()).join("status")).ok()?;
    let kib = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    let sizes = [kib("RssAnon:")?, kib("RssFile:")?, kib("RssShmem:")?];
    Some(sizes.map(|size| size * 1024))
}

#[cfg(test)]
mod tests {
    use super::Stat;

    #[test]
    fn fields_are_counted_behind_the_last_parenthesis() {
        let text = "7 (a (b) c) S 1 7 7 0 -1 4194560 101 102 103 104 105 106 107 108 20 0 40 0";
        let stat = Stat {
            parent: 1,
            ended: false,
            faults: 204,
            faults_of_ended: 206,
            user: 105,
            system: 106,
            user_of_ended: 107,
            system_of_ended: 108,
        };
        assert_eq!(Stat::parsed(text), Some(stat));
        assert_eq!(
            Stat::parsed(&text.replace(" S ", " Z ")).map(|stat| stat.ended),
            Some(true)
        );
        assert_eq!(Stat::parsed("7 mysqld S 1"), None);
        assert_eq!(Stat::parsed("7 (mysqld) S 1"), None);
    }
}
