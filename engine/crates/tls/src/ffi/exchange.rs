//! A key exchange between two keys of one process.

use std::ffi::{CStr, c_int};
use std::ptr;

use super::symbols::{EVP_PKEY, EVP_PKEY_CTX};
use super::{Api, ErrorQueue};

const KEY_EC: c_int = 408;

/// Two keys of one group, and for each what was set up to derive the secret from the other's public half. Each
/// is released if it is there.
pub(crate) struct ExchangeHandle {
    api: &'static Api,
    keys: [*mut EVP_PKEY; 2],
    derive: [*mut EVP_PKEY_CTX; 2],
}

impl ExchangeHandle {
    /// Makes two keys, of OpenSSL's kind `number`, or of a `curve` by name. `Err` is OpenSSL's reason.
    pub(crate) fn new(
        api: &'static Api,
        number: Option<c_int>,
        curve: &CStr,
    ) -> Result<Self, String> {
        let mut this = Self {
            api,
            keys: [ptr::null_mut(); 2],
            derive: [ptr::null_mut(); 2],
        };
        let ready = this.make_key(0, number, curve)
            && this.make_key(1, number, curve)
            && this.set_up(0)
            && this.set_up(1);
        if ready {
            Ok(this)
        } else {
            Err(ErrorQueue::drain(api).reason())
        }
    }

    fn make_key(&mut self, side: usize, number: Option<c_int>, curve: &CStr) -> bool {
        let symbols = &self.api.symbols;
        let out = &raw mut self.keys[side];
        // SAFETY: null answers are not passed on; the key is written where there is room for it.
        unsafe {
            let operation =
                (symbols.EVP_PKEY_CTX_new_id)(number.unwrap_or(KEY_EC), ptr::null_mut());
            let name = c"ec_paramgen_curve".as_ptr();
            let made = !operation.is_null()
                && (symbols.EVP_PKEY_keygen_init)(operation) == 1
                && (number.is_some()
                    || (symbols.EVP_PKEY_CTX_ctrl_str)(operation, name, curve.as_ptr()) == 1)
                && (symbols.EVP_PKEY_keygen)(operation, out) == 1;
            (symbols.EVP_PKEY_CTX_free)(operation);
            made
        }
    }

    fn set_up(&mut self, side: usize) -> bool {
        let symbols = &self.api.symbols;
        // SAFETY: both keys are live; a null answer is not passed on.
        unsafe {
            self.derive[side] = (symbols.EVP_PKEY_CTX_new)(self.keys[side], ptr::null_mut());
            !self.derive[side].is_null()
                && (symbols.EVP_PKEY_derive_init)(self.derive[side]) == 1
                && (symbols.EVP_PKEY_derive_set_peer)(self.derive[side], self.keys[1 - side]) == 1
        }
    }

    /// Derives the secret on one side, 0 or 1, into `secret`; how long it is.
    pub(crate) fn derive(&mut self, side: usize, secret: &mut [u8]) -> Result<usize, ErrorQueue> {
        let mut length = secret.len();
        let derive = self.api.symbols.EVP_PKEY_derive;
        // SAFETY: set up; it writes no more than `length` says that there is.
        let answer = unsafe { derive(self.derive[side], secret.as_mut_ptr(), &raw mut length) };
        if answer == 1 {
            Ok(length)
        } else {
            Err(ErrorQueue::drain(self.api))
        }
    }
}

impl Drop for ExchangeHandle {
    fn drop(&mut self) {
        let symbols = &self.api.symbols;
        for side in [0, 1] {
            // SAFETY: each is null, which is allowed, or live and ours.
            unsafe {
                (symbols.EVP_PKEY_CTX_free)(self.derive[side]);
                (symbols.EVP_PKEY_free)(self.keys[side]);
            }
        }
    }
}
