//! What all TLS connections of a process share, built once from the settings.

use std::ffi::CString;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::{Config, Verify, Version};
use crate::error::TlsError;
use crate::ffi::{ContextHandle, KeyLog};
use crate::library::Library;

/// Everything that the connections of a process share. Cheap to clone, and the same for all
/// threads.
#[derive(Clone)]
pub struct Context {
    pub(crate) handle: Arc<ContextHandle>,
    pub(crate) verify: Verify,
    pub(crate) resumption: bool,
    pub(crate) observe_messages: bool,
    /// Tells sessions of this context from those of another.
    pub(crate) number: u64,
}

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

impl Context {
    /// Builds a context of `library` from `config`. A refused setting is named in the error.
    pub fn new(library: Library, config: &Config) -> Result<Self, TlsError> {
        let mut handle = ContextHandle::new(library.api()).map_err(|reason| TlsError::Library {
            operation: "SSL_CTX_new",
            reason,
        })?;
        set_common(&mut handle, config)?;
        handle.set_resumption(config.resumption);
        if let Some(path) = &config.keylog_file {
            let log = KeyLog::new(open_key_log(path)?);
            handle.set_key_log(log).map_err(refused("keylog_file"))?;
        }
        Ok(Self {
            handle: Arc::new(handle),
            verify: config.verify,
            resumption: config.resumption,
            observe_messages: config.observe_messages,
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
        })
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Context")
            .field("number", &self.number)
            .field("verify", &self.verify)
            .field("resumption", &self.resumption)
            .finish_non_exhaustive()
    }
}

/// What either side of a connection can be given: versions, algorithms, trust, a certificate of its own.
pub(crate) fn set_common(handle: &mut ContextHandle, config: &Config) -> Result<(), TlsError> {
    set_versions(handle, config)?;
    set_algorithms(handle, config)?;
    set_trust(handle, config)?;
    set_own_certificate(handle, config)
}

fn set_versions(handle: &mut ContextHandle, config: &Config) -> Result<(), TlsError> {
    let (min, max) = (config.min_version, config.max_version);
    if let (Some(min), Some(max)) = (min, max) {
        if min > max {
            let reason = format!("{min} is above max_version {max}");
            return Err(TlsError::Setting {
                field: "min_version",
                reason,
            });
        }
    }
    let is_old = max.is_some_and(|max| max < Version::Tls12);
    if is_old {
        handle.allow_old_servers();
    }
    // Some distributions build OpenSSL with a minimum of its own.
    if let Some(min) = min.or(is_old.then_some(Version::Tls10)) {
        handle
            .set_min_version(min)
            .map_err(refused("min_version"))?;
    }
    max.map_or(Ok(()), |max| handle.set_max_version(max))
        .map_err(refused("max_version"))
}

fn set_algorithms(handle: &mut ContextHandle, config: &Config) -> Result<(), TlsError> {
    if config.weak_dh {
        handle.allow_weak_dh();
    }
    if let Some(list) = &config.cipher_list {
        let list = c_string("cipher_list", list.as_bytes())?;
        handle
            .set_cipher_list(&list)
            .map_err(refused("cipher_list"))?;
    }
    if let Some(list) = &config.ciphersuites {
        let list = c_string("ciphersuites", list.as_bytes())?;
        handle
            .set_ciphersuites(&list)
            .map_err(refused("ciphersuites"))?;
    }
    if let Some(list) = &config.groups {
        let list = c_string("groups", list.as_bytes())?;
        handle.set_groups(&list).map_err(refused("groups"))?;
    }
    if config.alpn.is_empty() {
        return Ok(());
    }
    let names = protocol_names(&config.alpn)?;
    handle.set_alpn(&names).map_err(refused("alpn"))
}

/// Names of protocols as they travel: each behind its length in one byte (RFC 7301, section 3.1).
fn protocol_names(names: &[String]) -> Result<Vec<u8>, TlsError> {
    let mut wire = Vec::new();
    for name in names {
        let length = u8::try_from(name.len()).unwrap_or_default();
        if length == 0 {
            return Err(TlsError::Setting {
                field: "alpn",
                reason: "a protocol's name has between 1 and 255 bytes".to_owned(),
            });
        }
        wire.push(length);
        wire.extend_from_slice(name.as_bytes());
    }
    Ok(wire)
}

fn set_trust(handle: &mut ContextHandle, config: &Config) -> Result<(), TlsError> {
    let verify = config.verify != Verify::None;
    handle.set_verify(verify);
    match &config.ca_file {
        Some(path) => {
            let path = readable("ca_file", path)?;
            handle.trust_file(&path).map_err(refused("ca_file"))
        }
        None if verify => handle.trust_default().map_err(refused("ca_file")),
        None => Ok(()),
    }
}

/// Like MySQL's own client, takes the key from the certificate's file, or the other way round, if
/// only one of them is given.
fn set_own_certificate(handle: &mut ContextHandle, config: &Config) -> Result<(), TlsError> {
    let files = (&config.certificate_file, &config.key_file);
    let (certificate, key) = match files {
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(both), None) | (None, Some(both)) => (both, both),
        (None, None) => return Ok(()),
    };
    let certificate = readable("certificate_file", certificate)?;
    handle
        .use_certificate(&certificate)
        .map_err(refused("certificate_file"))?;
    let path = readable("key_file", key)?;
    handle.use_key(&path).map_err(|reason| {
        let reason = if is_encrypted(key) {
            "the key is encrypted".to_owned()
        } else {
            reason
        };
        TlsError::Setting {
            field: "key_file",
            reason,
        }
    })
}

/// Whether a PEM file holds a key with a password, of PKCS #8 or of the older kind (RFC 1421).
fn is_encrypted(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|pem| pem.contains("ENCRYPTED"))
}

/// Opens for appending; what is created is for its owner's eyes only.
fn open_key_log(path: &Path) -> Result<File, TlsError> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| {
            let reason = format!("{} cannot be opened: {error}", path.display());
            TlsError::Setting {
                field: "keylog_file",
                reason,
            }
        })
}

/// The path for OpenSSL, once it is sure that the file can be read: its own words for that are
/// poor.
fn readable(field: &'static str, path: &Path) -> Result<CString, TlsError> {
    File::open(path).map_err(|error| {
        let reason = format!("{} cannot be read: {error}", path.display());
        TlsError::Setting { field, reason }
    })?;
    c_string(field, path.as_os_str().as_bytes())
}

/// `text` for OpenSSL.
pub(crate) fn c_string(field: &'static str, text: &[u8]) -> Result<CString, TlsError> {
    CString::new(text).map_err(|_| TlsError::Setting {
        field,
        reason: "it contains a NUL byte".to_owned(),
    })
}

/// Puts the field's name before OpenSSL's reason.
fn refused(field: &'static str) -> impl FnOnce(String) -> TlsError {
    move |reason| TlsError::Setting { field, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_names_travel_behind_their_lengths() {
        let wire = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            protocol_names(&names)
        };
        // The example of RFC 7301, section 6, in its names.
        let two = wire(&["spdy/1", "http/1.1"]).unwrap();
        assert_eq!(two, b"\x06spdy/1\x08http/1.1");
        for refused in ["", &"x".repeat(256)] {
            let error = wire(&["postgresql", refused]).unwrap_err();
            assert!(error.to_string().contains("alpn"), "{error}");
        }
    }
}
