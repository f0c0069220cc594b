//! The program against real connections of this test's own: it finds this process, and reads its clock.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

fn watching(client: &str, port: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tlstax-watch"))
        .args([client, port])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

#[test]
fn it_finds_the_process_at_the_servers_end_and_reads_its_clock() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let client = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let _server = listener.accept().expect("its other end");
    let own = client.local_addr().expect("an address").to_string();

    let mut child = watching(&own, &port.to_string());
    let mut questions = child.stdin.take().expect("its input");
    let mut answers = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut next = || answers.next().expect("a line").expect("text");

    let first = next();
    assert!(
        first.starts_with(&format!("watching {} ", std::process::id())),
        "{first}"
    );
    let mut ask = |question: &str| {
        writeln!(questions, "{question}").expect("a question");
        next()
    };
    let before: u64 = ask("clock").parse().expect("nanoseconds");
    let mut sum = 0_u64;
    for number in 0..2_000_000_u64 {
        sum = std::hint::black_box(sum.wrapping_add(number));
    }
    let after: u64 = ask("clock").parse().expect("nanoseconds");
    assert!(after > before, "the clock goes on");
    assert!(ask("memory").parse::<u64>().expect("bytes") > 0);
    assert_eq!(ask("who"), "error: there is no question \"who\"");
    drop(questions);
    assert!(
        child.wait().expect("an end").success(),
        "it ends with its input"
    );
}

#[test]
fn a_connection_that_is_not_there_is_one_sentence() {
    let out = watching("127.0.0.1:1", "1")
        .wait_with_output()
        .expect("an end");
    let said = String::from_utf8(out.stdout).expect("text");
    assert_eq!(
        said,
        "error: this machine has no connection from 127.0.0.1:1 to its port 1\n"
    );
    assert!(!out.status.success());
    let wrong = watching("nowhere", "1").wait_with_output().expect("an end");
    assert!(String::from_utf8_lossy(&wrong.stdout).starts_with("error: usage"));
}
