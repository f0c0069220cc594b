//! Which OpenSSL this process runs: found, loaded, checked and reported.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::error::TlsError;
use crate::ffi::{self, Api, OpenFailure, OpenedLibrary};
use crate::library_files::{LibraryFiles, explain_linker_message};
use crate::mapped_files::MappedFiles;

/// What the dynamic linker is asked for when no path is given, in this order.
pub(crate) const NAMES: [&str; 3] = ["libssl.so.4", "libssl.so.3", "libssl.so.1.1"];

/// A version of OpenSSL, as far as it is ordered by numbers; 1.1.1's letter is in the text only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionNumber {
    /// 3 in 3.0.19.
    pub major: u8,
    /// 0 in 3.0.19.
    pub minor: u8,
    /// 19 in 3.0.19.
    pub patch: u8,
}

impl VersionNumber {
    /// From `OpenSSL_version_num`: `MNNFFPPS` before 3.0, `MNN00PPS` since (`man OpenSSL_version`).
    pub(crate) fn from_openssl(number: u64) -> Self {
        let byte = |shift: u32| u8::try_from(number >> shift & 0xff).unwrap_or(u8::MAX);
        let major = u8::try_from(number >> 28).unwrap_or(u8::MAX);
        Self {
            major,
            minor: byte(20),
            patch: if major < 3 { byte(12) } else { byte(4) },
        }
    }
}

impl fmt::Display for VersionNumber {
    /// As in `3.0.19`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The OpenSSL that this process runs. Copies are the same library, which is never unloaded.
#[derive(Clone, Copy)]
pub struct Library {
    loaded: &'static Loaded,
}

struct Loaded {
    api: &'static Api,
    version_text: String,
    libssl_path: PathBuf,
    libcrypto_path: PathBuf,
    /// Found by the dynamic linker, not by a path.
    by_name: bool,
}

static LOADED: Mutex<Option<&'static Loaded>> = Mutex::new(None);

impl Library {
    /// Loads a libssl and the libcrypto beside it, and proves that these very files were mapped.
    ///
    /// `path` is a libssl or a directory, whose newest is taken; `None` is the machine's newest, as
    /// the dynamic linker finds it. The machine's openssl.cnf is not read, so that its settings do
    /// not change results, unless the environment variable `OPENSSL_CONF` names a file on purpose.
    /// A process can hold one libssl: asking for the same one again gives the same `Library`.
    pub fn load(path: Option<&Path>) -> Result<Self, TlsError> {
        let files = path.map(LibraryFiles::find).transpose()?;
        let mut loaded = LOADED
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(loaded) = *loaded {
            return Self::reuse(loaded, files.as_ref());
        }
        let new = match &files {
            Some(files) => load_files(files)?,
            None => load_by_name()?,
        };
        let new: &'static Loaded = Box::leak(Box::new(new));
        *loaded = Some(new);
        Ok(Self { loaded: new })
    }

    fn reuse(loaded: &'static Loaded, files: Option<&LibraryFiles>) -> Result<Self, TlsError> {
        let same = match files {
            Some(files) => files.libssl == loaded.libssl_path,
            None => loaded.by_name,
        };
        if same {
            return Ok(Self { loaded });
        }
        let requested = files.map_or_else(
            || "the machine's libssl".into(),
            |files| files.libssl.clone(),
        );
        Err(TlsError::OtherLibraryInUse {
            loaded: loaded.libssl_path.clone(),
            requested,
        })
    }

    /// What the library says of itself: `OpenSSL 3.0.19 27 Jan 2026`.
    pub fn version_text(&self) -> &'static str {
        &self.loaded.version_text
    }

    /// Its version as numbers.
    pub fn version(&self) -> VersionNumber {
        self.loaded.api.version
    }

    /// The libssl that is mapped into this process, without symbolic links.
    pub fn libssl_path(&self) -> &'static Path {
        &self.loaded.libssl_path
    }

    /// The libcrypto that is mapped into this process, without symbolic links.
    pub fn libcrypto_path(&self) -> &'static Path {
        &self.loaded.libcrypto_path
    }

    /// Encrypts for the owner of an RSA key, `pem` being its public half (`BEGIN PUBLIC KEY`), with
    /// OAEP and SHA-1, as `caching_sha2_password` wants it where there is no TLS.
    pub fn encrypt_rsa_oaep(&self, pem: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, TlsError> {
        ffi::encrypt_rsa_oaep(self.loaded.api, pem, plaintext).map_err(|reason| TlsError::Library {
            operation: "RSA-OAEP encryption",
            reason,
        })
    }

    pub(crate) fn api(self) -> &'static Api {
        self.loaded.api
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Library")
            .field("version", &self.version_text())
            .field("libssl", &self.libssl_path())
            .field("libcrypto", &self.libcrypto_path())
            .finish()
    }
}

fn load_files(files: &LibraryFiles) -> Result<Loaded, TlsError> {
    let opened = OpenedLibrary::open(files.libssl.as_os_str(), Some(&files.libcrypto)).map_err(
        |message| {
            let reason = explain_linker_message(&message);
            TlsError::Unloadable {
                path: files.libssl.clone(),
                reason,
            }
        },
    )?;
    take_into_use(opened, &files.libssl, Some(files))
}

fn load_by_name() -> Result<Loaded, TlsError> {
    let mut refusals = Vec::new();
    for name in NAMES {
        match OpenedLibrary::open(OsStr::new(name), None) {
            Ok(opened) => return take_into_use(opened, Path::new(name), None),
            Err(message) => {
                refusals.push(format!("{name}: {}", explain_linker_message(&message)));
            }
        }
    }
    Err(TlsError::NoLibrary {
        reason: refusals.join("; "),
    })
}

/// Checks what was opened as `path`, that it is these `files` (None: whatever the linker found), starts
/// it and makes it the one that this process runs. What is refused is closed again.
fn take_into_use(
    opened: OpenedLibrary,
    path: &Path,
    files: Option<&LibraryFiles>,
) -> Result<Loaded, TlsError> {
    let refuse = |failure| refusal(path, failure);
    let (_, version_text) = opened.identify().map_err(refuse)?;
    let mapped = MappedFiles::of(&opened)?;
    if let Some(files) = files {
        check_mapped(&mapped, files)?;
    }
    let read_configuration = std::env::var_os("OPENSSL_CONF").is_some_and(|file| !file.is_empty());
    let api = ffi::install(opened.start(read_configuration).map_err(refuse)?);
    Ok(Loaded {
        api,
        version_text,
        libssl_path: mapped.libssl,
        libcrypto_path: mapped.libcrypto,
        by_name: files.is_none(),
    })
}

/// Refuses what is mapped unless it is what was asked for.
fn check_mapped(mapped: &MappedFiles, files: &LibraryFiles) -> Result<(), TlsError> {
    if (&mapped.libssl, &mapped.libcrypto) == (&files.libssl, &files.libcrypto) {
        return Ok(());
    }
    let reason = format!(
        "expected {} and {}, found {} and {}",
        files.libssl.display(),
        files.libcrypto.display(),
        mapped.libssl.display(),
        mapped.libcrypto.display()
    );
    Err(TlsError::WrongFilesMapped { reason })
}

fn refusal(path: &Path, failure: OpenFailure) -> TlsError {
    let path = path.to_owned();
    match failure {
        OpenFailure::NotOpenSsl(found) => TlsError::NotOpenSsl { path, found },
        OpenFailure::TooOld(version) => TlsError::TooOld { path, version },
        OpenFailure::NotInitialised(reason) => TlsError::Unloadable {
            path,
            reason: format!("it does not start: {reason}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::VersionNumber;

    #[test]
    fn version_numbers_of_both_layouts_are_read() {
        for (number, text) in [
            (0x1010_117f, "1.1.1"),
            (0x1010_00cf, "1.1.0"),
            (0x3000_0130, "3.0.19"),
            (0x3060_0050, "3.6.5"),
            (0x4000_0030, "4.0.3"),
            (0x2000_0000, "2.0.0"),
        ] {
            assert_eq!(VersionNumber::from_openssl(number).to_string(), text);
        }
    }
}
