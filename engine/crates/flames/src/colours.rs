//! The colours of a plain flame graph: one hue for each kind of library, shades to tell neighbours apart.

use inferno::flamegraph::color::{Color, PaletteMap};

/// What a frame's code belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The kernel.
    Kernel,
    /// The TLS library.
    Tls,
    /// What every program uses: the C and C++ libraries, allocators, the loader.
    System,
    /// The program itself, and libraries of its own.
    Program,
    /// A file or a function without a name.
    Unknown,
}

const TLS: [&str; 5] = ["libcrypto", "libssl", "libwolfssl", "libgnutls", "libmbed"];
const SYSTEM: [&str; 14] = [
    "libc.so",
    "libc-",
    "libm.so",
    "libm-",
    "libstdc++",
    "libgcc",
    "libpthread",
    "libdl",
    "librt",
    "ld-linux",
    "libtcmalloc",
    "libjemalloc",
    "linux-vdso",
    "[vdso]",
];

/// The kind of a frame, `function [library]`.
pub fn kind(frame: &str) -> Kind {
    let Some((_, library)) = frame.rsplit_once(" [") else {
        return Kind::Unknown;
    };
    if library.starts_with("kernel]") {
        Kind::Kernel
    } else if library.starts_with("unknown]") || library.starts_with("[unknown]") {
        Kind::Unknown
    } else if TLS.iter().any(|name| library.starts_with(name)) {
        Kind::Tls
    } else if SYSTEM.iter().any(|name| library.starts_with(name)) {
        Kind::System
    } else {
        Kind::Program
    }
}

/// A colour for every frame of these lines; the same frame has the same colour in every graph.
pub fn palette(lines: &[String]) -> PaletteMap {
    let mut palette = PaletteMap::default();
    // Below all stacks stands the frame that holds them, without a name.
    palette.insert("", shade(Kind::Unknown, ""));
    for line in lines {
        let stack = line
            .rsplit_once(' ')
            .map_or(line.as_str(), |(stack, _)| stack);
        for frame in stack.split(';') {
            if palette.get(frame).is_none() {
                palette.insert(frame, shade(kind(frame), frame));
            }
        }
    }
    palette
}

/// Dark text is read on these, and they are read on light and on dark paper.
fn shade(kind: Kind, frame: &str) -> Color {
    let (r, g, b) = match kind {
        Kind::Kernel => (233, 143, 87),
        Kind::Tls => (98, 184, 136),
        Kind::System => (110, 170, 214),
        Kind::Program => (226, 194, 92),
        Kind::Unknown => (186, 190, 196),
    };
    let lighter = hash(frame) % 28;
    Color {
        r: r + lighter / 2,
        g: g + lighter,
        b: b + lighter,
    }
}

/// FNV-1a, folded to a byte: small, and the same on every machine.
fn hash(text: &str) -> u8 {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash.to_le_bytes()
        .into_iter()
        .fold(0, |all, byte| all ^ byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_belongs_to_what_its_library_is() {
        for (frame, expected) in [
            ("tcp_sendmsg [kernel]", Kind::Kernel),
            ("RSA_sign [libcrypto.so.3]", Kind::Tls),
            ("SSL_read [libssl.so.1.1]", Kind::Tls),
            ("malloc [libc.so.6]", Kind::System),
            ("tc_new [libtcmalloc_minimal.so.4]", Kind::System),
            ("operator new[](unsigned long) [mysqld]", Kind::Program),
            ("[unknown] [libcrypto.so.3]", Kind::Tls),
            ("[unknown] [[unknown]]", Kind::Unknown),
            ("[cut off]", Kind::Unknown),
        ] {
            assert_eq!(kind(frame), expected, "{frame}");
        }
    }

    #[test]
    fn the_shades_of_a_kind_differ_and_stay_its_own() {
        let lines = ["a [kernel];b [kernel];c [mysqld] 1".to_owned()];
        let palette = palette(&lines);
        let [a, b, c] = ["a [kernel]", "b [kernel]", "c [mysqld]"].map(|f| palette.get(f).unwrap());
        assert_ne!(a, b);
        assert!(a.r.abs_diff(b.r) < 28 && a.r.abs_diff(c.r) < 40);
        assert!(a.g.abs_diff(c.g) > 20);
    }
}
