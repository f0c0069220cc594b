//! A key exchange as a handshake makes it, without the handshake and without making the keys.

use crate::config::Role;
use crate::context::c_string;
use crate::error::TlsError;
use crate::ffi::ExchangeHandle;
use crate::library::Library;

/// OpenSSL's numbers for groups that are kinds of keys by themselves (`NID_X25519`, `NID_X448`).
const KINDS: [(&str, i32); 2] = [("X25519", 1034), ("X448", 1035)];

/// Two keys of one group. Belongs to one thread.
pub struct KeyExchange {
    handle: ExchangeHandle,
}

impl KeyExchange {
    /// Makes a key for each side, of `X25519`, `X448` or a curve that OpenSSL has by this name.
    pub fn new(library: Library, group: &str) -> Result<Self, TlsError> {
        let number = KINDS
            .iter()
            .find(|(name, _)| *name == group)
            .map(|(_, number)| *number);
        let curve = c_string("group", group.as_bytes())?;
        let handle = ExchangeHandle::new(library.api(), number, &curve).map_err(|reason| {
            TlsError::Setting {
                field: "group",
                reason,
            }
        })?;
        Ok(Self { handle })
    }

    /// Derives the secret on one side into `secret`, which must be long enough; how long it is.
    pub fn derive(&mut self, side: Role, secret: &mut [u8]) -> Result<usize, TlsError> {
        let side = usize::from(side == Role::Server);
        self.handle
            .derive(side, secret)
            .map_err(|queue| TlsError::Library {
                operation: "EVP_PKEY_derive",
                reason: queue.reason(),
            })
    }
}
