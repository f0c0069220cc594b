//! Measures round trips by TCP connects: a SYN goes out, and the other kernel answers RST or SYN-ACK.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use serde::Serialize;

use crate::clock;
use crate::options::RoundTrips;

/// Connects begin so far apart, so that no answer is read late because of another one, and that a processor
/// which is taken away for a moment makes few of them late.
const APART_NS: u64 = 5_000_000;

/// The round trips that were measured.
#[derive(Debug, PartialEq, Serialize)]
pub struct Found {
    median_ms: f64,
    lowest_ms: f64,
    highest_ms: f64,
    samples: usize,
}

/// A connect that has not been answered.
struct Begun {
    socket: OwnedFd,
    at_ns: u64,
}

/// Measures as many as asked for, a little apart; an error where one of them is not answered in time.
pub fn measure(asked: &RoundTrips) -> Result<Found, String> {
    let begun_ns = clock::now_ns();
    let allowed = u64::try_from(asked.timeout.as_nanos()).unwrap_or(u64::MAX / 2);
    let deadline_ns = begun_ns + allowed;
    let (mut begun, mut times_ns) = (Vec::new(), Vec::new());
    while times_ns.len() < asked.samples {
        let started = begun.len() + times_ns.len();
        let mut until_ns = deadline_ns;
        if started < asked.samples {
            until_ns = begun_ns + APART_NS * started as u64;
            if clock::now_ns() >= until_ns {
                match begin(asked)? {
                    Ok(connecting) => begun.push(connecting),
                    Err(took_ns) => times_ns.push(took_ns),
                }
                continue;
            }
        }
        let now_ns = clock::now_ns();
        if now_ns >= deadline_ns {
            let answered = times_ns.len();
            return Err(format!(
                "{} answered {answered} of {} connects within {:?}",
                asked.to,
                asked.samples,
                Duration::from_nanos(allowed)
            ));
        }
        answered(&mut begun, &mut times_ns, until_ns - now_ns)?;
    }
    Ok(found(times_ns))
}

/// Begins one; at once answered is what the same machine answers without any distance.
fn begin(asked: &RoundTrips) -> Result<Result<Begun, u64>, String> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)
        .map_err(|error| format!("no socket: {error}"))?;
    let at_ns = clock::now_ns();
    match connect(&socket, &asked.to) {
        Err(Errno::INPROGRESS) => Ok(Ok(Begun { socket, at_ns })),
        Ok(()) | Err(Errno::CONNREFUSED) => Ok(Err(clock::now_ns() - at_ns)),
        Err(error) => Err(format!("{} cannot be reached: {error}", asked.to)),
    }
}

/// Waits at most so long, and moves what was answered from `begun` to `times_ns`.
fn answered(
    begun: &mut Vec<Begun>,
    times_ns: &mut Vec<u64>,
    at_most_ns: u64,
) -> Result<(), String> {
    let mut waited_for: Vec<PollFd> = begun
        .iter()
        .map(|connecting| PollFd::new(&connecting.socket, PollFlags::OUT))
        .collect();
    match poll(&mut waited_for, Some(&clock::timespec(at_most_ns))) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(format!("poll: {error}")),
    }
    let now_ns = clock::now_ns();
    let ready: Vec<bool> = waited_for
        .iter()
        .map(|one| !one.revents().is_empty())
        .collect();
    for place in (0..ready.len()).rev().filter(|place| ready[*place]) {
        let connecting = begun.swap_remove(place);
        match sockopt::socket_error(&connecting.socket) {
            Ok(Ok(()) | Err(Errno::CONNREFUSED)) => times_ns.push(now_ns - connecting.at_ns),
            Ok(Err(error)) | Err(error) => return Err(format!("a connect failed: {error}")),
        }
    }
    Ok(())
}

fn found(mut times_ns: Vec<u64>) -> Found {
    times_ns.sort_unstable();
    let samples = times_ns.len();
    let middle = u64::midpoint(times_ns[(samples - 1) / 2], times_ns[samples / 2]);
    Found {
        median_ms: clock::ms(middle),
        lowest_ms: clock::ms(times_ns[0]),
        highest_ms: clock::ms(times_ns[samples - 1]),
        samples,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_median_is_between_the_two_in_the_middle() {
        let seen = found(vec![9_000_000, 1_000_000, 4_000_000, 2_000_000]);
        let wanted = Found {
            median_ms: 3.0,
            lowest_ms: 1.0,
            highest_ms: 9.0,
            samples: 4,
        };
        assert_eq!(seen, wanted);
    }

    #[test]
    fn a_closed_port_answers_and_so_does_an_open_one() {
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = open.local_addr().unwrap().port();
        let asked = |port| RoundTrips {
            to: std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port),
            samples: 5,
            timeout: Duration::from_secs(10),
        };
        assert_eq!(measure(&asked(port)).unwrap().samples, 5);
        drop(open);
        assert_eq!(measure(&asked(port)).unwrap().samples, 5);
    }
}
