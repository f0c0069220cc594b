//! Encryption with an RSA public key, for logins on connections without TLS.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use super::symbols::{BIO, EVP_PKEY, EVP_PKEY_CTX, PasswordCallback};
use super::{Api, ErrorQueue};

/// A public key and the operation set up with it; each is released if it is there.
struct Encryption {
    api: &'static Api,
    key: *mut EVP_PKEY,
    operation: *mut EVP_PKEY_CTX,
}

/// Encrypts with OAEP as of PKCS #1 v2.0, with SHA-1 and MGF1, which is OpenSSL's default.
///
/// `Err` is OpenSSL's reason.
pub(crate) fn encrypt_rsa_oaep(
    api: &'static Api,
    pem: &[u8],
    plaintext: &[u8],
) -> Result<Vec<u8>, String> {
    Encryption::begin(api, pem)
        .and_then(|encryption| encryption.encrypt(plaintext))
        .ok_or_else(|| ErrorQueue::drain(api).reason())
}

impl Encryption {
    fn begin(api: &'static Api, pem: &[u8]) -> Option<Self> {
        let symbols = &api.symbols;
        // SAFETY: it reads a key as `key_of_pem` wants it.
        let key = unsafe { key_of_pem(api, pem, symbols.PEM_read_bio_PUBKEY) }?;
        let mut this = Self {
            api,
            key: key.as_ptr(),
            operation: ptr::null_mut(),
        };
        // SAFETY: the key is live; a null answer is not passed on. The strings are C strings.
        unsafe {
            this.operation = (symbols.EVP_PKEY_CTX_new)(this.key, ptr::null_mut());
            let (name, value) = (c"rsa_padding_mode".as_ptr(), c"oaep".as_ptr());
            let ready = !this.operation.is_null()
                && (symbols.EVP_PKEY_encrypt_init)(this.operation) == 1
                && (symbols.EVP_PKEY_CTX_ctrl_str)(this.operation, name, value) == 1;
            ready.then_some(this)
        }
    }

    fn encrypt(&self, plaintext: &[u8]) -> Option<Vec<u8>> {
        let encrypt = self.api.symbols.EVP_PKEY_encrypt;
        let (input, length) = (plaintext.as_ptr(), plaintext.len());
        let mut size = 0;
        // SAFETY: the operation is set up; without a buffer it only tells the size that is needed;
        // the buffer then has that size, and never gets longer than what was written.
        unsafe {
            if encrypt(
                self.operation,
                ptr::null_mut(),
                &raw mut size,
                input,
                length,
            ) != 1
            {
                return None;
            }
            let mut output = vec![0; size];
            let answer = encrypt(
                self.operation,
                output.as_mut_ptr(),
                &raw mut size,
                input,
                length,
            );
            output.truncate(size);
            (answer == 1).then_some(output)
        }
    }
}

impl Drop for Encryption {
    fn drop(&mut self) {
        // SAFETY: both are null, which is allowed, or live and ours.
        unsafe {
            (self.api.symbols.EVP_PKEY_CTX_free)(self.operation);
            (self.api.symbols.EVP_PKEY_free)(self.key);
        }
    }
}

/// One of the functions that read a key from a `BIO` with PEM (`man PEM_read_bio_PrivateKey`).
pub(super) type PemReader = unsafe extern "C" fn(
    *mut BIO,
    *mut *mut EVP_PKEY,
    Option<PasswordCallback>,
    *mut c_void,
) -> *mut EVP_PKEY;

/// The key in this PEM text, which is the caller's to free; `None` where there is none that is not encrypted.
///
/// # Safety
/// `read` must be one of OpenSSL's functions of this kind.
pub(super) unsafe fn key_of_pem(
    api: &Api,
    pem: &[u8],
    read: PemReader,
) -> Option<NonNull<EVP_PKEY>> {
    let symbols = &api.symbols;
    let length = c_int::try_from(pem.len()).ok()?;
    // SAFETY: the bytes are valid for reads of their length and outlive the BIO; a null answer is not
    // passed on. The caller vouches for `read`.
    unsafe {
        let source = (symbols.BIO_new_mem_buf)(pem.as_ptr().cast(), length);
        if source.is_null() {
            return None;
        }
        let refuse = Some(refuse_password as PasswordCallback);
        let key = read(source, ptr::null_mut(), refuse, ptr::null_mut());
        (symbols.BIO_free)(source);
        NonNull::new(key)
    }
}

/// Refuses to ask for the password of an encrypted key: OpenSSL would ask on the terminal and wait.
pub(super) unsafe extern "C" fn refuse_password(
    _password: *mut c_char,
    _size: c_int,
    _writing: c_int,
    _data: *mut c_void,
) -> c_int {
    -1
}
