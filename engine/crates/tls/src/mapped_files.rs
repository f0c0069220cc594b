//! Proof, from the kernel's view of this process, of which libssl and libcrypto are in it.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::TlsError;
use crate::ffi::OpenedLibrary;

/// The one libssl and the one libcrypto that are mapped into this process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MappedFiles {
    pub(crate) libssl: PathBuf,
    pub(crate) libcrypto: PathBuf,
}

impl MappedFiles {
    /// The files that an opened library's functions are in; an error if there are others like them.
    pub(crate) fn of(opened: &OpenedLibrary) -> Result<Self, TlsError> {
        let wrong = |reason: String| TlsError::WrongFilesMapped { reason };
        let maps = fs::read_to_string("/proc/self/maps")
            .map_err(|error| wrong(format!("/proc/self/maps cannot be read: {error}")))?;
        let (in_libssl, in_libcrypto) = opened
            .addresses()
            .ok_or_else(|| wrong("libssl has no functions".to_owned()))?;
        find(&maps, in_libssl, in_libcrypto).map_err(wrong)
    }
}

fn find(maps: &str, in_libssl: usize, in_libcrypto: usize) -> Result<MappedFiles, String> {
    let mappings: Vec<_> = maps.lines().filter_map(mapping).collect();
    let file_at = |address: usize| {
        let mapping = mappings.iter().find(|(range, _)| range.contains(&address));
        mapping.map(|(_, file)| (*file).to_owned())
    };
    let libssl = file_at(in_libssl).ok_or("libssl's code is in no file")?;
    let libcrypto = file_at(in_libcrypto).ok_or("libcrypto's code is in no file")?;
    for (name, own) in [("libssl.so", &libssl), ("libcrypto.so", &libcrypto)] {
        let files: BTreeSet<&Path> = mappings
            .iter()
            .map(|(_, file)| *file)
            .filter(|file| *file == own || file_name_begins(file, name))
            .collect();
        if files.len() > 1 {
            let list: Vec<_> = files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            return Err(format!("more than one {name} at once: {}", list.join(", ")));
        }
    }
    Ok(MappedFiles { libssl, libcrypto })
}

/// The addresses and the file of a line of `/proc/self/maps` (man 5 proc), if it has a file.
fn mapping(line: &str) -> Option<(Range<usize>, &Path)> {
    let (low, high) = line.split_whitespace().next()?.split_once('-')?;
    let low = usize::from_str_radix(low, 16).ok()?;
    let high = usize::from_str_radix(high, 16).ok()?;
    let file = line.find('/').map(|start| Path::new(&line[start..]))?;
    Some((low..high, file))
}

fn file_name_begins(file: &Path, name: &str) -> bool {
    file.file_name()
        .is_some_and(|file| file.to_string_lossy().starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::{MappedFiles, find};

    const MAPS: &str = "\
1000-2000 r--p 00000000 08:01 11                         /opt/a/libssl.so.3
2000-3000 r-xp 00001000 08:01 11                         /opt/a/libssl.so.3
5000-6000 r-xp 00000000 08:01 12                         /opt/a/with space/libcrypto.so.3
7000-8000 rw-p 00000000 00:00 0                          [heap]
8000-9000 rw-p 00000000 00:00 0 
";

    #[test]
    fn files_are_told_by_the_addresses_of_their_functions() {
        let expected = MappedFiles {
            libssl: "/opt/a/libssl.so.3".into(),
            libcrypto: "/opt/a/with space/libcrypto.so.3".into(),
        };
        assert_eq!(find(MAPS, 0x2800, 0x5000), Ok(expected));
    }

    #[test]
    fn a_second_libcrypto_is_refused_by_name() {
        let maps = format!("{MAPS}a000-b000 r-xp 0 08:01 13 /usr/lib/libcrypto.so.1.1\n");
        let refusal = find(&maps, 0x2800, 0x5000).unwrap_err();
        assert!(refusal.contains("/usr/lib/libcrypto.so.1.1"), "{refusal}");
    }

    #[test]
    fn code_outside_any_file_is_refused() {
        assert!(find(MAPS, 0x7800, 0x5000).is_err());
    }
}
