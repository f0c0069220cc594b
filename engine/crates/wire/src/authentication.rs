//! What a client answers to prove that it knows the password, for each authentication plugin.

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::greeting::SCRAMBLE_LEN;

pub(crate) type Scramble = [u8; SCRAMBLE_LEN];

/// `mysql_native_password`: `SHA1(password) XOR SHA1(scramble + SHA1(SHA1(password)))`.
///
/// Source: MySQL source documentation, "Native Authentication".
pub(crate) fn native_answer(password: &[u8], scramble: &Scramble) -> [u8; 20] {
    let stage1: [u8; 20] = Sha1::digest(password).into();
    let stage2 = Sha1::digest(stage1);
    let mask = Sha1::new()
        .chain_update(scramble)
        .chain_update(stage2)
        .finalize();
    xor(stage1, &mask)
}

/// `caching_sha2_password`: `SHA256(password) XOR SHA256(SHA256(SHA256(password)) + scramble)`.
///
/// Source: MySQL source documentation, "`caching_sha2_password` information".
pub(crate) fn caching_sha2_answer(password: &[u8], scramble: &Scramble) -> [u8; 32] {
    let stage1: [u8; 32] = Sha256::digest(password).into();
    let mask = Sha256::new()
        .chain_update(Sha256::digest(stage1))
        .chain_update(scramble)
        .finalize();
    xor(stage1, &mask)
}

/// The password with its NUL, masked by the scramble over and over: what is encrypted with the
/// server's RSA key where the channel is not secure. Replaces what is in `out`.
pub(crate) fn mask_password(out: &mut Vec<u8>, password: &[u8], scramble: &Scramble) {
    out.clear();
    let with_nul = password.iter().chain(&[0]);
    out.extend(
        with_nul
            .zip(scramble.iter().cycle())
            .map(|(byte, mask)| byte ^ mask),
    );
}

fn xor<const N: usize>(mut bytes: [u8; N], mask: &[u8]) -> [u8; N] {
    for (byte, mask) in bytes.iter_mut().zip(mask) {
        *byte ^= mask;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRAMBLE: Scramble = *b"abcdefghijklmnopqrst";

    /// Values computed with `PyMySQL` 1.1 (its module `_auth`).
    #[test]
    fn answers_equal_another_implementation() {
        let native = native_answer(b"correct horse", &SCRAMBLE);
        assert_eq!(hex(&native), "f818c19fe633b29679484354514737c5394f4954");
        let sha2 = caching_sha2_answer(b"correct horse", &SCRAMBLE);
        assert_eq!(
            hex(&sha2),
            "9eabc426d7dd6ecb6209bc003cb14acd5ef6538f68ad9868137da9325a5e6928"
        );
        let mut masked = b"left over".to_vec();
        mask_password(&mut masked, b"correct horse battery staple", &SCRAMBLE);
        let expected = "020d1116000513480105191f084e0d11050616061842101004160b0d69";
        assert_eq!(hex(&masked), expected);
    }

    fn hex(bytes: &[u8]) -> String {
        bytes
            .iter()
            .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }
}
