//! Jobs with values at the end of what can be written down: refused by name, or done; never a crash.

use std::collections::BTreeMap;

use tlstax_contract::{
    Arrivals, ErrorKind, Fault, Job, Parameter, Schedule, Statement, Transaction, Workload,
};

use crate::engine::{job, offer, run};
use crate::messages::{OK, packet};
use crate::server::Server;

/// Answers whatever is asked, with a number for each question.
fn obliging() -> Server {
    Server::start(|peer| {
        peer.log_in()?;
        loop {
            if peer.read()?.1 == [1] {
                return Ok(());
            }
            peer.send(&packet(1, OK))?;
        }
    })
}

fn statement(sql: &str, parameters: BTreeMap<String, Parameter>) -> Statement {
    Statement {
        sql: sql.into(),
        parameters,
        repeat: 1,
        protocol: None,
    }
}

fn of_statements(statements: Vec<Statement>) -> Workload {
    Workload {
        statements,
        ..Workload::default()
    }
}

/// N numbers, each an offset of the one before.
fn chain(length: u32) -> Workload {
    let number = Parameter::UniformInt { low: 0, high: 1 };
    let mut parameters = BTreeMap::from([("n0".to_owned(), number)]);
    for place in 1..length {
        let of = format!("n{}", place - 1);
        parameters.insert(format!("n{place}"), Parameter::Offset { of, by: i64::MAX });
    }
    let sql = format!("SELECT {{n{}}}", length - 1);
    of_statements(vec![statement(&sql, parameters)])
}

/// A text of N bytes, put into a statement M times.
fn long_statement(bytes: usize, times: usize) -> Workload {
    let values = vec!["x".repeat(bytes)];
    let parameters = BTreeMap::from([("x".to_owned(), Parameter::OneOf { values })]);
    of_statements(vec![statement(&"{x}".repeat(times), parameters)])
}

/// N transactions on connections of their own, which begin with M statements.
fn opening(transactions: usize, statements: usize) -> Workload {
    let transaction = Transaction {
        weight: u32::MAX,
        bracketed: true,
        parameters: BTreeMap::new(),
        statements: vec![statement("SELECT 1", BTreeMap::new())],
    };
    Workload {
        reconnect: true,
        mix: vec![transaction; transactions],
        on_connect: vec![String::new(); statements],
        ..Workload::default()
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_fields_name() {
    let server = obliging();
    let workload = |workload| Job {
        workload,
        ..job(&server)
    };
    let repeated = |repeat| {
        let once = statement("SELECT 1", BTreeMap::new());
        of_statements(vec![Statement { repeat, ..once }])
    };
    let mut cases = vec![
        (
            "connections",
            Job {
                connections: u32::MAX,
                ..job(&server)
            },
        ),
        (
            "cpus",
            Job {
                cpus: vec![u32::MAX],
                ..job(&server)
            },
        ),
        ("parameters", workload(chain(50_000))),
        ("statements", workload(repeated(u32::MAX))),
        ("mix", workload(opening(30_000, 30_000))),
        ("statements", workload(long_statement(1 << 20, 1 << 20))),
    ];
    for too_long in [1e300, f64::MAX, 1e12, 4e9] {
        let job = || job(&server);
        cases.push((
            "timeout_s",
            Job {
                timeout_s: too_long,
                ..job()
            },
        ));
        cases.push((
            "warmup_s",
            Job {
                warmup_s: too_long,
                ..job()
            },
        ));
        cases.push((
            "duration_s",
            Job {
                duration_s: too_long,
                ..job()
            },
        ));
    }
    for (field, job) in cases {
        let ending = offer(&job);
        let message = ending.fatal(ErrorKind::BadJob, Fault::Job);
        assert!(message.contains(field), "{field}: {message}");
    }
}

#[test]
fn what_is_far_out_and_can_be_is_done() {
    const YEAR_S: f64 = 365.0 * 24.0 * 3600.0;
    let server = obliging();
    let few = Job {
        operations: Some(9),
        ..job(&server)
    };
    run(&Job {
        duration_s: YEAR_S,
        timeout_s: YEAR_S,
        ..few.clone()
    })
    .succeeded();
    run(&Job {
        seed: u64::MAX,
        row_samples: u32::MAX,
        rounds: u32::MAX,
        ..few.clone()
    })
    .succeeded();
    run(&Job {
        operations: Some(u64::MAX),
        ..few
    })
    .succeeded();
}

#[test]
fn the_lowest_and_the_highest_numbers_can_be_drawn() {
    let server = obliging();
    let (lowest, highest) = (i64::MIN, i64::MAX);
    let last = highest - 1;
    let workload = format!(
        r#"{{"statements": [{{"sql": "SELECT {{any}} {{next}} {{less}} {{last}}", "parameters": {{
            "any": {{"kind": "uniform_int", "low": {lowest}, "high": {highest}}},
            "next": {{"kind": "sequence", "first": {lowest}, "last": {highest}}},
            "last": {{"kind": "sequence", "first": {last}, "last": {highest}}},
            "less": {{"kind": "offset", "of": "any", "by": {lowest}}}}}}}]}}"#
    );
    for workload in [serde_json::from_str(&workload).unwrap(), chain(50)] {
        run(&Job {
            workload,
            operations: Some(9),
            ..job(&server)
        })
        .succeeded();
    }
}

#[test]
fn a_rate_at_which_nothing_is_ever_due_starts_nothing() {
    let server = obliging();
    for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
        let ending = run(&Job {
            threads: 3,
            schedule: Schedule::Open {
                rate_per_s: f64::MIN_POSITIVE,
                arrivals,
            },
            ..job(&server)
        });
        let done = ending.result();
        assert_eq!((done.operations, done.scheduled, done.skipped), (0, 0, 0));
    }
}
