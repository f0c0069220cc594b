//! Where a context's secrets are logged, and the callback through which OpenSSL hands them over.

use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::process_api;
use super::symbols::SSL;

/// The index of application data in every `SSL_CTX` and `SSL`, which OpenSSL reserves for its user.
pub(super) const APPLICATION_DATA: std::ffi::c_int = 0;

/// A key log, shared by all connections of a context.
pub(crate) struct KeyLog {
    file: File,
    failed: AtomicBool,
    failure: Mutex<Option<io::Error>>,
}

impl KeyLog {
    /// Logs into `file`, which must have been opened for appending.
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// The first failure to write, once.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        if !self.failed.load(Ordering::Relaxed) {
            return None;
        }
        self.failure.lock().ok()?.take()
    }

    /// Appends one line with a single write, so that lines of several threads do not mix.
    fn append(&self, line: &[u8]) {
        let whole = [line, b"\n"].concat();
        if let Err(error) = (&self.file).write_all(&whole) {
            if let Ok(mut failure) = self.failure.lock() {
                failure.get_or_insert(error);
            }
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}

/// OpenSSL's key log callback: one line of the log, without its end.
///
/// # Safety
/// Called by OpenSSL only, on a connection of a context whose application data is a `KeyLog`.
pub(super) unsafe extern "C" fn on_key_log(ssl: *const SSL, line: *const c_char) {
    let Some(api) = process_api() else { return };
    // SAFETY: `ssl` is live during the callback and so is its context; the application data was set
    // to the `KeyLog` before the callback was, and `ContextHandle` keeps it for as long as a
    // connection can call back; `line` is a C string.
    unsafe {
        let context = (api.symbols.SSL_get_SSL_CTX)(ssl);
        let data = (api.symbols.SSL_CTX_get_ex_data)(context, APPLICATION_DATA);
        if let Some(log) = data.cast::<KeyLog>().as_ref() {
            log.append(CStr::from_ptr(line).to_bytes());
        }
    }
}
