//! Files that are not a fit libssl: each refusal says which file and what is wrong with it.
//!
//! A program of its own, so that no test meets a libssl that another has loaded.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tlstax_tls::{Library, TlsError};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The sentence about a library that must be refused.
fn refusal(path: &Path) -> String {
    let sentence = Library::load(Some(path)).unwrap_err().to_string();
    assert!(sentence.contains(path.to_str().unwrap()), "{sentence}");
    sentence
}

/// Builds a shared library from C code, as the linker that built this test can.
fn build(code: &str, library: &Path) {
    let source = library.with_extension("c");
    fs::write(&source, code).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(library)
        .arg(&source);
    assert!(compiler.status().unwrap().success());
}

/// A libssl and a libcrypto that claim this version.
fn claiming(folder: &Path, text: &str, number: &str) -> PathBuf {
    let code = format!(
        "const char *OpenSSL_version(int t) {{ return \"{text}\"; }}\n\
         unsigned long OpenSSL_version_num(void) {{ return {number}; }}\n"
    );
    let libssl = folder.join("libssl.so.3");
    build(&code, &libssl);
    build("int nothing;\n", &folder.join("libcrypto.so.3"));
    libssl
}

#[test]
fn a_missing_file_is_refused() {
    let sentence = refusal(&folder().path().join("libssl.so.3"));
    assert!(sentence.contains("No such file"), "{sentence}");
}

#[test]
fn a_folder_without_a_libssl_is_refused() {
    let sentence = refusal(folder().path());
    assert!(sentence.contains("libssl.so.3"), "{sentence}");
}

#[test]
fn a_text_file_is_refused() {
    let folder = folder();
    for content in ["", "not a library, but long enough to hold a header"] {
        let path = folder.path().join("libssl.so.3");
        fs::write(&path, content).unwrap();
        let sentence = refusal(&path);
        assert!(
            sentence.ends_with("it is not a shared library"),
            "{sentence}"
        );
    }
}

#[test]
fn a_library_for_another_machine_is_refused() {
    let folder = folder();
    let mut content = fs::read(env::current_exe().unwrap()).unwrap();
    content[18] ^= 0xff;
    let path = folder.path().join("libssl.so.3");
    fs::write(&path, content).unwrap();
    let sentence = refusal(&path);
    assert!(
        sentence.ends_with("it is built for another kind of machine"),
        "{sentence}"
    );
}

#[test]
fn a_library_that_is_cut_short_is_refused() {
    let folder = folder();
    let content = fs::read(env::current_exe().unwrap()).unwrap();
    for name in ["libssl.so.3", "libcrypto.so.3"] {
        fs::write(folder.path().join(name), &content[..40]).unwrap();
    }
    let sentence = refusal(&folder.path().join("libssl.so.3"));
    assert!(sentence.contains("too short"), "{sentence}");
}

#[test]
fn a_libssl_without_its_libcrypto_is_refused() {
    let folder = folder();
    let path = folder.path().join("libssl.so.3");
    build("int nothing;\n", &path);
    let sentence = refusal(&path);
    assert!(
        sentence.contains("libcrypto.so.3, is missing"),
        "{sentence}"
    );
}

#[test]
fn a_file_of_another_name_is_refused() {
    let folder = folder();
    let path = folder.path().join("libtls.so.3");
    build("int nothing;\n", &path);
    let sentence = refusal(&path);
    assert!(
        sentence.contains("does not begin with libssl"),
        "{sentence}"
    );
}

#[test]
fn another_library_is_not_openssl() {
    let folder = folder();
    for name in ["libssl.so.3", "libcrypto.so.3"] {
        build("int nothing;\n", &folder.path().join(name));
    }
    let error = Library::load(Some(folder.path())).unwrap_err();
    assert!(matches!(error, TlsError::NotOpenSsl { .. }), "{error:?}");
}

#[test]
fn forks_of_openssl_are_told_by_what_they_call_themselves() {
    for (text, number) in [
        ("LibreSSL 3.8.2", "0x20000000"),
        ("OpenSSL 1.1.1 (compatible; BoringSSL)", "0x1010107f"),
    ] {
        let folder = folder();
        let path = claiming(folder.path(), text, number);
        let error = Library::load(Some(&path)).unwrap_err();
        assert!(matches!(error, TlsError::NotOpenSsl { .. }), "{error:?}");
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn versions_before_1_1_1_are_too_old() {
    for (text, number, version) in [
        ("OpenSSL 1.1.0l  10 Sep 2019", "0x101000cf", "1.1.0"),
        ("OpenSSL 1.0.2u  20 Dec 2019", "0x1000215f", "1.0.2"),
    ] {
        let folder = folder();
        let path = claiming(folder.path(), text, number);
        let error = Library::load(Some(&path)).unwrap_err();
        assert!(matches!(error, TlsError::TooOld { .. }), "{error:?}");
        let end = format!("is OpenSSL {version}; 1.1.1 or newer is needed");
        assert!(error.to_string().ends_with(&end), "{error}");
    }
}

/// In a process of its own, where this variable is set: the path of the machine's libssl.
const ASKED_FOR_PATH: &str = "TLSTAX_TEST_ASKED_FOR_PATH";

#[test]
fn a_libssl_that_gets_another_libcrypto_than_the_one_beside_it_is_refused() {
    if env::var_os(ASKED_FOR_PATH).is_some() {
        println!("\n{}", Library::load(None).unwrap().libssl_path().display());
        return;
    }
    let test = "a_libssl_that_gets_another_libcrypto_than_the_one_beside_it_is_refused";
    let mut asked = Command::new(env::current_exe().unwrap());
    asked
        .args(["--exact", test, "--nocapture"])
        .env(ASKED_FOR_PATH, "1");
    let answer = String::from_utf8(asked.output().unwrap().stdout).unwrap();
    let machine = answer
        .lines()
        .find(|line| line.contains("/libssl.so"))
        .expect(&answer);
    let machine = Path::new(machine);

    let folder = folder();
    let name = machine.file_name().unwrap().to_str().unwrap();
    fs::copy(machine, folder.path().join(name)).unwrap();
    // Without a soname it does not satisfy libssl, for which the linker then takes the machine's.
    build(
        "int nothing;\n",
        &folder.path().join(name.replace("libssl", "libcrypto")),
    );
    let error = Library::load(Some(folder.path())).unwrap_err();
    assert!(
        matches!(error, TlsError::WrongFilesMapped { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("libcrypto.so"), "{error}");
}
