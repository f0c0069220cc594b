//! From the path that a user gave to the two files that belong together, checked before loading.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::TlsError;
use crate::library::NAMES;

/// A libssl and the libcrypto beside it, both without symbolic links.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LibraryFiles {
    pub(crate) libssl: PathBuf,
    pub(crate) libcrypto: PathBuf,
}

/// The part of an ELF file's header that says whether this process could load it.
const HEADER_BYTES: usize = 20;
const ELF_MAGIC: &[u8] = b"\x7fELF";

impl LibraryFiles {
    /// The files at `path`, a libssl or a directory with one in it.
    pub(crate) fn find(path: &Path) -> Result<Self, TlsError> {
        let libssl = if path.is_dir() {
            libssl_in(path)?
        } else {
            path.to_owned()
        };
        check_header(&libssl)?;
        let beside = libcrypto_beside(&libssl)?;
        check_header(&beside)?;
        Ok(Self {
            libssl: real_path(&libssl)?,
            libcrypto: real_path(&beside)?,
        })
    }
}

fn libssl_in(directory: &Path) -> Result<PathBuf, TlsError> {
    NAMES
        .iter()
        .map(|name| directory.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| unloadable(directory, format!("it holds none of {}", NAMES.join(", "))))
}

/// The libcrypto of the same soname: `libcrypto.so.3` beside `libssl.so.3`. Where `libssl` is a
/// link such as `libssl.so`, the file that it leads to decides.
fn libcrypto_beside(libssl: &Path) -> Result<PathBuf, TlsError> {
    let names = [libssl.to_owned(), real_path(libssl)?];
    let candidates = names.iter().filter_map(|file| {
        let name = file.file_name()?.to_str()?;
        let name = format!("libcrypto{}", name.strip_prefix("libssl")?);
        Some(file.with_file_name(name))
    });
    let candidates: Vec<PathBuf> = candidates.collect();
    if let Some(file) = candidates.iter().rev().find(|file| file.is_file()) {
        return Ok(file.clone());
    }
    Err(unloadable(
        libssl,
        candidates.last().map_or_else(
            || "its name does not begin with libssl, so its libcrypto cannot be told".to_owned(),
            |file| {
                format!(
                    "the libcrypto that belongs to it, {}, is missing",
                    file.display()
                )
            },
        ),
    ))
}

/// Refuses what is no shared library for this machine, in clearer words than the linker's.
fn check_header(file: &Path) -> Result<(), TlsError> {
    let header = read_header(file).map_err(|error| unloadable(file, error.to_string()))?;
    let own = read_header(Path::new("/proc/self/exe"))
        .map_err(|error| unloadable(file, format!("this program cannot be read: {error}")))?;
    if !header.starts_with(ELF_MAGIC) || header.len() < HEADER_BYTES {
        return Err(unloadable(file, "it is not a shared library".to_owned()));
    }
    // Class, byte order and machine, at 4, 5 and 18 (man 5 elf).
    if header[4..6] != own[4..6] || header[18..20] != own[18..20] {
        return Err(unloadable(
            file,
            "it is built for another kind of machine".to_owned(),
        ));
    }
    Ok(())
}

fn read_header(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    File::open(file)?
        .take(HEADER_BYTES as u64)
        .read_to_end(&mut header)?;
    Ok(header)
}

fn real_path(file: &Path) -> Result<PathBuf, TlsError> {
    fs::canonicalize(file).map_err(|error| unloadable(file, error.to_string()))
}

fn unloadable(path: &Path, reason: String) -> TlsError {
    TlsError::Unloadable {
        path: path.to_owned(),
        reason,
    }
}

/// The linker's message, in plain words where it is about the C library.
pub(crate) fn explain_linker_message(message: &str) -> String {
    let needed = message
        .split(['`', '\''])
        .find_map(|word| word.strip_prefix("GLIBC_"))
        .filter(|_| message.contains("not found"));
    match needed {
        Some(version) => format!("it needs glibc {version}, which is newer than this machine's"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::explain_linker_message;

    #[test]
    fn a_message_about_the_c_library_names_the_version_that_is_needed() {
        let message = "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found \
                       (required by /opt/openssl/lib/libcrypto.so.3)";
        let plain = explain_linker_message(message);
        assert_eq!(
            plain,
            "it needs glibc 2.38, which is newer than this machine's"
        );
    }

    #[test]
    fn any_other_message_stays_as_it_is() {
        let message = "libssl.so.4: cannot open shared object file: No such file or directory";
        assert_eq!(explain_linker_message(message), message);
    }
}
