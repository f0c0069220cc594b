//! Wakes a thread's epoll at an exact time, to the nanosecond, on every kernel.
//!
//! `epoll_wait(2)` counts in milliseconds, which would start every second scheduled operation late,
//! and `epoll_pwait2(2)` is missing before Linux 5.11. A timer on the same epoll has neither fault,
//! nor the timer slack of `prctl(2)`.

use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tlstax_client::Failure;

/// What epoll calls the alarm; no connection has this number.
pub const ALARM: u64 = u64::MAX;

const SECOND_NS: u64 = 1_000_000_000;

/// A timer on the monotonic clock that makes its epoll ready.
#[derive(Debug)]
pub struct Alarm {
    timer: OwnedFd,
    set_to_ns: u64,
}

impl Alarm {
    /// An alarm on `epoll`, not set.
    ///
    /// # Errors
    /// No descriptor left.
    pub fn new(epoll: &OwnedFd) -> Result<Self, Failure> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, flags).map_err(Failure::connecting)?;
        // Edge triggered: every expiry is an event of its own, and the timer is never read.
        let interest = EventFlags::IN | EventFlags::ET;
        epoll::add(epoll, &timer, EventData::new_u64(ALARM), interest)
            .map_err(Failure::connecting)?;
        Ok(Self {
            timer,
            set_to_ns: 0,
        })
    }

    /// Sets it to go off at `at_ns` of the clock that [`tlstax_client::clock::now_ns`] reads; at once when
    /// that has passed.
    ///
    /// # Errors
    /// None that `timerfd_settime(2)` has for a valid time.
    pub fn set(&mut self, at_ns: u64) -> Result<(), Failure> {
        if at_ns == self.set_to_ns {
            return Ok(());
        }
        let once = Itimerspec {
            it_interval: timespec(0),
            it_value: timespec(at_ns),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)
            .map_err(Failure::connecting)?;
        self.set_to_ns = at_ns;
        Ok(())
    }
}

fn timespec(at_ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(at_ns / SECOND_NS).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(at_ns % SECOND_NS).unwrap_or_default(),
    }
}
