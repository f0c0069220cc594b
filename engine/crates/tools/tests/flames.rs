//! Flame graphs as the laboratory starts it: lines in, a picture or one sentence out.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tlstax-tools"))
        .arg("flames")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments need not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn lines_become_a_picture() {
    let done = run(
        &["--title", "Where it goes"],
        b"main [p];f [libssl.so.3] 5\n",
    );
    let svg = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success() && done.stderr.is_empty());
    assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("Where it goes") && svg.contains("f [libssl.so.3] (5 ns per operation"));
}

#[test]
fn a_name_that_is_no_text_is_drawn_all_the_same() {
    let done = run(&[], b"f\xff\xfe\x00 [p] 5\n");
    assert!(done.status.success());
    assert!(String::from_utf8(done.stdout).unwrap().contains('\u{fffd}'));
}

#[test]
fn what_cannot_be_drawn_is_told_in_one_sentence() {
    for (arguments, input, said) in [
        (&[][..], &b""[..], "nothing to draw"),
        (&[], b"no count\n", "line 1 is not a stack and a count"),
        (
            &["--differential"],
            b"a [p] 5\n",
            "line 1 is not a stack and two counts",
        ),
        (&["--flames"], b"a [p] 5\n", "--flames"),
    ] {
        let done = run(arguments, input);
        let sentence = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2));
        assert!(done.stdout.is_empty());
        assert!(
            sentence.starts_with("tlstax-tools flames: ") && sentence.contains(said),
            "{sentence}"
        );
        assert_eq!(sentence.lines().count(), 1);
    }
}
