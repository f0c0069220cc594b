//! Slices: what is done in each, what they come to together, and what happens between two of them.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use tlstax_contract::{
    Arrivals, Counts, Done, ErrorKind, Fault, FullLoad, Job, Schedule, Slice, Workload,
};

use crate::client::Client;
use crate::engine::{job, offer, tls_job};
use crate::messages::{OK, packet};
use crate::server::{Peer, Server, tls_config};

/// So short that nothing can be started in it.
const NOTHING_S: f64 = 1e-9;
const A_YEAR_S: f64 = 365.0 * 24.0 * 3600.0;

fn obliging() -> Server {
    Server::start(|peer| {
        peer.log_in()?;
        peer.answer(usize::MAX)
    })
}

fn reconnecting(job: Job) -> Job {
    let workload = Workload {
        reconnect: true,
        ..job.workload
    };
    Job { workload, ..job }
}

fn storm(server: &Server, rounds: u32) -> Job {
    Job {
        workload: Workload {
            storm: true,
            ..Workload::default()
        },
        rounds,
        threads: 3,
        ..job(server)
    }
}

fn assert_near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-6 * expected,
        "{found} instead of {expected}"
    );
}

fn operations(slices: &[Slice]) -> u64 {
    slices.iter().map(|slice| slice.operations).sum()
}

fn handshakes(counts: &Counts) -> u64 {
    counts.handshakes.iter().map(|seen| seen.count).sum()
}

fn logins(counts: &Counts) -> u64 {
    counts.authentications.values().sum()
}

/// The result is the sum of the slices, which had N connections at work.
fn assert_sums(slices: &[Slice], done: &Done, connections: f64) {
    assert_eq!(operations(slices), done.operations);
    assert_near(
        slices.iter().map(|slice| slice.elapsed_s).sum(),
        done.elapsed_s,
    );
    assert_near(
        slices.iter().map(|slice| slice.cpu_us).sum(),
        done.cpu.total_us,
    );
    for count in [|counts: &Counts| counts.connections, handshakes, logins] {
        let sum: u64 = slices.iter().map(|slice| count(&slice.counts)).sum();
        assert_eq!(sum, count(&done.window));
    }
    for slice in slices {
        let latencies = 0.0..=slice.elapsed_s * connections;
        assert!(latencies.contains(&slice.latency_sum_s), "{slice:?}");
        assert_eq!(slice.latency_sum_s > 0.0, slice.operations > 0, "{slice:?}");
    }
    assert!(done.threads_cpu_us.iter().sum::<f64>() <= done.cpu.total_us);
}

#[test]
fn add_up_to_the_result() {
    let server = obliging();
    let config = tls_config(2);
    let tls_server = Server::start(move |peer| {
        peer.log_in_by_tls(&config)?;
        peer.answer(usize::MAX)
    });
    for (job, logins_an_operation) in [
        (job(&server), 0),
        (reconnecting(job(&server)), 1),
        (reconnecting(tls_job(&tls_server)), 1),
    ] {
        let job = Job { threads: 2, ..job };
        let mut client = Client::start(&job);
        let slices = client.go_on(&[0.05, 0.1, NOTHING_S, 0.02, 0.3]);
        let done = client.end();
        assert_sums(&slices, &done, 3.0);
        assert!(done.errors.is_empty() && slices[4].operations > 0);
        assert_eq!(done.scheduled, done.operations);
        for slice in &slices {
            let expected = logins_an_operation * slice.operations;
            assert_eq!(slice.counts.connections, expected);
            assert_eq!(logins(&slice.counts), expected);
        }
    }
}

#[test]
fn tell_what_was_done_under_full_load_where_they_are_asked() {
    let server = obliging();
    let full_load = FullLoad {
        after_operations: 5,
        cpu_of: vec![std::process::id()],
    };
    let job = Job {
        threads: 2,
        measure_overhead: false,
        full_load: Some(full_load),
        ..reconnecting(job(&server))
    };
    let mut client = Client::start(&job);
    for slice in client.go_on(&[0.1; 5]) {
        let part = slice.full_load.unwrap();
        // What is left out is the lead-in, and part of what was under way at either end.
        #[allow(clippy::cast_precision_loss)]
        let in_ends = slice.operations as f64 - part.operations;
        assert!(
            (3.0..=5.0 + 6.0).contains(&in_ends),
            "{in_ends} in both ends"
        );
        // Three connections that rest for a moment only, between two operations.
        assert!(part.latency_sum_s <= 3.0 * part.elapsed_s * 1.000_001);
        assert!(part.elapsed_s < slice.elapsed_s && part.cpu_us < slice.cpu_us);
        assert!(part.latency_sum_s < slice.latency_sum_s);
        assert!(part.cpu_of_us.len() == 1 && part.cpu_of_us[0] > 0.0);
    }
    let too_short = client.go(NOTHING_S);
    assert!(too_short.full_load.is_none());
    assert!(client.end().overhead.is_none());
}

#[test]
fn go_on_until_half_of_their_length_is_under_full_load() {
    const ANSWER_S: f64 = 0.03;
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.answer(1)?;
        while peer.read()?.1 != [1] {
            sleep(Duration::from_secs_f64(ANSWER_S));
            peer.send(&packet(1, OK))?;
        }
        Ok(())
    });
    let job = Job {
        measure_overhead: false,
        full_load: Some(FullLoad {
            after_operations: 5,
            cpu_of: Vec::new(),
        }),
        ..job(&server)
    };
    // Three connections have answered five times after two answers each at the earliest.
    let length_s = 1.5 * ANSWER_S;
    let mut client = Client::start(&job);
    for slice in client.go_on(&[length_s; 3]) {
        assert!(slice.elapsed_s > 2.0 * ANSWER_S + length_s / 2.0);
        assert!(slice.full_load.unwrap().elapsed_s >= length_s / 2.0);
    }
    client.end();
}

#[test]
fn of_a_process_that_is_not_there_are_refused() {
    let server = obliging();
    let full_load = FullLoad {
        after_operations: 1,
        cpu_of: vec![u32::MAX],
    };
    let job = Job {
        full_load: Some(full_load),
        ..job(&server)
    };
    let ending = offer(&job);
    let message = ending.fatal(ErrorKind::BadJob, Fault::Job);
    assert!(message.contains("full_load.cpu_of"), "{message}");
}

#[test]
fn are_answered_even_if_nothing_was_done() {
    let server = obliging();
    let mut client = Client::start(&job(&server));
    let slices = client.go_on(&[NOTHING_S, NOTHING_S, 0.2]);
    assert_eq!(operations(&slices[..2]), 0);
    assert_near(slices[0].elapsed_s, NOTHING_S);
    assert!(slices[2].operations > 0);
    assert_sums(&slices, &client.end(), 3.0);
}

#[test]
fn leave_nothing_in_flight() {
    let asked = Arc::new(AtomicUsize::new(0));
    let answered = Arc::new(AtomicUsize::new(0));
    let at_server = (Arc::clone(&asked), Arc::clone(&answered));
    let server = Server::start(move |peer| {
        peer.log_in()?;
        peer.answer(1)?;
        while peer.read()?.1 != [1] {
            at_server.0.fetch_add(1, Ordering::SeqCst);
            at_server.1.fetch_add(1, Ordering::SeqCst);
            peer.send(&packet(1, OK))?;
        }
        Ok(())
    });
    let job = Job {
        connections: 10,
        threads: 2,
        ..job(&server)
    };
    let mut client = Client::start(&job);
    let mut operations = 0;
    for _ in 0..20 {
        operations += client.go(0.01).operations;
        for _ in 0..2 {
            let seen = [&asked, &answered].map(|count| count.load(Ordering::SeqCst) as u64);
            assert_eq!(seen, [operations; 2]);
            sleep(Duration::from_millis(5));
        }
    }
    assert_eq!(client.end().operations, operations);
}

#[test]
fn of_a_storm_have_a_round_each_as_long_as_any_is_left() {
    let server = obliging();
    let mut client = Client::start(&storm(&server, 4));
    let slices = client.go_on(&[NOTHING_S, NOTHING_S, A_YEAR_S, NOTHING_S, A_YEAR_S]);
    let rounds: Vec<_> = slices.iter().map(|slice| slice.rounds_s.len()).collect();
    assert_eq!(rounds, [1, 1, 2, 0, 0]);
    let counted = slices.iter().map(|slice| slice.counts.connections);
    assert_eq!(counted.collect::<Vec<_>>(), [3, 3, 6, 0, 0]);
    for slice in &slices[..3] {
        assert!(slice.rounds_s.iter().sum::<f64>() < slice.elapsed_s);
    }
    let done = client.end();
    let all: Vec<_> = slices.iter().flat_map(|slice| &slice.rounds_s).collect();
    assert_eq!(done.rounds_s.iter().collect::<Vec<_>>(), all);
    assert_eq!((done.operations, done.scheduled), (12, 12));
}

/// Which round is a slice's last is for the clock to say, and each thread has read it for itself.
#[test]
fn of_a_storm_end_with_the_same_round_in_all_threads() {
    let server = obliging();
    let mut client = Client::start(&storm(&server, u32::MAX));
    let slices = client.go_on(&[0.003; 50]);
    for slice in &slices {
        assert!(!slice.rounds_s.is_empty());
        assert_eq!(slice.operations, 3 * slice.rounds_s.len() as u64);
    }
    assert_eq!(client.end().operations, operations(&slices));
}

#[test]
fn share_the_operations_that_there_are() {
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.answer(1)?;
        loop {
            peer.read()?;
            sleep(Duration::from_millis(2));
            peer.send(&packet(1, OK))?;
        }
    });
    let job = Job {
        operations: Some(40),
        ..job(&server)
    };
    let mut client = Client::start(&job);
    let slices = client.go_on(&[0.004, A_YEAR_S, 0.001, A_YEAR_S]);
    // Three connections start at most two each, since an answer takes 2 ms.
    assert!(slices[0].operations <= 6);
    assert_eq!(operations(&slices[..2]), 40);
    assert_eq!(operations(&slices[2..]), 0);
    let done = client.end();
    assert_eq!((done.operations, done.scheduled), (40, 40));
}

#[test]
fn of_an_open_loop_have_arrivals_of_their_own() {
    let server = obliging();
    for arrivals in [Arrivals::Poisson, Arrivals::Uniform] {
        let schedule = Schedule::Open {
            rate_per_s: 530.0,
            arrivals,
        };
        let job = Job {
            schedule,
            threads: 2,
            ..job(&server)
        };
        let mut client = Client::start(&job);
        let slices = client.go_on(&[0.02; 20]);
        let done = client.end();
        assert_eq!(operations(&slices), done.operations);
        assert_eq!(done.operations + done.skipped, done.scheduled);
        // 212 on average over all seeds; this seed's are always the same.
        assert!((160..260).contains(&done.scheduled), "{}", done.scheduled);
        let first = slices[0].operations;
        assert!(slices.iter().any(|slice| slice.operations != first));
    }
}

#[test]
fn do_not_begin_with_what_is_no_length() {
    let server = obliging();
    for bad in [
        "go", "go 0", "go -1", "go nan", "go inf", "go soon", "go 1e300", "end",
    ] {
        for slices in [0, 2] {
            if bad == "end" && slices > 0 {
                continue;
            }
            let mut client = Client::start(&job(&server));
            client.say("");
            client.go_on(&vec![0.001; slices]);
            client.say(bad);
            let error = client.refused();
            assert_eq!((error.kind, error.fault), (ErrorKind::BadJob, Fault::Job));
            assert!(
                error.fatal && error.message.starts_with(&bad[..2]),
                "{error:?}"
            );
        }
    }
}

#[test]
fn end_at_once_when_nobody_waits_for_them() {
    let silent = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.fall_silent()
    });
    for server in [obliging(), silent] {
        let mut client = Client::start(&Job {
            timeout_s: A_YEAR_S,
            ..job(&server)
        });
        client.say(&format!("go {A_YEAR_S}"));
        sleep(Duration::from_millis(20));
        client.hang_up();
    }
    let server = obliging();
    let mut client = Client::start(&job(&server));
    client.go(0.01);
    client.hang_up();
}

/// A server that hangs up between two slices.
#[test]
fn meet_what_happened_before_them_without_having_looked_for_it() {
    let connections: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let opened = Arc::clone(&connections);
    let server = Server::start(move |peer: &mut Peer| {
        opened.lock().unwrap().push(peer.stream());
        peer.log_in()?;
        peer.answer(usize::MAX)
    });
    let mut client = Client::start(&job(&server));
    assert!(client.go(0.2).operations > 0);
    for stream in connections.lock().unwrap().drain(..) {
        stream.shutdown(Shutdown::Both).unwrap();
    }
    let before_ns = client.cpu_ns();
    sleep(Duration::from_millis(200));
    let used_ns = client.cpu_ns() - before_ns;
    assert!(
        used_ns < 20_000_000,
        "{used_ns} ns of CPU between two slices"
    );
    // Those that failed in the first rest into the second.
    let met = client.go(0.001);
    assert_eq!(met.operations, 0);
    let taken_up = client.go(1.0);
    assert!(taken_up.operations > 0);
    assert_eq!(
        (met.counts.connections, taken_up.counts.connections),
        (0, 3)
    );
    let errors: Vec<_> = client.end().errors;
    let counted: Vec<_> = errors
        .iter()
        .map(|error| (error.kind, error.count))
        .collect();
    assert_eq!(counted, [(ErrorKind::ServerClosed, 3)]);
}

/// However short they are, a server that is gone is given up.
#[test]
fn are_not_gone_on_with_when_the_server_is_gone() {
    let server = obliging();
    let mut client = Client::start(&reconnecting(job(&server)));
    client.go(0.01);
    drop(server);
    let error = (0..2000).find_map(|_| client.try_go(0.005).err());
    let error = error.expect("the server is given up");
    assert_eq!((error.kind, error.fatal), (ErrorKind::Connect, true));
}
