//! One name for each key exchange group and curve, whatever the version of OpenSSL calls it.

use std::borrow::Cow;

/// Names in the registry "TLS Supported Groups" of IANA, each with the other names in use for it.
const REGISTRY: &[(&str, &[&str])] = &[
    ("secp256r1", &["prime256v1", "P-256"]),
    ("secp384r1", &["P-384"]),
    ("secp521r1", &["P-521"]),
    ("x25519", &["X25519"]),
    ("x448", &["X448"]),
    ("ffdhe2048", &[]),
    ("ffdhe3072", &[]),
    ("ffdhe4096", &[]),
    ("ffdhe6144", &[]),
    ("ffdhe8192", &[]),
    ("X25519MLKEM768", &[]),
    ("SecP256r1MLKEM768", &[]),
    ("SecP384r1MLKEM1024", &[]),
];

/// The registry's name for a group that OpenSSL calls `name`; a name that is not known stays.
pub(crate) fn registry_name(name: &str) -> Cow<'static, str> {
    REGISTRY
        .iter()
        .find(|(registered, others)| *registered == name || others.contains(&name))
        .map_or_else(
            || Cow::Owned(name.to_owned()),
            |(registered, _)| Cow::Borrowed(*registered),
        )
}

/// The name by which a certificate's curve is usually told: `P-256` for `prime256v1`.
pub(crate) fn curve_name(name: &str) -> Cow<'_, str> {
    match name {
        "prime256v1" | "secp256r1" => Cow::Borrowed("P-256"),
        "secp384r1" => Cow::Borrowed("P-384"),
        "secp521r1" => Cow::Borrowed("P-521"),
        other => Cow::Borrowed(other),
    }
}

#[cfg(test)]
mod tests {
    use super::{curve_name, registry_name};

    #[test]
    fn every_name_of_a_group_becomes_the_registered_one() {
        for (name, registered) in [
            ("prime256v1", "secp256r1"),
            ("P-256", "secp256r1"),
            ("secp256r1", "secp256r1"),
            ("X25519", "x25519"),
            ("x25519", "x25519"),
            ("X25519MLKEM768", "X25519MLKEM768"),
            ("brainpoolP256r1tls13", "brainpoolP256r1tls13"),
        ] {
            assert_eq!(registry_name(name), registered);
        }
    }

    #[test]
    fn curves_of_certificates_have_their_usual_name() {
        assert_eq!(curve_name("prime256v1"), "P-256");
        assert_eq!(curve_name("brainpoolP256r1"), "brainpoolP256r1");
    }
}
