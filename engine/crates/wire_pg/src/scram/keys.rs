//! What SCRAM makes of a password: the one thing in a login that costs the client more than the server.

use std::fmt;

use hmac::{Hmac, Mac};
use pbkdf2::pbkdf2_hmac_array;
use sha2::{Digest, Sha256};

pub(crate) type Hash = [u8; 32];

/// As many accounts as are kept; the oldest makes room.
const MOST_KEPT: usize = 16;

/// Whether a login's password hash was computed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyUse {
    /// It was, with all its iterations.
    Computed,
    /// It was kept from a login before.
    Kept,
}

/// The keys that follow from a password, a salt and a number of iterations (RFC 5802 section 3).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) client: Hash,
    pub(crate) stored: Hash,
    pub(crate) server: Hash,
}

impl Keys {
    fn derive(password: &[u8], salt: &[u8], iterations: u32) -> Self {
        let salted: Hash = pbkdf2_hmac_array::<Sha256, 32>(password, salt, iterations);
        let client = hmac(&salted, b"Client Key");
        Self {
            client,
            stored: Sha256::digest(client).into(),
            server: hmac(&salted, b"Server Key"),
        }
    }
}

struct Entry {
    password: Vec<u8>,
    salt: Vec<u8>,
    iterations: u32,
    keys: Keys,
}

/// Passwords hashed for SCRAM, to be handed to [`crate::Login::feed`].
///
/// A server looks its verifier up; the client hashes the password 4096 times and more at every login, which would
/// make the client the thing that is measured. An application's pool of connections pays that each time as well, so
/// both are to be had.
pub struct ScramKeys {
    keeps: bool,
    entries: Vec<Entry>,
    computed: u64,
}

impl ScramKeys {
    /// Hashes once for each password, salt and number of iterations.
    pub fn kept() -> Self {
        Self {
            keeps: true,
            entries: Vec::new(),
            computed: 0,
        }
    }

    /// Hashes at every login, as libpq does.
    pub fn anew() -> Self {
        Self {
            keeps: false,
            ..Self::kept()
        }
    }

    /// How often a password was hashed.
    pub fn computed(&self) -> u64 {
        self.computed
    }

    pub(crate) fn derive(
        &mut self,
        password: &[u8],
        salt: &[u8],
        iterations: u32,
    ) -> (Keys, KeyUse) {
        let known = self.entries.iter().find(|entry| {
            entry.iterations == iterations && entry.salt == salt && entry.password == password
        });
        if let Some(entry) = known {
            return (entry.keys, KeyUse::Kept);
        }
        let keys = Keys::derive(password, salt, iterations);
        self.computed += 1;
        if self.keeps {
            if self.entries.len() == MOST_KEPT {
                self.entries.remove(0);
            }
            self.entries.push(Entry {
                password: password.to_vec(),
                salt: salt.to_vec(),
                iterations,
                keys,
            });
        }
        (keys, KeyUse::Computed)
    }
}

impl fmt::Debug for ScramKeys {
    /// Nothing of the passwords.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ScramKeys")
            .field("keeps", &self.keeps)
            .field("accounts", &self.entries.len())
            .field("computed", &self.computed)
            .finish_non_exhaustive()
    }
}

pub(crate) fn hmac(key: &Hash, message: &[u8]) -> Hash {
    mac(key, message).finalize().into_bytes().into()
}

/// Whether `signature` is the HMAC of `message`, compared in constant time.
pub(crate) fn proves(key: &Hash, message: &[u8], signature: &[u8]) -> bool {
    mac(key, message).verify_slice(signature).is_ok()
}

fn mac(key: &Hash, message: &[u8]) -> Hmac<Sha256> {
    // A key of one block or less is padded (RFC 2104 section 2), so every one of these is of a right length.
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let mut mac = <Hmac<Sha256> as hmac::digest::KeyInit>::new(&block.into());
    mac.update(message);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hashed_once_for_each_salt_and_number_of_iterations() {
        let mut keys = ScramKeys::kept();
        let (first, used) = keys.derive(b"pencil", b"salt", 10);
        assert_eq!(used, KeyUse::Computed);
        assert!(keys.derive(b"pencil", b"salt", 10) == (first, KeyUse::Kept));
        for (password, salt, iterations) in [
            ("pencils", "salt", 10),
            ("pencil", "salts", 10),
            ("pencil", "salt", 11),
        ] {
            let (other, used) = keys.derive(password.as_bytes(), salt.as_bytes(), iterations);
            assert!(used == KeyUse::Computed && other != first);
        }
        assert_eq!(keys.computed(), 4);
        let mut anew = ScramKeys::anew();
        for _ in 0..2 {
            assert!(anew.derive(b"pencil", b"salt", 10) == (first, KeyUse::Computed));
        }
        assert_eq!(anew.computed(), 2);
    }

    #[test]
    fn a_server_with_ever_new_salts_fills_no_memory() {
        let mut keys = ScramKeys::kept();
        for salt in 0..100_u8 {
            keys.derive(b"pencil", &[salt], 1);
        }
        assert_eq!(keys.entries.len(), MOST_KEPT);
        assert_eq!(keys.derive(b"pencil", &[99], 1).1, KeyUse::Kept);
        assert!(!format!("{keys:?}").contains("pencil"));
    }
}
