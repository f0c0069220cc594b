//! Signatures with a private key, made and checked by operations that are set up once.

use std::ffi::c_int;
use std::ptr::{self, NonNull};

use super::public_key::key_of_pem;
use super::symbols::{ENGINE, EVP_MD, EVP_MD_CTX, EVP_PKEY, EVP_PKEY_CTX};
use super::{Api, ErrorQueue};

const KEY_RSA: c_int = 6;
const KEY_EC: c_int = 408;

/// No context for settings, the key's own digest, no engine, and the key that was set up with.
const SAME_AGAIN: (
    *mut *mut EVP_PKEY_CTX,
    *const EVP_MD,
    *mut ENGINE,
    *mut EVP_PKEY,
) = (
    ptr::null_mut(),
    ptr::null(),
    ptr::null_mut(),
    ptr::null_mut(),
);

/// A private key, and what was set up to sign and to check with it. Each is released if it is there.
///
/// RSA and ECDSA sign a digest that is given; others, such as Ed25519, take in the message itself.
pub(crate) struct SigningHandle {
    api: &'static Api,
    key: *mut EVP_PKEY,
    sign: *mut EVP_PKEY_CTX,
    verify: *mut EVP_PKEY_CTX,
    sign_message: *mut EVP_MD_CTX,
    verify_message: *mut EVP_MD_CTX,
}

impl SigningHandle {
    /// From a private key in PEM that is not encrypted. `Err` is OpenSSL's reason.
    pub(crate) fn new(api: &'static Api, pem: &[u8]) -> Result<Self, String> {
        // SAFETY: it reads a key as `key_of_pem` wants it.
        let key = unsafe { key_of_pem(api, pem, api.symbols.PEM_read_bio_PrivateKey) };
        let mut this = Self {
            api,
            key: key.map_or(ptr::null_mut(), NonNull::as_ptr),
            sign: ptr::null_mut(),
            verify: ptr::null_mut(),
            sign_message: ptr::null_mut(),
            verify_message: ptr::null_mut(),
        };
        if key.is_some() && this.set_up() {
            Ok(this)
        } else {
            Err(ErrorQueue::drain(api).reason())
        }
    }

    fn set_up(&mut self) -> bool {
        let symbols = &self.api.symbols;
        // SAFETY: the key is live, and the operations keep references of their own; null answers are not
        // passed on. The methods of a message are the key's own.
        unsafe {
            if matches!((symbols.EVP_PKEY_get_id)(self.key), KEY_RSA | KEY_EC) {
                self.sign = (symbols.EVP_PKEY_CTX_new)(self.key, ptr::null_mut());
                self.verify = (symbols.EVP_PKEY_CTX_new)(self.key, ptr::null_mut());
                return !self.sign.is_null()
                    && !self.verify.is_null()
                    && (symbols.EVP_PKEY_sign_init)(self.sign) == 1
                    && (symbols.EVP_PKEY_verify_init)(self.verify) == 1;
            }
            self.sign_message = (symbols.EVP_MD_CTX_new)();
            self.verify_message = (symbols.EVP_MD_CTX_new)();
            let (own, digest, engine, _) = SAME_AGAIN;
            !self.sign_message.is_null()
                && !self.verify_message.is_null()
                && (symbols.EVP_DigestSignInit)(self.sign_message, own, digest, engine, self.key)
                    == 1
                && (symbols.EVP_DigestVerifyInit)(
                    self.verify_message,
                    own,
                    digest,
                    engine,
                    self.key,
                ) == 1
        }
    }

    /// Signs into `signature`, which must be long enough; how long the signature is.
    pub(crate) fn sign(
        &mut self,
        message: &[u8],
        signature: &mut [u8],
    ) -> Result<usize, ErrorQueue> {
        let symbols = &self.api.symbols;
        let mut length = signature.len();
        let (out, input) = (signature.as_mut_ptr(), message.as_ptr());
        let (own, digest, engine, key) = SAME_AGAIN;
        // SAFETY: whichever is there was set up; it writes no more than `length` says that there is.
        let answer = unsafe {
            if self.sign_message.is_null() {
                (symbols.EVP_PKEY_sign)(self.sign, out, &raw mut length, input, message.len())
            } else {
                // Begun anew with the same key, as a message can be signed only once (EVP_DigestSign(3)).
                (symbols.EVP_DigestSignInit)(self.sign_message, own, digest, engine, key);
                (symbols.EVP_DigestSign)(
                    self.sign_message,
                    out,
                    &raw mut length,
                    input,
                    message.len(),
                )
            }
        };
        if answer == 1 {
            Ok(length)
        } else {
            Err(ErrorQueue::drain(self.api))
        }
    }

    /// Whether the signature is the key's, of this message.
    pub(crate) fn verify(&mut self, message: &[u8], signature: &[u8]) -> bool {
        let symbols = &self.api.symbols;
        let (input, length) = (message.as_ptr(), message.len());
        let (given, given_length) = (signature.as_ptr(), signature.len());
        let (own, digest, engine, key) = SAME_AGAIN;
        // SAFETY: whichever is there was set up; both slices are valid for reads of their lengths.
        let answer = unsafe {
            if self.verify_message.is_null() {
                (symbols.EVP_PKEY_verify)(self.verify, given, given_length, input, length)
            } else {
                (symbols.EVP_DigestVerifyInit)(self.verify_message, own, digest, engine, key);
                (symbols.EVP_DigestVerify)(self.verify_message, given, given_length, input, length)
            }
        };
        if answer != 1 {
            ErrorQueue::drain(self.api);
        }
        answer == 1
    }
}

impl Drop for SigningHandle {
    fn drop(&mut self) {
        let symbols = &self.api.symbols;
        // SAFETY: each is null, which is allowed, or live and ours.
        unsafe {
            (symbols.EVP_MD_CTX_free)(self.sign_message);
            (symbols.EVP_MD_CTX_free)(self.verify_message);
            (symbols.EVP_PKEY_CTX_free)(self.sign);
            (symbols.EVP_PKEY_CTX_free)(self.verify);
            (symbols.EVP_PKEY_free)(self.key);
        }
    }
}
