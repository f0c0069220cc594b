//! Signatures as a handshake makes and checks them, without the handshake.

use crate::error::TlsError;
use crate::ffi::SigningHandle;
use crate::library::Library;

/// A private key that signs what a handshake would have it sign. Belongs to one thread.
pub struct SigningKey {
    handle: SigningHandle,
}

impl SigningKey {
    /// From a private key in PEM that is not encrypted.
    pub fn new(library: Library, pem: &[u8]) -> Result<Self, TlsError> {
        let handle =
            SigningHandle::new(library.api(), pem).map_err(|reason| TlsError::Setting {
                field: "key_file",
                reason,
            })?;
        Ok(Self { handle })
    }

    /// Signs into `signature`, which must be long enough; how long the signature is.
    ///
    /// With RSA and ECDSA `message` is the digest that is signed, with other keys the message itself.
    pub fn sign(&mut self, message: &[u8], signature: &mut [u8]) -> Result<usize, TlsError> {
        self.handle
            .sign(message, signature)
            .map_err(|queue| TlsError::Library {
                operation: "signing",
                reason: queue.reason(),
            })
    }

    /// Whether the signature is the key's, of this message.
    pub fn verify(&mut self, message: &[u8], signature: &[u8]) -> bool {
        self.handle.verify(message, signature)
    }
}
