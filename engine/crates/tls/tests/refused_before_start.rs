//! A libssl whose file is not the one that was asked for is refused before it is started.
//!
//! A program of its own, so that no other libssl is mapped into it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tlstax_tls::{Library, TlsError};

/// Links a shared library of this code with others of its folder.
fn build(folder: &Path, name: &str, code: &str, others: &[&str]) -> PathBuf {
    fs::write(folder.join("code.c"), code).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .current_dir(folder)
        .args(["-shared", "-fPIC", "-Wl,--no-as-needed", "code.c"])
        .args([&format!("-Wl,-soname,{name}"), "-o", name])
        .args(others);
    assert!(compiler.status().unwrap().success());
    folder.join(name)
}

/// A libssl with every function that is looked up, of which one makes the file `started` when the library is
/// started, and the others do nothing.
fn obedient(folder: &Path, started: &Path) -> PathBuf {
    let version = "const char *OpenSSL_version(int t) { return \"OpenSSL 3.0.0 of no use\"; }\n\
                   unsigned long OpenSSL_version_num(void) { return 0x30000000; }\n";
    build(folder, "libcrypto.so.3", version, &[]);
    let table = include_str!("../src/ffi/symbols.rs").lines();
    let rows = table.filter_map(|line| line.trim().strip_prefix("fn "));
    let names = rows.filter_map(|row| row.split([' ', '(']).next());
    let mut code = "#include <fcntl.h>\n".to_owned();
    for name in names.filter(|name| name.starts_with(char::is_uppercase)) {
        if name != "OPENSSL_init_ssl" {
            writeln!(code, "int {name}(void) {{ return 0; }}").unwrap();
        }
    }
    writeln!(
        code,
        "int OPENSSL_init_ssl(unsigned long options, const void *settings) {{\n\
             return open(\"{}\", O_CREAT | O_WRONLY, 0600) >= 0; }}",
        started.display()
    )
    .unwrap();
    build(folder, "libssl.so.3", &code, &["libcrypto.so.3"])
}

#[test]
fn what_is_refused_was_not_started() {
    let folder = tempfile::tempdir().unwrap();
    // The kernel writes a line's end in a name otherwise (proc(5)): so the file that is mapped has another
    // name than the one that was asked for.
    let strange = folder.path().join("two\nlines");
    fs::create_dir(&strange).unwrap();
    let started = folder.path().join("started");
    let libssl = obedient(&strange, &started);
    let error = Library::load(Some(&libssl)).unwrap_err();
    assert!(
        matches!(error, TlsError::WrongFilesMapped { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("expected"), "{error}");
    assert!(!started.exists(), "it was started, and then refused");
}
