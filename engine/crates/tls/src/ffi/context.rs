//! An `SSL_CTX`: made and set by one thread, then shared and not changed any more.

use std::ffi::{CStr, c_int, c_long, c_uint, c_void};
use std::ptr::{self, NonNull};

use super::key_log::{APPLICATION_DATA, KeyLog, on_key_log};
use super::notes::on_new_session;
use super::public_key::refuse_password;
use super::security::{keep_judgement, on_security_question};
use super::symbols::SSL_CTX;
use super::{Api, ErrorQueue};
use crate::config::{Role, Version};
use crate::library::VersionNumber;

const CTRL_MODE: c_int = 33;
const CTRL_SET_READ_AHEAD: c_int = 41;
const CTRL_SET_SESSION_CACHE_MODE: c_int = 44;
const CTRL_SET_GROUPS_LIST: c_int = 92;
const CTRL_SET_MIN_VERSION: c_int = 123;
const CTRL_SET_MAX_VERSION: c_int = 124;

const MODE_ENABLE_PARTIAL_WRITE: c_long = 0x1;
const MODE_ACCEPT_MOVING_WRITE_BUFFER: c_long = 0x2;
const SESSION_CACHE_OFF: c_long = 0x0;
const SESSION_CACHE_CLIENT_NO_INTERNAL: c_long = 0x1 | 0x100 | 0x200;
const OPTION_LEGACY_SERVER_CONNECT: u64 = 0x4;
const OPTION_DONT_INSERT_EMPTY_FRAGMENTS: u64 = 0x800;
const OPTION_IGNORE_UNEXPECTED_EOF: u64 = 0x80;
const VERIFY_NONE: c_int = 0;
const VERIFY_PEER: c_int = 1;
const FILETYPE_PEM: c_int = 1;

/// From this version on, the empty record that goes before data in TLS 1.0 is a write of its own. The
/// yaSSL in MySQL 5.6 takes it for the end of the connection when the data is not there yet.
const WRITES_EMPTY_RECORDS_ALONE: VersionNumber = VersionNumber {
    major: 3,
    minor: 2,
    patch: 0,
};

/// The owner of an `SSL_CTX`. Its setters want `&mut self`, so none can run once it is shared.
///
/// Those that can be refused give OpenSSL's reason as the error.
pub(crate) struct ContextHandle {
    pub(super) api: &'static Api,
    context: NonNull<SSL_CTX>,
    key_log: Option<Box<KeyLog>>,
}

// SAFETY: nothing in an SSL_CTX belongs to the thread that made it.
unsafe impl Send for ContextHandle {}
// SAFETY: through `&self` it is only given to SSL_new, which counts references atomically and locks
// what it copies; everything that changes it needs `&mut self`. `KeyLog` is `Sync` by itself.
unsafe impl Sync for ContextHandle {}

impl ContextHandle {
    /// A client context of any version with the library's defaults, and with what every connection
    /// of this crate needs: read-ahead (one read call for a record's header and body together),
    /// partial writes, and an end of the stream without a `close_notify` taken for an end.
    pub(crate) fn new(api: &'static Api) -> Result<Self, String> {
        let mut handle = Self::bare(api, Role::Client)?;
        handle.control(
            CTRL_MODE,
            MODE_ENABLE_PARTIAL_WRITE | MODE_ACCEPT_MOVING_WRITE_BUFFER,
        );
        handle.control(CTRL_SET_READ_AHEAD, 1);
        if api.version.major >= 3 {
            handle.set_options(OPTION_IGNORE_UNEXPECTED_EOF);
        }
        Ok(handle)
    }

    /// A context of any version with the library's defaults and nothing else, but that it never asks for a
    /// password.
    pub(crate) fn bare(api: &'static Api, role: Role) -> Result<Self, String> {
        let symbols = &api.symbols;
        // SAFETY: the methods are static; a null answer is refused.
        let context = unsafe {
            (symbols.SSL_CTX_new)(match role {
                Role::Client => (symbols.TLS_client_method)(),
                Role::Server => (symbols.TLS_server_method)(),
            })
        };
        let context = NonNull::new(context).ok_or_else(|| ErrorQueue::drain(api).reason())?;
        let handle = Self {
            api,
            context,
            key_log: None,
        };
        // SAFETY: live; the callback touches nothing but its arguments.
        unsafe { (symbols.SSL_CTX_set_default_passwd_cb)(handle.as_ptr(), refuse_password) };
        Ok(handle)
    }

    /// The context itself, live for as long as `self` is.
    pub(super) fn as_ptr(&self) -> *mut SSL_CTX {
        self.context.as_ptr()
    }

    /// The key log, if there is one.
    pub(crate) fn key_log(&self) -> Option<&KeyLog> {
        self.key_log.as_deref()
    }

    pub(crate) fn set_min_version(&mut self, version: Version) -> Result<(), String> {
        let answer = self.control(CTRL_SET_MIN_VERSION, protocol_number(version));
        self.checked(answer == 1)
    }

    pub(crate) fn set_max_version(&mut self, version: Version) -> Result<(), String> {
        let answer = self.control(CTRL_SET_MAX_VERSION, protocol_number(version));
        self.checked(answer == 1)
    }

    /// What servers that know no TLS 1.2 need; see [`crate::Config`].
    pub(crate) fn allow_old_servers(&mut self) {
        // SAFETY: live, and the level is one that exists.
        unsafe { (self.api.symbols.SSL_CTX_set_security_level)(self.as_ptr(), 0) };
        self.set_options(OPTION_LEGACY_SERVER_CONNECT);
        if self.api.version >= WRITES_EMPTY_RECORDS_ALONE {
            self.set_options(OPTION_DONT_INSERT_EMPTY_FRAGMENTS);
        }
    }

    /// Takes Diffie-Hellman groups of any size; all else is left to OpenSSL's own judgement.
    pub(crate) fn allow_weak_dh(&mut self) {
        let symbols = &self.api.symbols;
        // SAFETY: live; the callback calls nothing but what OpenSSL had set before, which is kept
        // first.
        unsafe {
            if let Some(own) = (symbols.SSL_CTX_get_security_callback)(self.as_ptr()) {
                keep_judgement(own);
            }
            (symbols.SSL_CTX_set_security_callback)(self.as_ptr(), on_security_question);
        }
    }

    pub(crate) fn set_cipher_list(&mut self, list: &CStr) -> Result<(), String> {
        let set = self.api.symbols.SSL_CTX_set_cipher_list;
        // SAFETY: live; the list is a C string and is copied.
        let answer = unsafe { set(self.as_ptr(), list.as_ptr()) };
        self.checked(answer == 1)
    }

    pub(crate) fn set_ciphersuites(&mut self, list: &CStr) -> Result<(), String> {
        let set = self.api.symbols.SSL_CTX_set_ciphersuites;
        // SAFETY: live; the list is a C string and is copied.
        let answer = unsafe { set(self.as_ptr(), list.as_ptr()) };
        self.checked(answer == 1)
    }

    pub(crate) fn set_groups(&mut self, list: &CStr) -> Result<(), String> {
        let control = self.api.symbols.SSL_CTX_ctrl;
        let argument = list.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: live; this command reads a C string, does not change it, and copies it.
        let answer = unsafe { control(self.as_ptr(), CTRL_SET_GROUPS_LIST, 0, argument) };
        let queue = ErrorQueue::drain(self.api);
        let unexplained = "this version of OpenSSL does not have every group in the list";
        if answer == 1 {
            Ok(())
        } else {
            Err(queue.reason_or(unexplained))
        }
    }

    /// Offers application protocols, which are in the form of the wire.
    pub(crate) fn set_alpn(&mut self, names: &[u8]) -> Result<(), String> {
        let set = self.api.symbols.SSL_CTX_set_alpn_protos;
        let length = c_uint::try_from(names.len())
            .map_err(|_| "more names than a hello can hold".to_owned())?;
        // SAFETY: live; N bytes are there, and they are copied.
        let answer = unsafe { set(self.as_ptr(), names.as_ptr(), length) };
        // Unlike the others, 0 is success (`man SSL_CTX_set_alpn_protos`).
        self.checked(answer == 0)
    }

    /// Makes the handshake fail if the peer's certificate does not stand the check, or not.
    pub(crate) fn set_verify(&mut self, verify: bool) {
        let mode = if verify { VERIFY_PEER } else { VERIFY_NONE };
        // SAFETY: live; no callback is set.
        unsafe { (self.api.symbols.SSL_CTX_set_verify)(self.as_ptr(), mode, ptr::null()) };
    }

    pub(crate) fn trust_file(&mut self, file: &CStr) -> Result<(), String> {
        let load = self.api.symbols.SSL_CTX_load_verify_locations;
        // SAFETY: live; a C string, and null for no directory.
        let answer = unsafe { load(self.as_ptr(), file.as_ptr(), ptr::null()) };
        self.checked(answer == 1)
    }

    pub(crate) fn trust_default(&mut self) -> Result<(), String> {
        // SAFETY: live.
        let answer = unsafe { (self.api.symbols.SSL_CTX_set_default_verify_paths)(self.as_ptr()) };
        self.checked(answer == 1)
    }

    /// How many authorities are trusted so far: what is loaded at once from a file, not what is looked
    /// up in a directory when it is needed.
    pub(crate) fn authorities(&self) -> Option<u32> {
        let symbols = &self.api.symbols;
        // SAFETY: live, and so are its store and the store's objects; nothing else loads into it here.
        let count = unsafe {
            let store = (symbols.SSL_CTX_get_cert_store)(self.as_ptr());
            (symbols.OPENSSL_sk_num)((symbols.X509_STORE_get0_objects)(store))
        };
        u32::try_from(count).ok()
    }

    pub(crate) fn use_certificate(&mut self, file: &CStr) -> Result<(), String> {
        let load = self.api.symbols.SSL_CTX_use_certificate_chain_file;
        // SAFETY: live; a C string.
        let answer = unsafe { load(self.as_ptr(), file.as_ptr()) };
        self.checked(answer == 1)
    }

    /// Loads the private key and checks that it belongs to the certificate loaded before.
    pub(crate) fn use_key(&mut self, file: &CStr) -> Result<(), String> {
        let symbols = &self.api.symbols;
        // SAFETY: live; a C string.
        let answer = unsafe {
            (symbols.SSL_CTX_use_PrivateKey_file)(self.as_ptr(), file.as_ptr(), FILETYPE_PEM) == 1
                && (symbols.SSL_CTX_check_private_key)(self.as_ptr()) == 1
        };
        self.checked(answer)
    }

    /// Hands new sessions to their connection, or keeps none. OpenSSL's own cache stays empty: it
    /// is of no use to a client and takes a lock that all threads would share.
    pub(crate) fn set_resumption(&mut self, resumption: bool) {
        let mode = if resumption {
            SESSION_CACHE_CLIENT_NO_INTERNAL
        } else {
            SESSION_CACHE_OFF
        };
        self.control(CTRL_SET_SESSION_CACHE_MODE, mode);
        if resumption {
            let set = self.api.symbols.SSL_CTX_sess_set_new_cb;
            // SAFETY: live; every connection of this crate has the application data it wants.
            unsafe { set(self.as_ptr(), on_new_session) };
        }
    }

    /// Logs the secrets of all connections.
    pub(crate) fn set_key_log(&mut self, key_log: KeyLog) -> Result<(), String> {
        let data = ptr::from_ref(self.key_log.insert(Box::new(key_log)).as_ref());
        let symbols = &self.api.symbols;
        // SAFETY: live; the box stays where it is until `self` is dropped, and every connection
        // holds the handle. The callback takes the data for a `KeyLog`, which it is.
        let answer = unsafe {
            let data = data.cast_mut().cast::<c_void>();
            let answer = (symbols.SSL_CTX_set_ex_data)(self.as_ptr(), APPLICATION_DATA, data);
            (symbols.SSL_CTX_set_keylog_callback)(self.as_ptr(), on_key_log);
            answer
        };
        self.checked(answer == 1)
    }

    /// One of the commands that take a number and no pointer.
    fn control(&mut self, command: c_int, number: c_long) -> c_long {
        // SAFETY: live; the callers in this file pass such commands only.
        unsafe { (self.api.symbols.SSL_CTX_ctrl)(self.as_ptr(), command, number, ptr::null_mut()) }
    }

    fn set_options(&mut self, options: u64) {
        // SAFETY: live. 1.1.1 takes an unsigned long, which has 64 bits here.
        unsafe { (self.api.symbols.SSL_CTX_set_options)(self.as_ptr(), options) };
    }

    /// The outcome of a setter; also takes off the queue what OpenSSL put there without failing.
    fn checked(&self, accepted: bool) -> Result<(), String> {
        let queue = ErrorQueue::drain(self.api);
        if accepted {
            Ok(())
        } else {
            Err(queue.reason())
        }
    }
}

impl Drop for ContextHandle {
    fn drop(&mut self) {
        // SAFETY: gives back the reference held; the key log is dropped after it.
        unsafe { (self.api.symbols.SSL_CTX_free)(self.as_ptr()) };
    }
}

fn protocol_number(version: Version) -> c_long {
    match version {
        Version::Tls10 => 0x301,
        Version::Tls11 => 0x302,
        Version::Tls12 => 0x303,
        Version::Tls13 => 0x304,
    }
}
