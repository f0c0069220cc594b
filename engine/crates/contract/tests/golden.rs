//! The golden examples of `contract/examples`, which every implementation of the contract reads.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tlstax_contract::{Event, Job, JobError};

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

fn refusal(change: impl FnOnce(&mut Value)) -> String {
    let (_, text) = examples("job-").remove(0);
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
    let threads = refusal(|job| job["threads"] = 1_000_000.into());
    assert!(threads.contains("threads must be"), "{threads}");
    let schema = refusal(|job| job["schema"] = 2.into());
    assert!(schema.contains("schema must be 1"), "{schema}");
    let tls = refusal(|job| job["tls"] = serde_json::json!({"mode": "on", "verfy": "ca"}));
    assert!(tls.contains("verfy"), "{tls}");
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
