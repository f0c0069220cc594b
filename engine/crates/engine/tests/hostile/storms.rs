//! Servers that spoil a storm: what they do to one connection, the others do not suffer for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tlstax_contract::{Arrivals, Done, ErrorKind, Fault, Job, Schedule, Workload};

use crate::engine::{hurried, job, run};
use crate::messages::{OK, packet};
use crate::server::{Peer, Server};

/// A storm has this many connections, and as many are opened while it is set up.
const CONNECTIONS: usize = 3;

/// Two rounds, soon given up.
fn storm(server: &Server) -> Job {
    hurried(Job {
        workload: Workload {
            storm: true,
            ..Workload::default()
        },
        rounds: 2,
        duration_s: 10.0,
        ..job(server)
    })
}

/// A server that is well-behaved while the storm is set up, and does this with the connections of its
/// rounds, which are numbered from 0.
fn server(
    spoil: impl Fn(&mut Peer, usize) -> std::io::Result<()> + Send + Sync + 'static,
) -> Server {
    let accepted = AtomicUsize::new(0);
    Server::start(move |peer| {
        let number = accepted.fetch_add(1, Ordering::SeqCst);
        match number.checked_sub(CONNECTIONS) {
            Some(number) => spoil(peer, number),
            None => behave(peer),
        }
    })
}

fn behave(peer: &mut Peer) -> std::io::Result<()> {
    peer.log_in()?;
    peer.answer(usize::MAX)
}

fn rounds_and_operations(done: &Done) -> (usize, u64, u64) {
    (done.rounds_s.len(), done.operations, done.scheduled)
}

#[test]
fn nobody() {
    let ending = run(&storm(&server(|peer, _| behave(peer))));
    ending.succeeded();
    let done = ending.result();
    assert_eq!(rounds_and_operations(done), (2, 6, 6));
    assert_eq!(done.window.connections, 6);
    assert_eq!(done.phase_wire["connect"].round_trips, 18);
    assert_eq!(done.phase_wire["close"].times, 6);
    assert!(done.rounds_s.iter().sum::<f64>() < done.elapsed_s);
}

#[test]
fn in_an_open_loop_by_one_connection_in_four_that_never_hears_a_verdict() {
    const RATE_PER_S: f64 = 100.0;
    let server = server(|peer, number| {
        if number % 4 == 1 {
            peer.hear_login()?;
            return peer.fall_silent();
        }
        behave(peer)
    });
    let ending = run(&Job {
        rounds: 1,
        duration_s: 0.5,
        schedule: Schedule::Open {
            rate_per_s: RATE_PER_S,
            arrivals: Arrivals::Uniform,
        },
        ..storm(&server)
    });
    assert!(ending.counted_at_most(ErrorKind::Timeout) > 0);
    let done = ending.result();
    assert!((49..=51).contains(&done.scheduled), "{}", done.scheduled);
    assert!(done.operations > 0 && done.operations < done.scheduled);
    assert!(done.rounds_s.is_empty());
    // Each that came up was closed at once, so that its place was free for the next.
    assert!(done.window.connections > CONNECTIONS as u64);
    assert_eq!(done.phase_wire["close"].times, done.operations);
}

#[test]
fn by_silence_instead_of_one_verdict() {
    let ending = run(&storm(&server(|peer, number| {
        if number == 1 {
            peer.hear_login()?;
            return peer.fall_silent();
        }
        behave(peer)
    })));
    assert_eq!(ending.counted_at_most(ErrorKind::Timeout), 1);
    let done = ending.result();
    assert_eq!(rounds_and_operations(done), (2, 5, 6));
    // The others are kept until the silent one is given up, which is after the time of the round.
    assert!(done.elapsed_s > 0.3 && done.rounds_s[0] < done.elapsed_s - 0.3);
}

#[test]
fn by_silence_instead_of_every_verdict() {
    let ending = run(&storm(&server(|peer, _| {
        peer.hear_login()?;
        peer.fall_silent()
    })));
    assert_eq!(ending.counted_at_most(ErrorKind::Timeout), 6);
    assert_eq!(rounds_and_operations(ending.result()), (0, 0, 6));
}

#[test]
fn by_hanging_up_on_who_waits_for_the_others() {
    let ending = run(&storm(&server(|peer, number| {
        if number == 0 {
            peer.log_in()?;
            std::thread::sleep(Duration::from_millis(50));
            return peer.hang_up();
        }
        let due = peer.hear_login()?;
        // Less than the timeout.
        std::thread::sleep(Duration::from_millis(250));
        peer.send(&packet(due, OK))?;
        peer.answer(usize::MAX)
    })));
    assert_eq!(ending.counted_at_most(ErrorKind::ServerClosed), 1);
    assert_eq!(rounds_and_operations(ending.result()), (2, 6, 6));
}

#[test]
fn by_never_hanging_up() {
    let ending = run(&storm(&server(|peer, _| {
        peer.log_in()?;
        peer.fall_silent()
    })));
    ending.succeeded();
    assert_eq!(rounds_and_operations(ending.result()), (2, 6, 6));
}

#[test]
fn by_talking_on_after_the_goodbye() {
    let ending = run(&storm(&server(|peer, _| {
        peer.log_in()?;
        peer.read()?;
        peer.send_for_ever(&[0; 1000])
    })));
    ending.succeeded();
    assert_eq!(rounds_and_operations(ending.result()), (2, 6, 6));
}

#[test]
fn by_a_slice_shorter_than_a_round() {
    let server = server(|peer, _| behave(peer));
    let late = Job {
        duration_s: 1e-9,
        ..storm(&server)
    };
    let ending = run(&late);
    assert_eq!(rounds_and_operations(ending.result()), (1, 3, 3));
}

#[test]
fn from_the_first_connection_on() {
    let server = Server::start(Peer::fall_silent);
    run(&storm(&server)).fatal(ErrorKind::Timeout, Fault::Server);
}
