//! Servers that take more turns than they need, or cut what they say into pieces: a round trip is counted
//! for each time that the client had to ask, and for nothing else.

use std::io;
use std::time::Duration;

use tlstax_contract::{Done, Job, Parameters, Statement, Workload};

use crate::engine::{job, run, tls_job};
use crate::messages::{OK, packet};
use crate::server::{Peer, Server, tls_config};

const FAST_AUTH_SUCCESS: &[u8] = &[1, 3];
const PERFORM_FULL_AUTH: &[u8] = &[1, 4];
const OTHER_PLUGIN: &[u8] = b"\xfemysql_native_password\0abcdefghijklmnopqrst\0";

/// Connections that ask one thing each.
fn reconnecting(job: Job) -> Job {
    let statement = Statement {
        sql: "SELECT 1".into(),
        parameters: Parameters::new(),
        repeat: 1,
        protocol: None,
    };
    Job {
        workload: Workload {
            reconnect: true,
            statements: vec![statement],
            ..Workload::default()
        },
        operations: Some(20),
        duration_s: 10.0,
        ..job
    }
}

/// Round trips of one connection in this phase, of which each has the same.
fn round_trips(done: &Done, phase: &str) -> u64 {
    let wire = done.phase_wire[phase];
    assert_eq!(wire.times, done.operations);
    assert_eq!(wire.round_trips % wire.times, 0, "{phase}: {wire:?}");
    wire.round_trips / wire.times
}

/// Sends a packet byte by byte, each in a segment of its own.
fn say_slowly(peer: &mut Peer, bytes: &[u8]) -> io::Result<()> {
    for byte in bytes {
        peer.send(&[*byte])?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

#[test]
fn an_answer_in_pieces_is_one_answer() {
    let server = Server::start(|peer| {
        let due = peer.hear_login()?;
        say_slowly(peer, &packet(due, OK))?;
        while peer.read()?.1 != [1] {
            say_slowly(peer, &packet(1, OK))?;
        }
        Ok(())
    });
    let ending = run(&reconnecting(job(&server)));
    ending.succeeded();
    let done = ending.result();
    let told = ["authentication", "connect", "first_query", "close"];
    assert_eq!(told.map(|phase| round_trips(done, phase)), [1, 3, 1, 0]);
}

#[test]
fn another_plugin_than_announced_costs_one_more() {
    let server = Server::start(|peer| {
        let due = peer.hear_login()?;
        peer.send(&packet(due, OTHER_PLUGIN))?;
        let due = peer.read()?.0 + 1;
        peer.send(&packet(due, OK))?;
        peer.answer(usize::MAX)
    });
    let ending = run(&reconnecting(job(&server)));
    ending.succeeded();
    let told = ["authentication", "connect"].map(|phase| round_trips(ending.result(), phase));
    assert_eq!(told, [2, 4]);
}

#[test]
fn the_fast_way_of_caching_sha2_costs_none_and_the_full_one_costs_one_more() {
    for (verdict, expected) in [(FAST_AUTH_SUCCESS, 1), (PERFORM_FULL_AUTH, 2)] {
        let config = tls_config(2);
        let server = Server::start(move |peer| {
            peer.start_tls(&config)?;
            let due = peer.read()?.0 + 1;
            peer.send(&packet(due, verdict))?;
            // The two may come apart.
            std::thread::sleep(Duration::from_millis(2));
            let due = if verdict == PERFORM_FULL_AUTH {
                peer.read()?.0 + 1
            } else {
                due + 1
            };
            peer.send(&packet(due, OK))?;
            peer.answer(usize::MAX)
        });
        let ending = run(&reconnecting(tls_job(&server)));
        ending.succeeded();
        let done = ending.result();
        let told = ["tls_handshake", "authentication", "first_query", "close"];
        assert_eq!(
            told.map(|phase| round_trips(done, phase)),
            [1, expected, 1, 0]
        );
    }
}
