//! A library alone, as whoever starts it sees it: lines in, lines out, with the machine's own OpenSSL.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The key whose 32 bytes are all 7, in PKCS #8 (RFC 8410): of no use to anybody.
const ED25519_OF_SEVENS: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH\n\
    -----END PRIVATE KEY-----\n";

/// Gives the program these lines, and its standard input's end.
fn run(lines: &[Value]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tlstax-tools"))
        .arg("library-bench")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("it has an input");
    for line in lines {
        writeln!(input, "{line}").expect("it reads");
    }
    drop(input);
    child.wait_with_output().expect("it ends")
}

fn said(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).expect("every line is an object"))
        .collect()
}

/// A certificate that is its own authority, and its key.
fn certificate(directory: &Path, key: &KeyPair) {
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(key).expect("it signs");
    fs::write(directory.join("certificate.pem"), certificate.pem()).expect("it is written");
    fs::write(directory.join("key.pem"), key.serialize_pem()).expect("it is written");
}

fn with_certificate() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    certificate(directory.path(), &KeyPair::generate().expect("a key"));
    directory
}

fn ends(directory: &TempDir, version: &str, cipher: &Value) -> Value {
    let file = |name: &str| directory.path().join(name);
    json!({
        "version": version,
        "cipher": cipher,
        "group": "P-256",
        "ca_file": file("certificate.pem"),
        "certificate_file": file("certificate.pem"),
        "key_file": file("key.pem"),
    })
}

#[test]
fn handshakes_are_made_as_asked_and_cost_both_sides_something() {
    let directory = with_certificate();
    let mut subjects = Vec::new();
    for version in ["1.3", "1.2"] {
        for resumed in [false, true] {
            let ends = ends(&directory, version, &Value::Null);
            subjects.push(json!({"kind": "handshake", "ends": ends, "resumed": resumed, "fresh_context": false}));
        }
    }
    let mut lines = vec![json!({"library": null, "subjects": subjects})];
    lines.extend((0..4).map(|subject| json!({"subject": subject, "operations": 3})));
    let output = run(&lines);
    assert!(output.status.success());
    let said = said(&output);
    assert_eq!(said[0]["type"], "ready");
    for (place, (version, resumed)) in [
        ("TLSv1.3", false),
        ("TLSv1.3", true),
        ("TLSv1.2", false),
        ("TLSv1.2", true),
    ]
    .into_iter()
    .enumerate()
    {
        let ready = &said[0]["subjects"][place]["ready"];
        assert_eq!(ready["version"], version);
        assert_eq!(ready["resumed"], resumed);
        let slice = &said[place + 1];
        assert_eq!(slice["operations"], 3);
        for side in ["client_cpu_us", "server_cpu_us"] {
            assert!(
                slice[side].as_f64().is_some_and(|spent| spent > 0.0),
                "{slice}"
            );
        }
    }
}

#[test]
fn records_go_over_the_cipher_that_was_asked_for() {
    let directory = with_certificate();
    let ends = ends(&directory, "1.3", &json!("TLS_AES_128_GCM_SHA256"));
    let subject = json!({"kind": "record", "ends": ends, "size_bytes": 16384});
    let output = run(&[
        json!({"library": null, "subjects": [subject]}),
        json!({"subject": 0, "length_s": 0.001}),
    ]);
    let said = said(&output);
    assert_eq!(
        said[0]["subjects"][0]["ready"]["cipher"],
        "TLS_AES_128_GCM_SHA256"
    );
    assert!(
        said[1]["operations"]
            .as_u64()
            .is_some_and(|number| number >= 8),
        "{}",
        said[1]
    );
}

#[test]
fn signatures_and_exchanges_have_no_connection() {
    let directory = with_certificate();
    let ed25519 = TempDir::new().expect("a directory");
    fs::write(ed25519.path().join("key.pem"), ED25519_OF_SEVENS).expect("it is written");
    let key = |of: &TempDir| json!({"kind": "signature", "key_file": of.path().join("key.pem")});
    let exchange = |group: &str| json!({"kind": "exchange", "group": group});
    let subjects = [
        key(&directory),
        key(&ed25519),
        exchange("X25519"),
        exchange("P-256"),
    ];
    let mut lines = vec![json!({"library": null, "subjects": subjects})];
    lines.extend((0..4).map(|subject| json!({"subject": subject, "operations": 2})));
    let output = run(&lines);
    assert!(output.status.success(), "{output:?}");
    let said = said(&output);
    assert_eq!(said[0]["subjects"][0]["ready"]["version"], Value::Null);
    for slice in &said[1..] {
        assert!(
            slice["operations"]
                .as_u64()
                .is_some_and(|number| number >= 2),
            "{slice}"
        );
    }
}

#[test]
fn what_a_library_cannot_do_is_refused_with_its_reason_and_the_rest_is_measured() {
    let subjects = [
        json!({"kind": "exchange", "group": "no-such-curve"}),
        json!({"kind": "exchange", "group": "X25519"}),
    ];
    let output = run(&[
        json!({"library": null, "subjects": subjects}),
        json!({"subject": 1, "operations": 1}),
        json!({"subject": 0, "operations": 1}),
    ]);
    let said = said(&output);
    let reason = said[0]["subjects"][0]["refused"]
        .as_str()
        .expect("a reason");
    assert!(reason.starts_with("group: "), "{reason}");
    assert_eq!(said[1]["type"], "slice");
    assert_eq!(said[2]["message"], "there is no subject 0");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_is_not_understood_is_said() {
    for line in [
        json!({"library": null}),
        json!({"library": null, "subjects": [], "more": 1}),
    ] {
        let output = run(&[line]);
        let said = said(&output);
        let message = said[0]["message"].as_str().expect("a message");
        assert!(
            message.starts_with("a line was not understood: "),
            "{message}"
        );
        assert_eq!(output.status.code(), Some(1));
    }
    let output = run(&[json!({"library": "/no/such/libssl.so", "subjects": []})]);
    let said = said(&output);
    assert!(
        said[0]["message"]
            .as_str()
            .is_some_and(|text| text.contains("/no/such/libssl.so"))
    );
}
