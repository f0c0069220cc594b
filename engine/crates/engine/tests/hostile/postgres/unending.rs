//! What does not end, or ends badly: floods, drops, rows of any length, storms, a goodbye that is not heard.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use tlstax_contract::{Job, Workload};

use super::{
    COLUMN, Expected, LET_IN, NO_ROWS, READY, ROW, SCRAM, error, header, in_the_clear, message,
    notice, scripts,
};
use crate::engine::{Ending, hurried, run, run_within};
use crate::server::{Peer, Server};

/// The longest message that is kept until it is whole.
const LONGEST: u32 = 64 << 20;

fn begin_to_let_in(peer: &mut Peer) -> io::Result<()> {
    peer.read_opening()?;
    peer.send(LET_IN)
}

/// What comes of one that comes as far as `first` and then says this again and again.
fn flooded(
    first: fn(&mut Peer) -> io::Result<()>,
    said: impl AsRef<[u8]>,
    expected: Expected,
) -> Ending {
    let many = said.as_ref().repeat(1000);
    let server = Server::start(move |peer| {
        first(peer)?;
        peer.send_for_ever(&many)
    });
    expected.run(in_the_clear(&server))
}

fn in_the_login(said: impl AsRef<[u8]>, expected: Expected) {
    expected.ends(&flooded(begin_to_let_in, said, expected));
}

scripts! { in_the_login:
    parameters_in_a_login: message(b'S', b"server_version\x0018\0") => Expected::broken("did not end");
    notices_in_a_login: notice() => Expected::broken("did not end");
    keys: message(b'K', [7; 8]) => Expected::broken("did not end");
}

fn in_an_answer(said: impl AsRef<[u8]>, expected: Expected) {
    expected.costs_operations(&flooded(Peer::let_into_the_window, said, expected));
}

scripts! { in_an_answer:
    results: [COLUMN, ROW, NO_ROWS].concat() => Expected::silent();
    completions: NO_ROWS => Expected::silent();
    empty_queries: message(b'I', b"") => Expected::silent();
    errors: error("ERROR", "42601", "no") => Expected::silent();
    notices: notice() => Expected::silent();
    notifications: message(b'A', b"\0\0\0\x01a\0b\0") => Expected::silent();
    parameters: message(b'S', b"a\0b\0") => Expected::silent();
}

#[test]
fn rows_that_nobody_wants() {
    let ending = flooded(
        |peer| {
            peer.let_into_the_window()?;
            peer.send(COLUMN)
        },
        ROW,
        Expected::silent(),
    );
    Expected::silent().costs_operations(&ending);
}

#[test]
fn rows_that_are_wanted() {
    let row = message(
        b'D',
        [&b"\0\x01\0\x01\0\0"[..], &vec![b'x'; 1 << 16]].concat(),
    );
    let server = Server::start(move |peer| {
        peer.let_into_the_window()?;
        peer.send(COLUMN)?;
        peer.send_for_ever(&row)
    });
    let job = Job {
        row_samples: 16,
        ..in_the_clear(&server)
    };
    Expected::silent().costs_operations(&run(&hurried(job)));
}

/// The proof has one row; who has it wants no other.
#[test]
fn rows_of_the_proof() {
    let row = message(
        b'D',
        [&b"\0\x01\0\x10\0\0"[..], &vec![b'x'; 1 << 20]].concat(),
    );
    let server = Server::start(move |peer| {
        peer.let_in()?;
        peer.read_message()?;
        peer.send(COLUMN)?;
        peer.send_for_ever(&row)
    });
    Expected::silent().ends(&run(&hurried(in_the_clear(&server))));
}

/// A row that was wanted has to be kept until it is whole, by one connection at a time here; what is no text becomes
/// three bytes a byte (U+FFFD).
#[test]
fn the_longest_row_of_what_is_no_text() {
    let row = header(b'D', LONGEST);
    let value = [
        &b"\0\x01"[..],
        &(LONGEST - 10).to_be_bytes(),
        &vec![0xff; LONGEST as usize - 10],
    ]
    .concat();
    let server = Server::start(move |peer| {
        peer.let_in()?;
        peer.read_message()?;
        peer.send(&[COLUMN, &row].concat())?;
        peer.send(&value)?;
        peer.send(&[NO_ROWS, READY].concat())?;
        peer.read_message()?;
        peer.answer_each(&[NO_ROWS, READY].concat())
    });
    let job = Job {
        connections: 1,
        ..in_the_clear(&server)
    };
    run_within(&job, 4 * u64::from(LONGEST)).succeeded();
}

/// Rows that nobody wants are passed over while they arrive, whatever their length.
#[test]
fn long_rows_that_nobody_wants() {
    let value = [&b"\0\x01\0\x40\0\0"[..], &vec![b'x'; 4 << 20]].concat();
    let row = message(b'D', value);
    let answer = [COLUMN, &row, &row, NO_ROWS, READY].concat();
    let server = Server::start(move |peer| {
        peer.let_into_the_window()?;
        peer.answer_each(&answer)
    });
    run(&in_the_clear(&server)).succeeded();
}

/// The time is that of the whole operation: a byte now and then does not lengthen it.
#[test]
fn drops_of_an_answer() {
    let server = Server::start(|peer| {
        peer.let_into_the_window()?;
        peer.drip(&header(b'T', 1000))
    });
    Expected::silent().costs_operations(&run(&hurried(in_the_clear(&server))));
}

#[test]
fn drops_of_scram() {
    let server = Server::start(|peer| {
        peer.read_opening()?;
        peer.send(SCRAM)?;
        peer.read_message()?;
        peer.drip(&header(b'R', 1000))
    });
    Expected::silent().ends(&run(&hurried(in_the_clear(&server))));
}

/// A storm has this many connections, and as many are opened while it is set up.
const CONNECTIONS: usize = 3;

/// Lets the connection in and answers it until it says goodbye.
fn behave(peer: &mut Peer) -> io::Result<()> {
    peer.let_in()?;
    while peer.read_message()?.0 != b'X' {
        peer.send(&[NO_ROWS, READY].concat())?;
    }
    Ok(())
}

/// What comes of two rounds of a storm, of whose connections the first is spoilt like this.
fn storm(
    expected: Expected,
    spoil: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
) -> Ending {
    let accepted = AtomicUsize::new(0);
    let server = Server::start(move |peer| {
        if accepted.fetch_add(1, Ordering::SeqCst) == CONNECTIONS {
            return spoil(peer);
        }
        behave(peer)
    });
    expected.run(Job {
        workload: Workload {
            storm: true,
            ..Workload::default()
        },
        rounds: 2,
        duration_s: 10.0,
        ..in_the_clear(&server)
    })
}

/// What the first does to its connection costs one operation, and the others nothing.
fn spoilt(expected: Expected, spoil: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static) {
    let ending = storm(expected, spoil);
    assert_eq!(ending.counted_at_most(expected.kind), 1);
    assert_eq!(ending.result().operations, 5);
}

#[test]
fn a_storm_spoilt_by_a_hang_up() {
    spoilt(Expected::closed(), Peer::hang_up);
}

#[test]
fn a_storm_spoilt_by_silence() {
    spoilt(Expected::silent(), |peer| {
        begin_to_let_in(peer)?;
        peer.fall_silent()
    });
}

#[test]
fn a_storm_spoilt_by_nonsense() {
    spoilt(Expected::broken("came where"), |peer| {
        peer.read_opening()?;
        peer.send(&[LET_IN, ROW].concat())?;
        peer.fall_silent()
    });
}

/// Otherwise the tests above could not fail.
#[test]
fn a_storm_that_nobody_spoils() {
    let ending = storm(Expected::closed(), behave);
    ending.succeeded();
    assert_eq!(ending.result().operations, 6);
}

/// Each operation has a connection of its own, whose goodbye is answered like this.
fn after_the_goodbye(answer: fn(&mut Peer) -> io::Result<()>) {
    let server = Server::start(move |peer| {
        behave(peer)?;
        answer(peer)
    });
    let job = in_the_clear(&server);
    let workload = Workload {
        reconnect: true,
        ..job.workload.clone()
    };
    run(&Job { workload, ..job }).succeeded();
}

#[test]
fn a_goodbye_that_is_not_heard() {
    after_the_goodbye(Peer::fall_silent);
}

#[test]
fn a_goodbye_that_is_talked_over() {
    after_the_goodbye(|peer| peer.send_for_ever(&[0; 1000]));
}

#[test]
fn a_goodbye_answered_by_an_error() {
    after_the_goodbye(|peer| {
        peer.send(&error("FATAL", "57P01", "terminating connection"))?;
        peer.hang_up()
    });
}
