//! The peer's certificate and the keys in it.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write as _;
use std::ptr::{self, NonNull};

use super::symbols::{EVP_PKEY, X509};
use super::{Api, ConnectionHandle};
use crate::group::curve_name;
use crate::negotiated::{EndPointHash, PeerCertificate};

const SHA256_BYTES: usize = 32;
const KEY_RSA: c_int = 6;
const KEY_RSA_PSS: c_int = 912;
pub(super) const KEY_EC: c_int = 408;

/// OpenSSL's numbers of the hashes that RFC 5929 replaces.
const HASH_MD5: c_int = 4;
const HASH_SHA1: c_int = 64;
const HASH_SHA256: c_int = 672;

/// The owner of a reference to an `X509`.
struct Certificate {
    api: &'static Api,
    certificate: NonNull<X509>,
}

impl ConnectionHandle {
    fn certificate(&self) -> Option<Certificate> {
        // SAFETY: live; both names of the function give null or a reference that is ours.
        let certificate = unsafe { (self.api.symbols.SSL_get1_peer_certificate)(self.as_ptr()) };
        Some(Certificate {
            api: self.api,
            certificate: NonNull::new(certificate)?,
        })
    }

    /// The hash of the peer's certificate by which a channel is bound to it (see
    /// [`crate::Connection::end_point_hash`]).
    pub(crate) fn end_point_hash(&self) -> Option<EndPointHash> {
        self.certificate()?.end_point_hash()
    }

    /// The peer's own certificate, on a resumed connection the one that its session was made with.
    pub(crate) fn peer_certificate(&self) -> Option<PeerCertificate> {
        let certificate = self.certificate()?;
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

    fn end_point_hash(&self) -> Option<EndPointHash> {
        let symbols = &self.api.symbols;
        let mut hash = 0;
        // SAFETY: live, and what it works out about the signature it works out once, under a lock; the
        // number is written, null for what is not wanted.
        let answer = unsafe {
            let (certificate, none) = (self.certificate.as_ptr(), ptr::null_mut());
            (symbols.X509_get_signature_info)(
                certificate,
                &raw mut hash,
                none,
                none,
                ptr::null_mut(),
            )
        };
        let hash = end_point_algorithm(if answer == 1 { hash } else { 0 })?;
        let (mut bytes, mut length) = ([0_u8; EndPointHash::MOST_BYTES], 0);
        // SAFETY: the name is null or a static string, and null is not passed on; neither is an unknown
        // hash. The bytes are as many as the longest hash of OpenSSL fills (EVP_MAX_MD_SIZE).
        let answer = unsafe {
            let name = (symbols.OBJ_nid2sn)(hash);
            let algorithm = if name.is_null() {
                ptr::null()
            } else {
                (symbols.EVP_get_digestbyname)(name)
            };
            if algorithm.is_null() {
                return None;
            }
            let certificate = self.certificate.as_ptr();
            (symbols.X509_digest)(certificate, algorithm, bytes.as_mut_ptr(), &raw mut length)
        };
        let length = usize::try_from(length).ok()?;
        (answer == 1).then(|| EndPointHash::new(bytes, length))
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

/// The hash by which a channel is bound to a certificate whose signature uses this one: the same, but for two that
/// are too weak. None where the signature has no hash of its own, such as Ed25519's (RFC 5929, section 4.1).
fn end_point_algorithm(of_signature: c_int) -> Option<c_int> {
    match of_signature {
        0 => None,
        HASH_MD5 | HASH_SHA1 => Some(HASH_SHA256),
        other => Some(other),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_hashes_are_replaced_and_a_signature_without_one_binds_nothing() {
        const HASH_SHA384: c_int = 673;
        assert_eq!(end_point_algorithm(HASH_MD5), Some(HASH_SHA256));
        assert_eq!(end_point_algorithm(HASH_SHA1), Some(HASH_SHA256));
        assert_eq!(end_point_algorithm(HASH_SHA256), Some(HASH_SHA256));
        assert_eq!(end_point_algorithm(HASH_SHA384), Some(HASH_SHA384));
        assert_eq!(end_point_algorithm(0), None);
    }
}
