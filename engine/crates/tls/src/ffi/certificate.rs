//! The peer's certificate and the keys in it.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write as _;
use std::ptr::{self, NonNull};

use super::symbols::{EVP_PKEY, X509};
use super::{Api, ConnectionHandle};
use crate::group::curve_name;
use crate::negotiated::PeerCertificate;

const SHA256_BYTES: usize = 32;
const KEY_RSA: c_int = 6;
const KEY_RSA_PSS: c_int = 912;
pub(super) const KEY_EC: c_int = 408;

/// The owner of a reference to an `X509`.
struct Certificate {
    api: &'static Api,
    certificate: NonNull<X509>,
}

impl ConnectionHandle {
    /// The peer's own certificate, on a resumed connection the one that its session was made with.
    pub(crate) fn peer_certificate(&self) -> Option<PeerCertificate> {
        // SAFETY: live; both names of the function give null or a reference that is ours.
        let certificate = unsafe { (self.api.symbols.SSL_get1_peer_certificate)(self.as_ptr()) };
        let certificate = Certificate {
            api: self.api,
            certificate: NonNull::new(certificate)?,
        };
        Some(PeerCertificate {
            key: certificate.key()?,
            sha256: certificate.sha256()?,
            sent: self.certificates_sent(),
        })
    }

    /// How many certificates the peer sent. A resumed session remembers them, and none were sent.
    fn certificates_sent(&self) -> Option<u32> {
        if self.agreement().is_resumed() {
            return None;
        }
        let symbols = &self.api.symbols;
        // SAFETY: live; the stack is null or lives as long as the session, which outlives its use
        // here, and the answer for null is a negative number.
        let count =
            unsafe { (symbols.OPENSSL_sk_num)((symbols.SSL_get_peer_cert_chain)(self.as_ptr())) };
        u32::try_from(count).ok()
    }

    /// Whether this side signed the handshake, which a client does with a certificate of its own;
    /// `None` where the library does not say.
    pub(crate) fn has_signed(&self) -> Option<bool> {
        let signature_kind = self.api.symbols.SSL_get_signature_type_nid?;
        let mut kind = 0;
        // SAFETY: live; the number is written or left alone.
        Some(unsafe { signature_kind(self.as_ptr(), &raw mut kind) } == 1)
    }
}

impl Certificate {
    fn key(&self) -> Option<String> {
        // SAFETY: live; the answer is null or lives as long as the certificate, which outlives its
        // use here.
        unsafe {
            let key = (self.api.symbols.X509_get0_pubkey)(self.certificate.as_ptr());
            NonNull::new(key).map(|key| describe_key(self.api, key))
        }
    }

    fn sha256(&self) -> Option<String> {
        let mut digest = [0_u8; SHA256_BYTES];
        let symbols = &self.api.symbols;
        // SAFETY: live; the digest has the size that SHA-256 fills; null for a length not wanted.
        let answer = unsafe {
            let certificate = self.certificate.as_ptr();
            let sha256 = (symbols.EVP_sha256)();
            (symbols.X509_digest)(certificate, sha256, digest.as_mut_ptr(), ptr::null_mut())
        };
        (answer == 1).then(|| {
            digest.iter().fold(String::new(), |mut text, byte| {
                // Writing to a string cannot fail.
                let _ = write!(text, "{byte:02x}");
                text
            })
        })
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        // SAFETY: gives back the reference held.
        unsafe { (self.api.symbols.X509_free)(self.certificate.as_ptr()) };
    }
}

/// The kind and size of a key: `RSA 2048`, `EC P-256`, `ED25519`.
///
/// # Safety
/// `key` must be live.
unsafe fn describe_key(api: &Api, key: NonNull<EVP_PKEY>) -> String {
    let symbols = &api.symbols;
    let key = key.as_ptr();
    // SAFETY: the caller vouches for the key.
    let (kind, bits) = unsafe {
        (
            (symbols.EVP_PKEY_get_id)(key),
            (symbols.EVP_PKEY_get_bits)(key),
        )
    };
    match kind {
        KEY_RSA => format!("RSA {bits}"),
        KEY_RSA_PSS => format!("RSA-PSS {bits}"),
        // SAFETY: the caller vouches for the key, whose kind this is.
        KEY_EC => match unsafe { curve_of(api, key) } {
            Some(curve) => format!("EC {}", curve_name(&curve)),
            None => format!("EC {bits}"),
        },
        // SAFETY: the caller vouches for the key; both functions give null or a C string that lives
        // as long as it.
        other => unsafe {
            let name = match symbols.EVP_PKEY_get0_type_name {
                Some(type_name) => type_name(key),
                None => (symbols.OBJ_nid2sn)(other),
            };
            if name.is_null() {
                format!("key of {bits} bits")
            } else {
                CStr::from_ptr(name).to_string_lossy().into_owned()
            }
        },
    }
}

/// OpenSSL's name for the curve of an elliptic curve key.
///
/// # Safety
/// `key` must be live and of the kind `KEY_EC`.
pub(super) unsafe fn curve_of(api: &Api, key: *mut EVP_PKEY) -> Option<String> {
    let symbols = &api.symbols;
    if let Some(group_name) = symbols.EVP_PKEY_get_group_name {
        let mut name = [0_u8; 64];
        let (start, size) = (name.as_mut_ptr().cast::<c_char>(), name.len());
        // SAFETY: the caller vouches for the key; the name is written with its end, or not at all.
        let answer = unsafe { group_name(key, start, size, ptr::null_mut()) };
        let name = CStr::from_bytes_until_nul(&name).ok()?;
        return (answer == 1).then(|| name.to_string_lossy().into_owned());
    }
    let ec_key = symbols.EVP_PKEY_get0_EC_KEY?;
    let group_of = symbols.EC_KEY_get0_group?;
    let number_of = symbols.EC_GROUP_get_curve_name?;
    // SAFETY: the caller vouches for the key and its kind; each answer lives as long as the key,
    // and null is not passed on. The name is null or a static string.
    unsafe {
        let ec_key = ec_key(key);
        let group = if ec_key.is_null() {
            ptr::null()
        } else {
            group_of(ec_key)
        };
        let number = if group.is_null() { 0 } else { number_of(group) };
        let name = (symbols.OBJ_nid2sn)(number);
        (number != 0 && !name.is_null())
            .then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}
