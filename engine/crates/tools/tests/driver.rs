//! The host of drivers as the laboratory sees it, with an adapter that has no driver (examples/adapter.rs).

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    events: BufReader<ChildStdout>,
}

impl Host {
    /// Gives it a job with these fields in place of others.
    fn with(changes: &Value) -> Self {
        let tools = PathBuf::from(env!("CARGO_BIN_EXE_tlstax-tools"));
        let adapter = tools.with_file_name("examples").join("adapter");
        let mut child = Command::new(&tools)
            .args(["driver", "fake-1.0"])
            .arg(adapter)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut job = json!({
            "schema": 2, "endpoint": {"kind": "tcp", "host": "localhost", "port": 3306},
            "account": {"user": "u", "password": "horse"}, "tls": {"mode": "off"},
            "workload": {"statements": [{"sql": "SELECT {id}", "parameters": {"id": {"kind": "sequence",
                "first": 1, "last": 1_000_000}}}]},
            "connections": 2, "duration_s": 1, "warmup_s": 0.0, "seed": 1, "row_samples": 2, "timeout_s": 2,
        });
        for (field, value) in changes.as_object().unwrap() {
            job[field] = value.clone();
        }
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{job}").unwrap();
        let events = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            stdin: Some(stdin),
            events,
        }
    }

    fn say(&mut self, order: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{order}").unwrap();
    }

    /// The next event, those of progress left out.
    fn event(&mut self) -> Value {
        loop {
            let mut line = String::new();
            self.events.read_line(&mut line).unwrap();
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            if event["event"] != "interval" {
                return event;
            }
        }
    }

    fn expect(&mut self, kind: &str) -> Value {
        let event = self.event();
        assert_eq!(event["event"], kind, "{event}");
        event
    }

    /// The result after slices of these lengths, and what they add up to.
    fn measure(&mut self, lengths_s: &[f64]) -> (Value, Vec<Value>) {
        let mut slices = Vec::new();
        for length_s in lengths_s {
            self.say(&format!("go {length_s}"));
            slices.push(self.expect("slice"));
        }
        self.say("end");
        (self.expect("done"), slices)
    }

    /// Hangs up; its status.
    fn end(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().unwrap().code()
    }
}

fn options(words: &Value) -> Value {
    json!({"driver": {"options": words}})
}

fn sum(slices: &[Value], field: &str) -> u64 {
    slices
        .iter()
        .map(|slice| slice[field].as_u64().unwrap())
        .sum()
}

#[test]
fn slices_add_up_and_each_number_is_handed_out_once() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut host = Host::with(&options(&json!({"log": log.path()})));
    let ready = host.expect("ready");
    assert_eq!(ready["client"], "fake-1.0");
    assert_eq!(ready["negotiated"][0]["connections"], 2);
    assert_eq!(ready["negotiated"][0]["client_tells"], true);
    let (done, slices) = host.measure(&[0.03, 0.06, 0.03]);
    let operations = done["operations"].as_u64().unwrap();
    assert!(operations > 0);
    assert_eq!(sum(&slices, "operations"), operations);
    assert_eq!(done["scheduled"], operations);
    assert_eq!(done["lifetime"]["connections"], 2);
    assert_eq!(done["window"]["connections"], 0);
    assert_eq!(
        done["row_samples"][0],
        json!({"sql": "SELECT 1", "rows": [["1", null]]})
    );
    assert_eq!(host.end(), Some(0));
    let ran = std::fs::read_to_string(log.path()).unwrap();
    let mut ran: Vec<&str> = ran.lines().collect();
    let before = ran.len();
    ran.sort_unstable();
    ran.dedup();
    assert_eq!((ran.len(), before as u64), (before, operations));
}

#[test]
fn no_more_operations_are_done_than_the_job_has() {
    let mut host = Host::with(&json!({"operations": 7, "warmup_s": 0.05}));
    host.expect("ready");
    let (done, slices) = host.measure(&[1.0, 0.02]);
    assert_eq!(
        (&done["operations"], &done["scheduled"]),
        (&json!(7), &json!(7))
    );
    assert_eq!(slices[1]["operations"], 0);
    assert_eq!(slices[1]["elapsed_s"], 0.02);
}

#[test]
fn a_sequence_that_ends_ends_the_work() {
    let sequence = json!({"kind": "sequence", "first": 1, "last": 9});
    let workload = json!({"statements": [{"sql": "INSERT {id}", "parameters": {"id": sequence}}]});
    let mut host = Host::with(&json!({"workload": workload}));
    host.expect("ready");
    let (done, _) = host.measure(&[5.0]);
    assert_eq!(done["operations"], 9);
    assert_eq!(done["row_samples"], json!([]));
}

#[test]
fn connections_that_are_opened_anew_are_counted_and_timed() {
    let workload =
        json!({"reconnect": true, "statements": [{"sql": "SELECT 1"}, {"sql": "SELECT 2"}]});
    let mut host = Host::with(&json!({"workload": workload, "operations": 6}));
    host.expect("ready");
    let (done, slices) = host.measure(&[2.0]);
    assert_eq!(done["window"]["connections"], 6);
    assert_eq!(slices[0]["counts"]["connections"], 6);
    assert_eq!(done["lifetime"]["connections"], 8);
    let phases = done["histograms_ns"].as_object().unwrap().keys();
    assert_eq!(
        phases.collect::<Vec<_>>(),
        ["close", "connect", "first_query", "operation", "query"]
    );
}

#[test]
fn what_fails_now_and_then_is_counted_and_told_once_without_the_password() {
    let mut host = Host::with(&options(&json!({"fails": "3"})));
    host.expect("ready");
    host.say("go 0.1");
    let told = host.expect("error");
    assert_eq!(told["message"], "fake-1.0 says: no, (the password)");
    assert_eq!(told["fatal"], false);
    let slice = host.expect("slice");
    host.say("end");
    let done = host.expect("done");
    assert_eq!(done["operations"], slice["operations"]);
    let errors = done["errors"][0]["count"].as_u64().unwrap();
    assert_eq!(done["errors"][0]["code"], 1213);
    assert_eq!(
        done["scheduled"].as_u64().unwrap(),
        done["operations"].as_u64().unwrap() + errors
    );
}

#[test]
fn a_hundred_failures_in_a_row_end_the_job() {
    let mut host = Host::with(&options(&json!({"fails": "1"})));
    host.expect("ready");
    host.say("go 5");
    let told = host.expect("error");
    assert_eq!(
        (&told["fatal"], &told["kind"]),
        (&json!(true), &json!("server_error"))
    );
    assert_eq!(host.end(), Some(1));
}

#[test]
fn a_call_that_hangs_is_a_timeout_and_its_adapter_is_ended() {
    let mut host = Host::with(&json!({"timeout_s": 0.3, "driver": {"options": {"hangs": "3"}}}));
    let pid = host.expect("ready")["pid"].as_u64().unwrap();
    host.say("go 0.05");
    let told = host.expect("error");
    assert_eq!(
        (&told["kind"], &told["fatal"]),
        (&json!("timeout"), &json!(true))
    );
    assert_eq!(host.end(), Some(1));
    assert!(!PathBuf::from(format!("/proc/{pid}")).exists());
}

#[test]
fn an_adapter_that_dies_is_told_of() {
    let mut host = Host::with(&options(&json!({"dies": "2"})));
    host.expect("ready");
    host.say("go 0.5");
    let told = host.expect("error");
    assert_eq!(
        told["message"],
        "the adapter of fake-1.0 ended with status 7"
    );
    assert_eq!(told["kind"], "internal");
}

#[test]
fn what_is_not_taken_is_refused_before_anything_is_opened() {
    let mut host = Host::with(&json!({"driver": {"batch": 10}}));
    assert_eq!(host.expect("error")["kind"], "bad_job");
    assert_eq!(host.end(), Some(1));
}

#[test]
fn a_warm_up_lasts_until_it_is_steady() {
    let terms = json!({"steady_within_s": 20.0});
    let mut host = Host::with(&json!({"driver": terms, "connections": 1}));
    let ready = host.expect("ready");
    assert!(ready["warmup"].as_array().unwrap().len() >= 10);
    assert!(ready["steady"].is_boolean());
}

#[test]
fn the_end_of_input_ends_both_at_once() {
    let mut host = Host::with(&json!({}));
    let pid = host.expect("ready")["pid"].as_u64().unwrap();
    host.say("go 60");
    assert_eq!(host.end(), Some(1));
    let status = PathBuf::from(format!("/proc/{pid}"));
    for _ in 0..200 {
        if !status.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("the adapter lives on");
}
