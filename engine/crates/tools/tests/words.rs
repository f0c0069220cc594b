//! The word that says which program is meant, where it says none.

use std::process::Command;

#[test]
fn a_word_that_is_no_program_is_told_which_there_are() {
    for arguments in [&[][..], &["watch"], &["Floor"], &["--help"]] {
        let done = Command::new(env!("CARGO_BIN_EXE_tlstax-tools"))
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(2));
        assert!(done.stdout.is_empty());
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(
            said,
            "usage: tlstax-tools floor, bytes, driver, driver-cost, library-bench, link or flames\n"
        );
    }
}
