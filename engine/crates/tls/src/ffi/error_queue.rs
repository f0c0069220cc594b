//! OpenSSL's queue of errors of this thread, emptied into owned entries.

use std::ffi::{CStr, c_char, c_int, c_ulong};
use std::io;
use std::ptr;

use super::Api;

const LIBRARY_SYSTEM: u32 = 2;
const LIBRARY_SSL: u32 = 20;
const FLAG_TEXT_STRING: c_int = 0x01;
const SYSTEM_ERROR_OF_3: c_ulong = 0x8000_0000;

/// `SSL_R_CERTIFICATE_VERIFY_FAILED`.
const REASON_CERTIFICATE: u32 = 134;
/// `SSL_R_UNEXPECTED_EOF_WHILE_READING`, 3.0 and later.
const REASON_UNEXPECTED_EOF: u32 = 294;
/// Alerts from the peer are reasons from here on (`SSL_AD_REASON_OFFSET`).
const REASON_FIRST_ALERT: u32 = 1000;

struct Entry {
    library: u32,
    reason: u32,
    text: String,
}

/// All entries that were in the queue, the oldest (usually the cause) first.
pub(crate) struct ErrorQueue(Vec<Entry>);

impl ErrorQueue {
    /// Empties the queue of this thread.
    pub(crate) fn drain(api: &Api) -> Self {
        Self(std::iter::from_fn(|| next_entry(api)).collect())
    }

    /// OpenSSL's reason for the first failure, with its detail where it gave one.
    pub(crate) fn reason(&self) -> String {
        self.reason_or("OpenSSL gave no reason")
    }

    /// The same, or these words where OpenSSL failed without a reason.
    pub(crate) fn reason_or(&self, words: &str) -> String {
        self.0.first().map_or(words, |entry| &entry.text).to_owned()
    }

    /// The number of the alert that the peer sent, if that is what ended the connection.
    pub(crate) fn peer_alert(&self) -> Option<u8> {
        self.0
            .iter()
            .filter(|entry| entry.library == LIBRARY_SSL)
            .filter_map(|entry| entry.reason.checked_sub(REASON_FIRST_ALERT))
            .find_map(|alert| u8::try_from(alert).ok())
    }

    /// Whether the peer's certificate did not stand the check.
    pub(crate) fn is_certificate_refused(&self) -> bool {
        self.has_ssl_reason(REASON_CERTIFICATE)
    }

    /// Whether the peer closed the connection without saying so in TLS.
    pub(crate) fn is_unexpected_eof(&self) -> bool {
        self.has_ssl_reason(REASON_UNEXPECTED_EOF)
    }

    fn has_ssl_reason(&self, reason: u32) -> bool {
        self.0
            .iter()
            .any(|entry| entry.library == LIBRARY_SSL && entry.reason == reason)
    }
}

fn next_entry(api: &Api) -> Option<Entry> {
    let mut data: *const c_char = ptr::null();
    let mut flags: c_int = 0;
    let code = take_oldest(api, &mut data, &mut flags);
    if code == 0 {
        return None;
    }
    let (library, reason) = split(api, code);
    let mut text = if library == LIBRARY_SYSTEM {
        i32::try_from(reason).map_or_else(
            |_| "system error".to_owned(),
            |errno| io::Error::from_raw_os_error(errno).to_string(),
        )
    } else {
        // SAFETY: takes any number; the answer is null or a static string.
        let words = unsafe { text_of((api.symbols.ERR_reason_error_string)(code)) };
        words.unwrap_or_else(|| format!("error {code:#x}"))
    };
    if flags & FLAG_TEXT_STRING != 0 {
        // SAFETY: with this flag the data is null or a string, valid until the queue of this thread
        // is used again, which is after the copy.
        if let Some(detail) = unsafe { text_of(data) }.filter(|detail| !detail.is_empty()) {
            text = format!("{text} ({detail})");
        }
    }
    Some(Entry {
        library,
        reason,
        text,
    })
}

/// Takes the oldest entry off the queue: its code, 0 for none, and its detail.
fn take_oldest(api: &Api, data: &mut *const c_char, flags: &mut c_int) -> c_ulong {
    let none = ptr::null_mut();
    let symbols = &api.symbols;
    if let Some(get_error_all) = symbols.ERR_get_error_all {
        // SAFETY: null is allowed for what is not asked for; the others are valid for writes.
        unsafe { get_error_all(none, ptr::null_mut(), none, data, flags) }
    } else if let Some(get_error_line_data) = symbols.ERR_get_error_line_data {
        // SAFETY: as above.
        unsafe { get_error_line_data(none, ptr::null_mut(), data, flags) }
    } else {
        // SAFETY: takes nothing. Without either function the queue can be emptied, not read.
        unsafe { (symbols.ERR_clear_error)() };
        0
    }
}

/// The library and reason packed in a code: `ERR_GET_LIB` and `ERR_GET_REASON` of that version.
fn split(api: &Api, code: c_ulong) -> (u32, u32) {
    let (library, reason) = if api.version.major < 3 {
        ((code >> 24) & 0xff, code & 0xfff)
    } else if code & SYSTEM_ERROR_OF_3 != 0 {
        (c_ulong::from(LIBRARY_SYSTEM), code & !SYSTEM_ERROR_OF_3)
    } else {
        ((code >> 23) & 0xff, code & 0x007f_ffff)
    };
    (
        u32::try_from(library).unwrap_or(0),
        u32::try_from(reason).unwrap_or(0),
    )
}

/// A copy of a C string, `None` for null.
///
/// # Safety
/// `text` must be null or a valid C string.
unsafe fn text_of(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller vouches for the rest.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}
