//! Carries packets between the two devices: one loop that waits for a packet, a due time or a new setting.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::clock;
use crate::control::{Carried, Control};
use crate::lane::Lane;
use crate::lateness::Lateness;
use crate::settings::Settings;

/// Larger than any packet of a device whose MTU is 1,500 bytes.
const LARGEST_PACKET: usize = 65_536;
/// This many packets are read before those that are due are looked at again.
const AT_ONCE: usize = 64;
/// Draws are the same in every process: jitter that can be repeated.
const SEED: u64 = 45;

/// Both ways and what is known of them.
struct Link {
    far: OwnedFd,
    near: OwnedFd,
    to_far: Lane,
    to_near: Lane,
    lateness: Lateness,
    random: fastrand::Rng,
    buffer: Vec<u8>,
}

/// Carries packets as the socket says, until it ends.
pub fn carry(socket: &Path) -> Result<(), String> {
    let (mut control, [far, near]) = Control::connect(socket)?;
    let mut link = Link {
        far,
        near,
        to_far: Lane::default(),
        to_near: Lane::default(),
        lateness: Lateness::new()?,
        random: fastrand::Rng::with_seed(SEED),
        buffer: vec![0; LARGEST_PACKET],
    };
    // A timer of its own has no slack, unlike a time-out of poll(2) (prctl(2), PR_SET_TIMERSLACK).
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer =
        timerfd_create(TimerfdClockId::Monotonic, flags).map_err(|error| error.to_string())?;
    let mut set_to_ns = None;
    loop {
        let due_ns = link.next_due_ns();
        if due_ns != set_to_ns {
            set(&timer, due_ns)?;
            set_to_ns = due_ns;
        }
        if wait(&control, &link, &timer)? {
            let heard = control.hear();
            for line in heard.lines {
                control.answer(&link.told(&line));
            }
            if heard.ended {
                return Ok(());
            }
        }
        link.hand_over();
        link.take_in()?;
    }
}

/// Waits until there is something to do; true where the control socket has something to say.
fn wait(control: &Control, link: &Link, timer: &OwnedFd) -> Result<bool, String> {
    let mut waited_for = [
        PollFd::new(control, PollFlags::IN),
        PollFd::new(&link.far, PollFlags::IN),
        PollFd::new(&link.near, PollFlags::IN),
        PollFd::new(timer, PollFlags::IN),
    ];
    match poll(&mut waited_for, None) {
        Ok(_) | Err(Errno::INTR) => Ok(!waited_for[0].revents().is_empty()),
        Err(error) => Err(format!("poll: {error}")),
    }
}

/// Sets the timer to this time of the monotonic clock (at once where it has passed), or stops it. Setting it
/// also takes back that it has gone off (`timerfd_create(2)`), so that it is never read.
fn set(timer: &OwnedFd, at_ns: Option<u64>) -> Result<(), String> {
    let once = Itimerspec {
        it_interval: clock::timespec(0),
        it_value: clock::timespec(at_ns.map_or(0, |ns| ns.max(1))),
    };
    timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once)
        .map(drop)
        .map_err(|error| format!("the timer cannot be set: {error}"))
}

impl Link {
    fn next_due_ns(&self) -> Option<u64> {
        let dues = [self.to_far.next_due_ns(), self.to_near.next_due_ns()];
        dues.into_iter().flatten().min()
    }

    /// Takes new settings, and says what was carried under those before.
    fn told(&mut self, line: &str) -> Result<Carried, String> {
        let settings = Settings::from_line(line)?;
        self.to_far.set(settings);
        self.to_near.set(settings);
        Ok(Carried {
            to_far: self.to_far.take_counts(),
            to_near: self.to_near.take_counts(),
            lateness_us: self.lateness.take(),
        })
    }

    /// Hands over what is due.
    fn hand_over(&mut self) {
        for (lane, device) in [
            (&mut self.to_far, &self.far),
            (&mut self.to_near, &self.near),
        ] {
            while let Some((due_ns, packet)) = lane.arrived(clock::now_ns()) {
                self.lateness.note(due_ns, clock::now_ns());
                if write(device, &packet).is_err() {
                    lane.lost(packet.len());
                }
                lane.give_back(packet);
            }
        }
    }

    /// Takes in what was sent, as much as can be before something else may be due.
    fn take_in(&mut self) -> Result<(), String> {
        for (device, lane) in [
            (&self.near, &mut self.to_far),
            (&self.far, &mut self.to_near),
        ] {
            for _ in 0..AT_ONCE {
                let Some(bytes) = packet_of(device, &mut self.buffer)? else {
                    break;
                };
                let packet = &self.buffer[..bytes];
                if is_ipv4(packet) {
                    lane.send(
                        packet,
                        clock::now_ns(),
                        self.random.f64().mul_add(2.0, -1.0),
                    );
                }
            }
        }
        Ok(())
    }
}

/// The length of the packet that was read; none where none waits.
fn packet_of(device: impl AsFd, buffer: &mut [u8]) -> Result<Option<usize>, String> {
    match read(device, buffer) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(format!("a device is gone: {error}")),
    }
}

/// The other packets are the kernel's own chatter: nothing here has an address of IPv6.
fn is_ipv4(packet: &[u8]) -> bool {
    packet.first().is_some_and(|byte| byte >> 4 == 4)
}
