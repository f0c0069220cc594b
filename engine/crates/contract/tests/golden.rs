//! The golden examples of `contract/examples`, which every implementation of the contract reads.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tlstax_contract::{Event, Job, JobError, Order, OrderError, Workload};

fn examples(kind: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../contract/examples");
    let mut found: Vec<_> = fs::read_dir(&folder)
        .expect("the folder of golden examples")
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with(kind))
        })
        .map(|path| {
            (
                path.display().to_string(),
                fs::read_to_string(&path).expect("an example"),
            )
        })
        .collect();
    found.sort();
    assert!(
        !found.is_empty(),
        "no example of kind {kind} in {}",
        folder.display()
    );
    found
}

#[test]
fn every_golden_job_is_accepted_and_means_the_same_when_written_again() {
    for (path, text) in examples("job-") {
        let job = Job::from_json(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let written = serde_json::to_string(&job).expect("a job can be written");
        assert_eq!(Job::from_json(&written).as_ref(), Ok(&job), "{path}");
    }
}

#[test]
fn every_golden_event_is_understood_and_written_back_as_it_was() {
    for (path, text) in examples("event-") {
        let event: Event =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let written = serde_json::to_value(&event).expect("an event can be written");
        let golden: Value = serde_json::from_str(&text).expect("an example is JSON");
        assert_eq!(written, golden, "{path}");
    }
}

#[test]
fn what_most_clients_do_not_know_is_left_out_where_it_is_not_asked() {
    for (path, text) in examples("job-") {
        let job = Job::from_json(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let written = serde_json::to_value(&job).expect("a job can be written");
        let asks = |field: &str| match field {
            "lingering" => path.ends_with("job-lingering.json"),
            "server" => path.ends_with("job-postgresql.json"),
            _ => path.ends_with("job-full-load.json"),
        };
        for field in ["full_load", "measure_overhead", "lingering", "server"] {
            assert_eq!(written.get(field).is_some(), asks(field), "{path}: {field}");
        }
    }
}

fn refusal(change: impl FnOnce(&mut Value)) -> String {
    let (_, text) = examples("job-mix").remove(0);
    let mut job: Value = serde_json::from_str(&text).expect("an example is JSON");
    change(&mut job);
    Job::from_json(&job.to_string())
        .expect_err("the job is bad")
        .to_string()
}

#[test]
fn a_bad_job_is_refused_with_the_fields_name() {
    let unknown = refusal(|job| job["colour"] = "blue".into());
    assert!(unknown.contains("colour"), "{unknown}");
    let wrong = refusal(|job| job["connections"] = "eight".into());
    assert!(wrong.contains("connections"), "{wrong}");
    let nested = refusal(|job| job["endpoint"]["port"] = 70_000.into());
    assert!(
        nested.contains("endpoint") && nested.contains("70000"),
        "{nested}"
    );
    let zero = refusal(|job| job["duration_s"] = 0.into());
    assert!(zero.contains("duration_s must be more than 0"), "{zero}");
    let endless = refusal(|job| job["timeout_s"] = 1e300.into());
    assert!(
        endless.contains("timeout_s must be more than 0 and at most a year"),
        "{endless}"
    );
    let threads = refusal(|job| job["threads"] = 1_000_000.into());
    assert!(threads.contains("threads must be"), "{threads}");
    for other in [1, 3] {
        let schema = refusal(|job| job["schema"] = other.into());
        assert!(schema.contains("schema must be 2"), "{schema}");
    }
    let tls = refusal(|job| job["tls"] = serde_json::json!({"mode": "on", "verfy": "ca"}));
    assert!(tls.contains("verfy"), "{tls}");
}

/// One of the numbers that a reader which rounds twice gets wrong.
#[test]
fn a_time_is_read_as_it_was_written() {
    let (_, text) = examples("job-mix").remove(0);
    let mut job: Value = serde_json::from_str(&text).expect("an example is JSON");
    let duration_s = 15.092_233_000_005_871;
    job["duration_s"] = duration_s.into();
    let read = Job::from_json(&job.to_string()).expect("the job is good");
    assert_eq!(read.duration_s.to_bits(), f64::to_bits(duration_s));
}

#[test]
fn what_is_not_json_is_refused_too() {
    assert!(matches!(Job::from_json("go"), Err(JobError::Shape { .. })));
    assert!(matches!(Job::from_json(""), Err(JobError::Shape { .. })));
}

#[test]
fn no_log_can_show_the_password() {
    let (_, text) = examples("job-").remove(0);
    let mut job: Value = serde_json::from_str(&text).expect("an example is JSON");
    job["account"]["password"] = "open sesame".into();
    let job = Job::from_json(&job.to_string()).expect("the job is good");
    assert!(!format!("{job:?}").contains("open sesame"));
}

/// A job with this workload.
fn refused_workload(workload: Value) -> String {
    refusal(|job| job["workload"] = workload)
}

/// A job with one statement that has this parameter.
fn refused_parameter(parameter: &Value) -> String {
    let parameters = json!({"x": parameter, "word": {"kind": "one_of", "values": ["a"]}});
    refused_workload(json!({"statements": [{"sql": "SELECT {x}", "parameters": parameters}]}))
}

#[test]
fn a_workload_has_one_form_and_something_to_do() {
    let statement = json!({"sql": "SELECT 1"});
    let both = json!({"statements": [statement], "mix": [{"statements": [statement]}]});
    for none_or_both in [json!({}), both] {
        let said = refused_workload(none_or_both);
        assert!(
            said.contains("workload must be either statements or a mix"),
            "{said}"
        );
    }
    let storm = refused_workload(json!({"storm": true, "statements": [statement]}));
    assert!(storm.contains("or a storm"), "{storm}");
    let empty = refused_workload(json!({"mix": [{"statements": [statement]}, {"statements": []}]}));
    assert!(
        empty.contains("workload.mix[1].statements must be one or more"),
        "{empty}"
    );
    let never = refused_workload(json!({"mix": [{"weight": 0, "statements": [statement]}]}));
    assert!(
        never.contains("workload.mix[0].weight must be at least 1"),
        "{never}"
    );
    let repeat = refused_workload(json!({"statements": [{"sql": "SELECT 1", "repeat": 0}]}));
    assert!(
        repeat.contains("workload.statements[0].repeat must be at least 1"),
        "{repeat}"
    );
    let operations = refusal(|job| job["operations"] = 0.into());
    assert!(
        operations.contains("operations must be at least 1"),
        "{operations}"
    );
    let rounds = refusal(|job| job["rounds"] = 0.into());
    assert!(rounds.contains("rounds must be at least 1"), "{rounds}");
}

#[test]
fn a_storm_has_as_many_operations_as_its_rounds_have_connections_and_no_rounds_in_an_open_loop() {
    let storm = |change: fn(&mut Value)| {
        refusal(|job| {
            job["workload"] = json!({"storm": true});
            job["connections"] = 40.into();
            job["rounds"] = 10.into();
            job["operations"] = 400.into();
            change(job);
        })
    };
    let fewer = storm(|job| job["operations"] = 399.into());
    assert!(
        fewer.contains("operations must be rounds times connections"),
        "{fewer}"
    );
    let rounds = storm(|job| job["schedule"] = json!({"mode": "open", "rate_per_s": 10}));
    assert!(
        rounds.contains("rounds must be 1 in a storm in an open loop"),
        "{rounds}"
    );
}

#[test]
fn a_parameter_that_cannot_have_a_value_is_refused_by_its_name() {
    for (parameter, expected) in [
        (
            json!({"kind": "uniform_int", "low": 2, "high": 1}),
            "low not above high",
        ),
        (
            json!({"kind": "sequence", "first": 2, "last": 1}),
            "first not above last",
        ),
        (
            json!({"kind": "digits", "template": ""}),
            "template that is not empty",
        ),
        (
            json!({"kind": "one_of", "values": []}),
            "one or more values",
        ),
        (
            json!({"kind": "offset", "of": "y", "by": 1}),
            "an offset of another parameter",
        ),
        (
            json!({"kind": "offset", "of": "x", "by": 1}),
            "an offset of another parameter",
        ),
        (
            json!({"kind": "offset", "of": "word", "by": 1}),
            "that is a number",
        ),
    ] {
        let said = refused_parameter(&parameter);
        assert!(
            said.contains("workload.statements[0].parameters.x must be"),
            "{said}"
        );
        assert!(said.contains(expected), "{said}");
    }
    let unheard_of = refused_parameter(&json!({"kind": "zipf"}));
    assert!(unheard_of.contains("zipf"), "{unheard_of}");
}

#[test]
fn an_offset_may_be_of_what_the_transaction_shares_but_not_the_other_way_round() {
    let offset = json!({"high": {"kind": "offset", "of": "id", "by": 99}});
    let id = json!({"id": {"kind": "sequence", "first": 1, "last": 9}});
    let mix = |shared: &Value, own: &Value| {
        let statement = json!({"sql": "SELECT {id}, {high}", "parameters": own});
        json!({"mix": [{"parameters": shared, "statements": [statement]}]})
    };
    let (_, text) = examples("job-").remove(0);
    let mut job: Value = serde_json::from_str(&text).expect("an example is JSON");
    job["workload"] = mix(&id, &offset);
    assert!(Job::from_json(&job.to_string()).is_ok());
    let said = refused_workload(mix(&offset, &id));
    assert!(
        said.contains("workload.mix[0].parameters.high must be"),
        "{said}"
    );
}

#[test]
fn a_workload_only_reads_if_every_statement_is_a_select() {
    let only_reads = |statements: &[&str]| {
        let all: Vec<Value> = statements.iter().map(|sql| json!({"sql": sql})).collect();
        let mix = json!({"mix": [{"bracketed": true, "statements": all}]});
        serde_json::from_value::<Workload>(mix)
            .expect("a workload")
            .only_reads()
    };
    assert!(only_reads(&["SELECT 1", " select 2"]));
    assert!(!only_reads(&["SELECT 1", "DELETE FROM t"]));
    assert!(!only_reads(&["SEL\u{e9}CT"]));
}

#[test]
fn a_server_of_another_kind_is_refused_by_its_name() {
    let kind = refusal(|job| job["server"] = json!({"kind": "oracle"}));
    assert!(kind.contains("server") && kind.contains("oracle"), "{kind}");
    let postgresql = |terms: Value| {
        refusal(|job| {
            job["server"] = json!({"kind": "postgresql"});
            let all = terms.as_object().expect("terms").clone();
            job["server"].as_object_mut().expect("a server").extend(all);
        })
    };
    let method = postgresql(json!({"require_auth": ["gss"]}));
    assert!(method.contains("gss"), "{method}");
    let mode = postgresql(json!({"ssl_negotiation": "late"}));
    assert!(mode.contains("late"), "{mode}");
    let foreign = refusal(|job| job["server"] = json!({"kind": "mysql", "require_auth": []}));
    assert!(foreign.contains("require_auth"), "{foreign}");
}

#[test]
fn an_order_is_a_length_or_the_end_and_other_lines_mean_nothing() {
    for (line, expected) in [
        ("go 0.02\n", Some(Order::Slice(0.02))),
        ("go 5\r\n", Some(Order::Slice(5.0))),
        ("go 1e-3", Some(Order::Slice(0.001))),
        ("go 31536000", Some(Order::Slice(31_536_000.0))),
        ("end\n", Some(Order::End)),
        ("\n", None),
        ("", None),
        ("gone 1", None),
        ("{}", None),
    ] {
        assert_eq!(Order::from_line(line), Ok(expected), "{line:?}");
    }
}

#[test]
fn a_go_whose_number_is_no_length_is_refused() {
    for number in [
        "", "0", "-1", "-0", "inf", "nan", "NaN", "1e300", "31536001", "soon", "1 2", "0,5",
    ] {
        let line = format!("go {number}\n");
        assert_eq!(Order::from_line(&line), Err(OrderError), "{line:?}");
    }
}
