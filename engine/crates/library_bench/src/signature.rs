//! A signature that the server makes and the client checks.

use tlstax_tls::{Library, Negotiated, SigningKey, TlsError};

use crate::sides::Sides;
use crate::subject::{Subject, in_a_row};

/// Longer than the signature of any key that a server has: ML-DSA-87's has 4,627 bytes (FIPS 204).
const LONGEST_BYTES: usize = 8192;

/// The length of what is signed: that of a SHA-256 digest.
const MESSAGE_BYTES: usize = 32;

/// Signatures with one key.
pub struct Signature {
    key: SigningKey,
    message: [u8; MESSAGE_BYTES],
    made: Vec<u8>,
    in_a_row: u64,
    signed: u64,
}

impl Signature {
    /// With the key in this PEM text.
    pub fn new(library: Library, pem: &[u8]) -> Result<Self, TlsError> {
        let mut key = SigningKey::new(library, pem)?;
        let (message, mut signature) = ([0x5a; MESSAGE_BYTES], vec![0; LONGEST_BYTES]);
        let in_a_row = in_a_row(|| key.sign(&message, &mut signature).map(drop))?;
        Ok(Self {
            key,
            message,
            made: signature,
            in_a_row,
            signed: 0,
        })
    }
}

impl Subject for Signature {
    fn work(&mut self, sides: &mut Sides) -> Result<u64, TlsError> {
        // Some keys take longer for one message than for another.
        self.signed += 1;
        self.message[..8].copy_from_slice(&self.signed.to_le_bytes());
        let (key, message, signature) = (&mut self.key, &self.message, &mut self.made);
        let in_a_row = self.in_a_row;
        let length =
            sides.server(|| (0..in_a_row).try_fold(0, |_, _| key.sign(message, signature)))?;
        let signature = &signature[..length];
        if sides.client(|| (0..in_a_row).all(|_| key.verify(message, signature))) {
            return Ok(in_a_row);
        }
        Err(TlsError::Library {
            operation: "checking a signature",
            reason: "it was not taken".to_owned(),
        })
    }

    fn negotiated(&self) -> Option<&Negotiated> {
        None
    }
}
