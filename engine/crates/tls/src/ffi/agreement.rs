//! The version, cipher and group that a finished handshake agreed on, and why one failed.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::slice;

use super::certificate::{KEY_EC, curve_of};
use super::symbols::{EVP_PKEY, SSL};
use super::{Api, ConnectionHandle};
use crate::group::registry_name;

const CTRL_GET_PEER_TMP_KEY: c_int = 109;
const CTRL_GET_NEGOTIATED_GROUP: c_int = 134;
/// Set in the answer to the above when OpenSSL has no number of its own for the group.
const GROUP_UNKNOWN: c_long = 0x0100_0000;
const TLS13: c_int = 0x304;
const KEY_DH: c_int = 28;

/// What one side of a connection has agreed on with the other.
pub(crate) struct Agreement<'a> {
    api: &'static Api,
    ssl: *mut SSL,
    is_complete: bool,
    /// Keeps the `SSL` alive.
    owner: PhantomData<&'a ()>,
}

impl Agreement<'_> {
    /// Of an `SSL` whose handshake is complete, or not yet.
    ///
    /// # Safety
    /// `ssl` must be live for as long as the answer is used.
    pub(super) unsafe fn of(api: &'static Api, ssl: *mut SSL, is_complete: bool) -> Self {
        Self {
            api,
            ssl,
            is_complete,
            owner: PhantomData,
        }
    }

    fn as_ptr(&self) -> *mut SSL {
        self.ssl
    }

    /// The protocol version, such as `TLSv1.3`.
    pub(crate) fn version(&self) -> &'static str {
        // SAFETY: live; the answer is a static string.
        unsafe { static_text((self.api.symbols.SSL_get_version)(self.as_ptr())) }
            .unwrap_or("unknown")
    }

    /// The cipher suite, such as `TLS_AES_128_GCM_SHA256`.
    pub(crate) fn cipher(&self) -> &'static str {
        let symbols = &self.api.symbols;
        // SAFETY: live; null is a valid argument of the second, whose answer is a static string.
        unsafe {
            let cipher = (symbols.SSL_get_current_cipher)(self.as_ptr());
            static_text((symbols.SSL_CIPHER_get_name)(cipher)).unwrap_or("unknown")
        }
    }

    /// The application protocol that the server chose of those offered.
    pub(crate) fn alpn(&self) -> Option<String> {
        let (mut name, mut length) = (ptr::null(), 0);
        let selected = self.api.symbols.SSL_get0_alpn_selected;
        // SAFETY: live; both are written, null and 0 where none was chosen.
        unsafe { selected(self.as_ptr(), &raw mut name, &raw mut length) };
        if name.is_null() {
            return None;
        }
        // SAFETY: not null, and N bytes long; copied before anything can change the connection.
        let name = unsafe { slice::from_raw_parts(name, usize::try_from(length).unwrap_or(0)) };
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// Whether a session was resumed.
    pub(crate) fn is_resumed(&self) -> bool {
        // SAFETY: live.
        unsafe { (self.api.symbols.SSL_session_reused)(self.as_ptr()) == 1 }
    }

    /// The group of the key exchange that took place, `None` if none did or before it is complete.
    pub(crate) fn group(&self) -> Option<Cow<'static, str>> {
        if !self.is_complete {
            // OpenSSL would look into a session that is not there yet.
            return None;
        }
        // SAFETY: live.
        let version = unsafe { (self.api.symbols.SSL_version)(self.as_ptr()) };
        if version < TLS13 && self.is_resumed() {
            // OpenSSL 3 would name the group of the handshake that made the session.
            return None;
        }
        self.named_group().or_else(|| self.group_of_peer_key())
    }

    /// The group by the name that OpenSSL 3 gives it.
    fn named_group(&self) -> Option<Cow<'static, str>> {
        let symbols = &self.api.symbols;
        if let Some(group_name) = symbols.SSL_get0_group_name {
            // SAFETY: live; the answer is null or a C string that lives as long as the connection.
            let name = unsafe { group_name(self.as_ptr()) };
            if name.is_null() {
                return None;
            }
            // SAFETY: as above, and copied or replaced at once.
            let name = unsafe { CStr::from_ptr(name) };
            return Some(registry_name(&name.to_string_lossy()));
        }
        if self.api.version.major < 3 {
            return None;
        }
        // SAFETY: live; this command takes nothing.
        let number = unsafe {
            let control = symbols.SSL_ctrl;
            control(self.as_ptr(), CTRL_GET_NEGOTIATED_GROUP, 0, ptr::null_mut())
        };
        match number {
            ..=0 => None,
            GROUP_UNKNOWN.. => Some(format!("{:#06x}", number & 0xffff).into()),
            _ => name_of_number(self.api, number),
        }
    }

    /// The group of the key that the peer sent for the key exchange.
    fn group_of_peer_key(&self) -> Option<Cow<'static, str>> {
        let symbols = &self.api.symbols;
        let mut key: *mut EVP_PKEY = ptr::null_mut();
        // SAFETY: live; this command writes a reference that is ours through the pointer if it
        // answers 1. The key is live until it is freed.
        unsafe {
            let out = (&raw mut key).cast::<c_void>();
            let answer = (symbols.SSL_ctrl)(self.as_ptr(), CTRL_GET_PEER_TMP_KEY, 0, out);
            if answer != 1 || key.is_null() {
                return None;
            }
            let group = match (symbols.EVP_PKEY_get_id)(key) {
                KEY_EC => curve_of(self.api, key).map(|curve| registry_name(&curve)),
                KEY_DH => Some(format!("DH {}", (symbols.EVP_PKEY_get_bits)(key)).into()),
                kind => name_of_number(self.api, c_long::from(kind)),
            };
            (symbols.EVP_PKEY_free)(key);
            group
        }
    }
}

impl ConnectionHandle {
    /// OpenSSL's number and words for why the peer's certificate was refused.
    pub(crate) fn certificate_refusal(&self) -> (i32, String) {
        let symbols = &self.api.symbols;
        // SAFETY: live; any number has a string.
        unsafe {
            let code = (symbols.SSL_get_verify_result)(self.as_ptr());
            let words = static_text((symbols.X509_verify_cert_error_string)(code));
            (
                i32::try_from(code).unwrap_or(i32::MAX),
                words.unwrap_or("unknown reason").to_owned(),
            )
        }
    }

    /// OpenSSL's name of an alert.
    pub(crate) fn alert_name(&self, alert: u8) -> &'static str {
        // SAFETY: any number has a string.
        unsafe { static_text((self.api.symbols.SSL_alert_desc_string_long)(alert.into())) }
            .unwrap_or("unknown")
    }
}

fn name_of_number(api: &Api, number: c_long) -> Option<Cow<'static, str>> {
    let number = c_int::try_from(number).ok().filter(|number| *number > 0)?;
    // SAFETY: any number; the answer is null or a static string.
    unsafe { static_text((api.symbols.OBJ_nid2sn)(number)) }.map(registry_name)
}

/// One of the library's own strings, which are never unloaded.
///
/// # Safety
/// `text` must be null or a C string in static memory.
unsafe fn static_text(text: *const c_char) -> Option<&'static str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller vouches for the rest.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().ok()
}
