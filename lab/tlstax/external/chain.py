"""The certificates that a server shows in a handshake, in its order, and what they say."""

from __future__ import annotations

import re
import ssl
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtendedKeyUsageOID

from tlstax.results.inspection import Certificate
from tlstax.study.tls_levels import group_name

DER = 2
"""X509_FILETYPE_ASN1 of OpenSSL, by which Python's certificates are asked for theirs."""

HANDSHAKE, SERVER_HELLO, CERTIFICATE = 22, 2, 11
"""Content type and types of messages (RFC 8446, section 4 and appendix B)."""

RSA_PSS = "1.2.840.113549.1.1.10"
"""id-RSASSA-PSS, of a key that signs in no other way (RFC 4055, section 1.2)."""

VERSIONS = {b"\3\0": "SSL 3.0", b"\3\1": "TLS 1.0", b"\3\2": "TLS 1.1", b"\3\3": "TLS 1.2"}

_PEM = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)

PURPOSES = {
    ExtendedKeyUsageOID.SERVER_AUTH: "serverAuth",
    ExtendedKeyUsageOID.CLIENT_AUTH: "clientAuth",
    ExtendedKeyUsageOID.CODE_SIGNING: "codeSigning",
    ExtendedKeyUsageOID.EMAIL_PROTECTION: "emailProtection",
    ExtendedKeyUsageOID.TIME_STAMPING: "timeStamping",
    ExtendedKeyUsageOID.OCSP_SIGNING: "OCSPSigning",
    ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE: "anyExtendedKeyUsage",
}
"""By their names in OpenSSL's x509v3_config(5); others are told by their numbers."""


@dataclass
class Handshake:
    """What a server shows in a handshake, whether it succeeds or not.

    `certificates` are those that it sent, as DER and in its order; `version` is that of its ServerHello (TLS
    1.3 says 1.2 there, RFC 8446, 4.1.3), empty where none came. `failure` is why Python's
    ssl ended it, and `server_version` is of the greeting.
    """

    certificates: list[bytes] = field(default_factory=list)
    version: str = ""
    failure: ssl.SSLError | None = None
    server_version: str = ""

    @property
    def is_unverified(self) -> bool:
        """Whether it failed because the certificate did not stand the check."""
        return isinstance(self.failure, ssl.SSLCertVerificationError)

    def chain(self) -> tuple[Certificate, ...]:
        """What the certificates say, as far as each is one."""
        return tuple(filter(None, map(_described, self.certificates)))

    def watch(self, context: ssl.SSLContext) -> None:
        """Note what is shown on connections of this context.

        Python tells of messages by a callback that it calls private; a refused chain is told in no other way.
        """
        setattr(context, "_msg_callback", self._noting())  # noqa: B010 - no name for type checkers

    def _noting(self) -> Callable[..., None]:
        def note(_: object, direction: str, __: object, content: int, message: int, data: bytes) -> None:
            if direction != "read" or content != HANDSHAKE:
                return
            if message == SERVER_HELLO:
                self.version = VERSIONS.get(data[4:6], "")
            elif message == CERTIFICATE:
                self.certificates = certificates_of(data)

        return note


def certificates_of(message: bytes) -> list[bytes]:
    """The certificates of a Certificate message with its header (RFC 5246, 7.4.2; RFC 8446, 4.4.2), as DER.

    Of TLS 1.3 it has a context, empty from a server, and extensions after each. Empty for anything else.
    """
    for begins, after in ((7, 0), (8, 2)):
        if int.from_bytes(message[begins - 3 : begins]) == len(message) - begins > 0:
            return _listed(message[begins:], has_extensions=after > 0)
    return []


def _listed(data: bytes, *, has_extensions: bool) -> list[bytes]:
    certificates = []
    while data:
        length = int.from_bytes(data[:3])
        certificates.append(data[3 : 3 + length])
        data = data[3 + length :]
        if has_extensions:
            data = data[2 + int.from_bytes(data[:2]) :]
    return certificates


def _described(encoded: bytes) -> Certificate | None:
    try:
        return described(encoded)
    except ValueError:
        return None


def shown(channel: ssl.SSLSocket) -> tuple[Certificate, ...]:
    """The server's own certificate and those sent with it; the own one alone where Python has no more."""
    return tuple(map(described, _encoded(channel)))


def verified(channel: ssl.SSLSocket) -> tuple[list[bytes], list[bytes]]:
    """The chain by which the server was verified, its own certificate first, and what it sent, as DER."""
    public = getattr(channel, "get_verified_chain", None)
    if public is not None:
        return list(public()), _encoded(channel)
    private = getattr(getattr(channel, "_sslobj", None), "get_verified_chain", None)
    found = private() or () if private is not None else ()
    return [certificate.public_bytes(DER) for certificate in found], _encoded(channel)


def of_file(file: str) -> tuple[Certificate, ...]:
    """The certificates in a PEM file, each as far as it can be read: one that cannot hides no other."""
    try:
        blocks = _PEM.findall(Path(file).read_bytes().decode(errors="replace"))
    except OSError:
        return ()
    return tuple(filter(None, map(_of_block, blocks)))


def _of_block(block: str) -> Certificate | None:
    try:
        return _described(ssl.PEM_cert_to_DER_cert(block))
    except ValueError:
        return None


@cache
def trusted_authorities() -> frozenset[str]:
    """The names of those that this machine trusts; none where its store cannot be read."""
    held = ssl.create_default_context().get_ca_certs(binary_form=True)
    with warnings.catch_warnings():
        # Some roots are older than the rules that cryptography would hold them to.
        warnings.simplefilter("ignore")
        return frozenset(own.subject for own in map(_described, held) if own is not None)


def described(encoded: bytes) -> Certificate:
    """One certificate from its DER. Raises ValueError where it is not one.

    What cryptography thinks of old ones, such as those with a negative number in many a distribution's file,
    concerns nobody who measures.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        return _read(encoded)


def _read(encoded: bytes) -> Certificate:
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
        version=1 if found.version is x509.Version.v1 else 3,
        is_authority=_is_authority(found),
        purposes=_purposes(found),
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
    if found.public_key_algorithm_oid.dotted_string == RSA_PSS:
        name = "RSA-PSS"
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


def _is_authority(found: x509.Certificate) -> bool | None:
    """Whether it may issue others (RFC 5280, 4.2.1.9); None where it does not say."""
    try:
        return found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return None


def _purposes(found: x509.Certificate) -> tuple[str, ...]:
    """What its key is for (RFC 5280, 4.2.1.12); empty where that is not restricted."""
    try:
        purposes = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (x509.ExtensionNotFound, ValueError):
        return ()
    return tuple(PURPOSES.get(purpose, purpose.dotted_string) for purpose in purposes)


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
