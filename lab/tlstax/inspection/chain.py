"""The certificates that a server shows in a handshake, in its order, and what they say."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa

from tlstax.results.inspection import Certificate
from tlstax.study.key_groups import group_name

DER = 2
"""X509_FILETYPE_ASN1 of OpenSSL, by which Python's certificates are asked for theirs."""


def shown(channel: ssl.SSLSocket) -> tuple[Certificate, ...]:
    """The server's own certificate and those sent with it; the own one alone where Python has no more."""
    return tuple(map(described, _encoded(channel)))


def described(encoded: bytes) -> Certificate:
    """One certificate from its DER. Raises ValueError where it is not one."""
    found = x509.load_der_x509_certificate(encoded)
    signature = found.signature_hash_algorithm
    return Certificate(
        subject=found.subject.rfc4514_string(),
        issuer=found.issuer.rfc4514_string(),
        is_self_signed=found.subject == found.issuer,
        key=_key(found),
        signature=signature.name.upper() if signature else found.signature_algorithm_oid.dotted_string,
        names=_names(found),
        not_before=_utc(found.not_valid_before_utc),
        not_after=_utc(found.not_valid_after_utc),
        size_bytes=len(encoded),
        sha256=found.fingerprint(hashes.SHA256()).hex(),
    )


def _encoded(channel: ssl.SSLSocket) -> list[bytes]:
    """The DER of each. Python has what the peer sent from 3.10 on, and a public name for it from 3.13 on."""
    public = getattr(channel, "get_unverified_chain", None)
    if public is not None:
        return list(public())
    private = getattr(getattr(channel, "_sslobj", None), "get_unverified_chain", None)
    if private is not None:
        return [certificate.public_bytes(DER) for certificate in private() or ()]
    own = channel.getpeercert(binary_form=True)
    return [own] if own else []


def _key(found: x509.Certificate) -> str:
    """Kind and size of the public key: "RSA 2048", "EC P-256", "Ed25519", or its algorithm's number."""
    try:
        key = found.public_key()
    except ValueError:
        return found.public_key_algorithm_oid.dotted_string
    name = type(key).__name__.strip("_").removesuffix("PublicKey")
    if isinstance(key, ec.EllipticCurvePublicKey):
        return f"EC {group_name(key.curve.name)}"
    return f"{name} {key.key_size}" if isinstance(key, (rsa.RSAPublicKey, dsa.DSAPublicKey)) else name


def _names(found: x509.Certificate) -> tuple[str, ...]:
    """The hosts that it is for (RFC 6125): its alternative names, which alone count where there are any."""
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return ()
    hosts = names.get_values_for_type(x509.DNSName)
    return (*hosts, *map(str, names.get_values_for_type(x509.IPAddress)))


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
