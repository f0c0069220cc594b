//! Servers that refuse statements: the operation has failed, and the connection goes on.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tlstax_contract::{Arrivals, ErrorKind, Fault, Job, Schedule, Workload};

use crate::engine::{job, run};
use crate::messages::{OK, OK_IN_TRANSACTION, error, packet};
use crate::server::{Peer, Server};

const COM_QUIT: u8 = 1;
const COM_QUERY: u8 = 3;
const DEADLOCK: u16 = 1213;

/// Two statements between BEGIN and COMMIT; N operations.
fn bracketed(server: &Server, operations: u64) -> Job {
    let workload = r#"{"mix": [{"bracketed": true, "statements": [
        {"sql": "UPDATE a SET b=1"}, {"sql": "UPDATE a SET b=2"}]}]}"#;
    Job {
        workload: serde_json::from_str::<Workload>(workload).unwrap(),
        operations: Some(operations),
        duration_s: 10.0,
        ..job(server)
    }
}

/// Answers a client's commands one by one, by what `answer` says to each but the proof.
fn serve(peer: &mut Peer, mut answer: impl FnMut(&str) -> Vec<u8>) -> io::Result<()> {
    peer.log_in()?;
    loop {
        let (_, command) = peer.read()?;
        match command.split_first() {
            Some((&COM_QUERY, sql)) => {
                let payload = match sql {
                    [b'S', b'H', b'O', b'W', ..] => OK.to_vec(),
                    _ => answer(&String::from_utf8_lossy(sql)),
                };
                peer.send(&packet(1, &payload))?;
            }
            Some((&COM_QUIT, _)) | None => return Ok(()),
            Some(other) => panic!("unexpected command {other:?}"),
        }
    }
}

#[test]
fn a_deadlock_is_rolled_back_and_costs_its_operation_but_not_the_connection() {
    let (heard, seen) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(AtomicU64::new(0)),
    );
    let (hearing, connections) = (Arc::clone(&heard), Arc::clone(&seen));
    let server = Server::start(move |peer| {
        connections.fetch_add(1, Ordering::SeqCst);
        let mut begun = 0;
        serve(peer, |sql| {
            hearing.lock().unwrap().push(sql.to_owned());
            begun += u64::from(sql == "BEGIN");
            match sql {
                "COMMIT" | "ROLLBACK" => OK.to_vec(),
                "UPDATE a SET b=2" if begun % 2 == 0 => error(DEADLOCK, "Deadlock found"),
                _ => OK_IN_TRANSACTION.to_vec(),
            }
        })
    });
    let ending = run(&Job {
        connections: 1,
        ..bracketed(&server, 40)
    });
    ending.counted(ErrorKind::ServerError);
    let done = ending.result();
    assert_eq!((done.operations, done.scheduled), (20, 40));
    assert_eq!(
        (done.errors[0].code, done.errors[0].count),
        (Some(1213), 20)
    );
    assert_eq!(
        (done.window.connections, seen.load(Ordering::SeqCst)),
        (0, 1)
    );
    let told = &ending.told[..];
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].code, told[0].count), (Some(1213), 20));
    assert!(told[0].message.contains("Deadlock found"), "{told:?}");
    let heard = heard.lock().unwrap();
    let (first, second) = ("UPDATE a SET b=1", "UPDATE a SET b=2");
    let pair = [
        "BEGIN", first, second, "COMMIT", "BEGIN", first, second, "ROLLBACK",
    ];
    assert_eq!(heard.len(), 20 * pair.len());
    assert!(
        heard.chunks(pair.len()).all(|chunk| chunk == pair),
        "{heard:?}"
    );
}

#[test]
fn a_connection_whose_rollback_fails_too_is_opened_anew() {
    let server = Server::start(|peer| {
        serve(peer, |sql| match sql {
            "UPDATE a SET b=1" => error(DEADLOCK, "Deadlock found"),
            "ROLLBACK" => error(1194, "Table is marked as crashed"),
            _ => OK_IN_TRANSACTION.to_vec(),
        })
    });
    let ending = run(&bracketed(&server, 6));
    ending.counted(ErrorKind::ServerError);
    let done = ending.result();
    // Each operation has failed once, though the server refused twice.
    assert_eq!(
        (done.errors.len(), done.errors[0].code, done.errors[0].count),
        (1, Some(1213), 6)
    );
    assert!(done.window.connections >= 3);
}

#[test]
fn more_behind_a_refusal_ends_the_connection() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        let refusal = packet(1, &error(1062, "Duplicate entry"));
        peer.send(&[refusal, packet(1, OK)].concat())?;
        peer.fall_silent()
    });
    let ending = run(&job(&server));
    ending.counted(ErrorKind::ServerError);
    assert!(ending.result().window.connections > 0);
}

#[test]
fn a_server_that_refuses_everything_is_given_up() {
    let server = Server::start(|peer| {
        serve(peer, |sql| match sql {
            "BEGIN" => OK_IN_TRANSACTION.to_vec(),
            "ROLLBACK" => OK.to_vec(),
            _ => error(1290, "The server is running with --read-only"),
        })
    });
    let ending = run(&bracketed(&server, 1_000_000));
    let message = ending.fatal(ErrorKind::ServerError, Fault::Server);
    assert!(message.contains("--read-only"), "{message}");
}

#[test]
fn so_many_operations_end_the_window_at_scheduled_times_too() {
    let server = Server::start(|peer| serve(peer, |_| OK.to_vec()));
    let mut job = bracketed(&server, 20);
    job.schedule = Schedule::Open {
        rate_per_s: 400.0,
        arrivals: Arrivals::Uniform,
    };
    let ending = run(&job);
    ending.succeeded();
    let done = ending.result();
    assert_eq!((done.operations, done.scheduled, done.skipped), (20, 20, 0));
    assert!(done.elapsed_s < job.duration_s);
}
