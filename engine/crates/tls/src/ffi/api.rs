//! Opening the shared libraries, and the one loaded pair that the whole process uses.

use std::ffi::{CStr, OsStr, c_char, c_int, c_ulong};
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::ErrorQueue;
use super::symbols::Symbols;
use crate::library::VersionNumber;

/// The first version with TLS 1.3, and with every function of the table.
const OLDEST: VersionNumber = VersionNumber {
    major: 1,
    minor: 1,
    patch: 1,
};
/// `OPENSSL_VERSION`: the text such as `OpenSSL 3.0.19 27 Jan 2026`.
const VERSION_TEXT: c_int = 0;
/// `OPENSSL_INIT_NO_LOAD_CONFIG`.
const INIT_NO_LOAD_CONFIG: u64 = 0x80;
/// `OPENSSL_INIT_LOAD_CONFIG`.
const INIT_LOAD_CONFIG: u64 = 0x40;
/// `OPENSSL_INIT_LOAD_SSL_STRINGS` and `OPENSSL_INIT_LOAD_CRYPTO_STRINGS`.
const INIT_STRINGS: u64 = 0x0020_0000 | 0x02;
/// `OPENSSL_INIT_NO_ATEXIT`: threads may still be in OpenSSL when the process exits.
const INIT_NO_ATEXIT: u64 = 0x0008_0000;

/// Shared libraries that were opened but not yet taken into use; closed again when dropped.
pub(crate) struct OpenedLibrary {
    libssl: Library,
    _libcrypto: Option<Library>,
}

/// Why an opened library is not taken into use.
pub(crate) enum OpenFailure {
    /// It is something else; what, in words.
    NotOpenSsl(String),
    /// It is OpenSSL, but too old for the functions that are needed.
    TooOld(VersionNumber),
    /// OpenSSL's own reason for not starting.
    NotInitialised(String),
}

impl OpenedLibrary {
    /// Opens libssl, a path or a name for the dynamic linker, after the libcrypto that it shall
    /// use.
    ///
    /// The linker resolves what libssl needs by soname among the libraries that are already loaded,
    /// so opening libcrypto first decides which one libssl gets. `Err` is the linker's message.
    pub(crate) fn open(libssl: &OsStr, libcrypto: Option<&Path>) -> Result<Self, String> {
        let libcrypto = libcrypto.map(|path| dlopen(path.as_os_str())).transpose()?;
        Ok(Self {
            libssl: dlopen(libssl)?,
            _libcrypto: libcrypto,
        })
    }

    /// Its version, as a number and as the text that it gives, if it is an OpenSSL that will do.
    pub(crate) fn identify(&self) -> Result<(VersionNumber, String), OpenFailure> {
        let unversioned = || OpenFailure::NotOpenSsl("it does not say its version".to_owned());
        let (text, number) = self.version().ok_or_else(unversioned)?;
        if !text.starts_with("OpenSSL ") || text.contains("compatible") {
            return Err(OpenFailure::NotOpenSsl(format!("it calls itself {text}")));
        }
        let version = VersionNumber::from_openssl(number);
        if version < OLDEST {
            Err(OpenFailure::TooOld(version))
        } else {
            Ok((version, text))
        }
    }

    fn version(&self) -> Option<(String, c_ulong)> {
        type Text = unsafe extern "C" fn(c_int) -> *const c_char;
        type Number = unsafe extern "C" fn() -> c_ulong;
        // SAFETY: both functions have these types in every OpenSSL since 1.1.0 and in its forks,
        // and need no initialisation; the text is null or a static string.
        unsafe {
            let text = self.libssl.get::<Text>(b"OpenSSL_version").ok()?(VERSION_TEXT);
            let number = self.libssl.get::<Number>(b"OpenSSL_version_num").ok()?();
            (!text.is_null()).then(|| (CStr::from_ptr(text).to_string_lossy().into(), number))
        }
    }

    /// Addresses of a function in libssl and of one in libcrypto, to find the files they are in.
    pub(crate) fn addresses(&self) -> Option<(usize, usize)> {
        let address = |name: &[u8]| {
            // SAFETY: the symbol is taken as a bare address and never used as anything else.
            let symbol = unsafe { self.libssl.get::<*const ()>(name) }.ok()?;
            Some(symbol.into_raw().addr())
        };
        Some((address(b"SSL_CTX_new")?, address(b"OpenSSL_version")?))
    }

    /// Looks up all functions and starts the library; from then on it stays loaded for good.
    ///
    /// The machine's openssl.cnf is not read unless `read_configuration` says so.
    pub(crate) fn start(self, read_configuration: bool) -> Result<Api, OpenFailure> {
        let (version, _) = self.identify()?;
        // SAFETY: just identified as OpenSSL 1.1.1 or newer. Both handles are forgotten before the
        // table can be used, so that it is never closed.
        let symbols = unsafe { Symbols::find(&self.libssl) }
            .map_err(|name| OpenFailure::NotOpenSsl(format!("it has no function {name}")))?;
        std::mem::forget(self);
        let api = Api { symbols, version };
        let configuration = if read_configuration {
            INIT_LOAD_CONFIG
        } else {
            INIT_NO_LOAD_CONFIG
        };
        let options = configuration | INIT_STRINGS | INIT_NO_ATEXIT;
        // SAFETY: settings may be null.
        if unsafe { (api.symbols.OPENSSL_init_ssl)(options, ptr::null()) } == 1 {
            Ok(api)
        } else {
            Err(OpenFailure::NotInitialised(
                ErrorQueue::drain(&api).reason(),
            ))
        }
    }
}

fn dlopen(name: &OsStr) -> Result<Library, String> {
    // SAFETY: runs the initialisers of a library that the user named or that the machine provides,
    // and those of OpenSSL have no precondition. What else it may be is beyond any check.
    unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| error.to_string())
}

/// The functions of the OpenSSL that this process runs.
pub(crate) struct Api {
    pub(super) symbols: Symbols,
    pub(crate) version: VersionNumber,
}

static PROCESS_API: OnceLock<Api> = OnceLock::new();

/// Makes `api` the one that this process runs; if it already runs one, that one stays.
pub(crate) fn install(api: Api) -> &'static Api {
    PROCESS_API.get_or_init(|| api)
}

/// What this process runs, for callbacks, which OpenSSL calls without it.
pub(crate) fn process_api() -> Option<&'static Api> {
    PROCESS_API.get()
}
