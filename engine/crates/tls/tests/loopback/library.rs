//! The library that was loaded says what it is, and encrypts for the owner of an RSA key.

use std::env;
use std::path::Path;
use std::process::Command;

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use tlstax_tls::{Config, Library, TlsError};

use crate::certificates::Authority;
use crate::client::{connect, context, library};
use crate::server::Server;

#[test]
fn the_report_names_files_that_are_mapped_into_this_process() {
    let library = library();
    let version = library.version().to_string();
    assert!(library.version_text().contains(&version), "{library:?}");
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for (path, name) in [
        (library.libssl_path(), "libssl"),
        (library.libcrypto_path(), "libcrypto"),
    ] {
        assert!(maps.contains(path.to_str().unwrap()));
        assert!(
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(name)
        );
    }
}

#[test]
fn the_same_library_can_be_asked_for_again_by_path() {
    let library = library();
    let again = Library::load(Some(library.libssl_path())).unwrap();
    assert_eq!(again.libcrypto_path(), library.libcrypto_path());
}

#[test]
fn a_second_library_is_refused_by_both_names() {
    let library = library();
    let folder = tempfile::tempdir().unwrap();
    for file in [library.libssl_path(), library.libcrypto_path()] {
        std::fs::copy(file, folder.path().join(file.file_name().unwrap())).unwrap();
    }
    let copy = folder
        .path()
        .join(library.libssl_path().file_name().unwrap());
    let error = Library::load(Some(&copy)).unwrap_err();
    assert!(
        matches!(error, TlsError::OtherLibraryInUse { .. }),
        "{error:?}"
    );
    let sentence = error.to_string();
    for file in [library.libssl_path(), Path::new(copy.file_name().unwrap())] {
        assert!(sentence.contains(file.to_str().unwrap()), "{sentence}");
    }
}

#[test]
fn what_is_encrypted_for_an_rsa_key_can_be_decrypted_with_it() {
    let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
    let plaintext = b"a password, scrambled\0";
    let pem = key.public_key_pem();
    let ciphertext = library()
        .encrypt_rsa_oaep(pem.as_bytes(), plaintext)
        .unwrap();
    let private = PrivateDecryptingKey::from_pkcs8(&key.serialize_der()).unwrap();
    let private = OaepPrivateDecryptingKey::new(private).unwrap();
    let mut output = vec![0; private.min_output_size()];
    let decrypted = private
        .decrypt(&OAEP_SHA1_MGF1SHA1, &ciphertext, &mut output, None)
        .unwrap();
    assert_eq!(decrypted, plaintext);
    let again = library()
        .encrypt_rsa_oaep(pem.as_bytes(), plaintext)
        .unwrap();
    assert_ne!(again, ciphertext, "OAEP is randomised");
}

#[test]
fn keys_that_cannot_encrypt_are_refused() {
    let elliptic = KeyPair::generate().unwrap().public_key_pem();
    let encrypted = "-----BEGIN PUBLIC KEY-----\nProc-Type: 4,ENCRYPTED\n\
                     DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAA\n\
                     -----END PUBLIC KEY-----\n";
    for pem in ["", "garbage", elliptic.as_str(), encrypted] {
        let error = library()
            .encrypt_rsa_oaep(pem.as_bytes(), b"secret")
            .unwrap_err();
        assert!(matches!(error, TlsError::Library { .. }), "{error:?}");
    }
}

#[test]
fn more_than_fits_in_the_key_is_refused() {
    let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
    let pem = key.public_key_pem();
    let error = library()
        .encrypt_rsa_oaep(pem.as_bytes(), &[7; 300])
        .unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
}

/// In a process of its own, where this variable is set: the version that must be negotiated.
const EXPECTED_VERSION: &str = "TLSTAX_TEST_EXPECTED_VERSION";

#[test]
fn a_configuration_file_counts_only_when_the_environment_names_it() {
    let authority = Authority::new();
    if let Ok(expected) = env::var(EXPECTED_VERSION) {
        let server = Server::plain(&authority);
        let client = connect(server.address, &context(&Config::default()), None, None).unwrap();
        assert_eq!(client.negotiated().unwrap().version, expected);
        return;
    }
    let file = "openssl_conf = init\n[init]\nssl_conf = ssl\n[ssl]\nsystem_default = defaults\n\
                [defaults]\nMaxProtocol = TLSv1.2\n";
    let file = authority.write("openssl.cnf", file);
    for (file, expected) in [(file.to_str().unwrap(), "TLSv1.2"), ("", "TLSv1.3")] {
        let test = "library::a_configuration_file_counts_only_when_the_environment_names_it";
        let mut process = Command::new(env::current_exe().unwrap());
        process
            .args(["--exact", test])
            .env("OPENSSL_CONF", file)
            .env(EXPECTED_VERSION, expected);
        let output = process.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("1 passed"),
            "{output:?}"
        );
    }
}
