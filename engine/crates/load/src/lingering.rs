//! Sockets that the client has closed and the server has not, for a server that was promised a number of connections.
//!
//! A server counts a connection until its thread has wound up, which is after the client has said goodbye and gone on.
//! Where the job says how many may be in that state, each socket is only half closed (shutdown(2)) after the
//! goodbye, which sends what close(2) would send, and kept until the server closes its end.

use std::os::fd::OwnedFd;

use nix::sys::socket::{Shutdown, shutdown};
use rustix::event::epoll::{self, Event, EventData, EventFlags};

use crate::transport::Transport;

/// What tells a lingering socket from a connection in epoll's data; there are at most a million connections.
const MARK: u64 = 1 << 32;
/// What epoll is asked to report: that the server has closed its end.
const INTEREST: EventFlags = EventFlags::RDHUP.union(EventFlags::ET);
/// What it reports then, or where the server has cut the connection.
const ENDED: EventFlags = EventFlags::RDHUP
    .union(EventFlags::HUP)
    .union(EventFlags::ERR);

/// For how long a server may take to close its end: many times the longest way to it.
pub const LONGEST_NS: u64 = 2_000_000_000;

/// One of them.
#[derive(Debug)]
struct Socket {
    transport: Transport,
    give_up_ns: u64,
}

/// Those of one thread.
#[derive(Debug)]
pub struct Lingering {
    most: usize,
    sockets: Vec<Option<Socket>>,
    free: Vec<usize>,
}

impl Lingering {
    /// None yet; a connection may be opened while there are at most N.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            sockets: Vec::new(),
            free: Vec::new(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sockets.len() - self.free.len()
    }

    /// Whether a connection may be opened.
    pub fn leaves_room(&self) -> bool {
        self.count() <= self.most
    }

    /// Keeps a socket after the goodbye, until its end is seen or `now_ns` is long past. One on which nothing
    /// can be ended any more is dropped.
    pub fn keep(&mut self, transport: Transport, epoll: &OwnedFd, now_ns: u64) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.sockets.push(None);
            self.sockets.len() - 1
        });
        let fd = transport.socket();
        let is_kept = shutdown(std::os::fd::AsRawFd::as_raw_fd(&fd), Shutdown::Write).is_ok()
            // What has ended already is reported anew (epoll(7), questions 8 and 9).
            && epoll::modify(epoll, fd, EventData::new_u64(MARK | place as u64), INTEREST).is_ok();
        if !is_kept {
            self.free.push(place);
            return;
        }
        let give_up_ns = now_ns + LONGEST_NS;
        self.sockets[place] = Some(Socket {
            transport,
            give_up_ns,
        });
    }

    /// Takes those events out that are of lingering sockets, and closes what has ended; how many are left.
    pub fn sift(&mut self, events: &mut [Event]) -> usize {
        let mut left = 0;
        for place in 0..events.len() {
            let Event { flags, data } = events[place];
            let (number, flags) = (data.u64(), flags);
            if number & MARK == 0 || number == crate::alarm::ALARM {
                events.swap(left, place);
                left += 1;
            } else if flags.intersects(ENDED) {
                self.drop_at(usize::try_from(number & (MARK - 1)).unwrap_or(usize::MAX));
            }
        }
        left
    }

    /// Closes those of which the server has not closed its end in time.
    pub fn give_up(&mut self, now_ns: u64) {
        for place in 0..self.sockets.len() {
            let late = |socket: &Socket| socket.give_up_ns <= now_ns;
            if self.sockets[place].as_ref().is_some_and(late) {
                self.drop_at(place);
            }
        }
    }

    fn drop_at(&mut self, place: usize) {
        let taken = self.sockets.get_mut(place).and_then(Option::take);
        if let Some(Socket { transport, .. }) = taken {
            drop(transport);
            self.free.push(place);
        }
    }
}
