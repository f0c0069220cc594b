"""A certificate authority and a server certificate of our own, for private servers.

They are made with the extensions that RFC 5280 asks for, so that strict verifiers accept them too.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tlstax.plan.addresses import FAR_ADDRESS

KeyKind = Literal["rsa-1024", "rsa-2048", "rsa-3072", "rsa-4096", "ec-p256", "ec-p384", "ed25519"]
KEY_KINDS: tuple[KeyKind, ...] = (
    "rsa-1024",
    "rsa-2048",
    "rsa-3072",
    "rsa-4096",
    "ec-p256",
    "ec-p384",
    "ed25519",
)

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

CLOCK_SKEW = timedelta(hours=1)


@dataclass(frozen=True)
class CertificateRequest:
    """What certificate a server is to have.

    It is valid from an hour ago for `valid_for` from now; a negative `valid_for` makes one that expired so
    long ago. `host_names` and `addresses` go into subjectAltName. An `rsa-1024` key needs a server whose
    OpenSSL is given `CipherString = DEFAULT:@SECLEVEL=0`.
    """

    key: KeyKind = "rsa-2048"
    valid_for: timedelta = timedelta(days=30)
    host_names: tuple[str, ...] = ("localhost",)
    addresses: tuple[str, ...] = ("127.0.0.1", "::1", FAR_ADDRESS)


@dataclass(frozen=True)
class Certificates:
    """PEM files: the authority's certificate, the server's certificate and its key (mode 0600)."""

    ca_file: Path
    certificate_file: Path
    key_file: Path


def requested(key: str) -> CertificateRequest:
    """A request for a certificate with this kind of key. ValueError when it is none of KEY_KINDS."""
    return CertificateRequest(key=KEY_KINDS[KEY_KINDS.index(key)])


def issue(directory: Path, request: CertificateRequest | None = None) -> Certificates:
    """Make a new authority and a server certificate signed by it, as PEM files in `directory`.

    The authority's key is an RSA key of 2048 bits for RSA certificates and P-256 for others; it is not
    kept, so nothing more can be signed with it.
    """
    wanted = request or CertificateRequest()
    now = datetime.now(UTC).replace(microsecond=0)
    start, end = _validity(now, wanted.valid_for)
    ca_key = _new_key("rsa-2048" if wanted.key.startswith("rsa") else "ec-p256")
    ca = _authority(ca_key, start, max(end, now + timedelta(days=30)))
    key = _new_key(wanted.key)
    certificate = _server_certificate(wanted, key, ca, ca_key, (start, end))
    files = Certificates(directory / "ca.pem", directory / "server-cert.pem", directory / "server-key.pem")
    _write(files.ca_file, ca.public_bytes(serialization.Encoding.PEM), 0o644)
    _write(files.certificate_file, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    _write(files.key_file, _pem(key), 0o600)
    return files


def _validity(now: datetime, valid_for: timedelta) -> tuple[datetime, datetime]:
    end = now + valid_for
    return min(now, end) - CLOCK_SKEW, end


def _new_key(kind: KeyKind) -> PrivateKey:
    if kind == "ec-p256":
        return ec.generate_private_key(ec.SECP256R1())
    if kind == "ec-p384":
        return ec.generate_private_key(ec.SECP384R1())
    if kind == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=int(kind.removeprefix("rsa-")))


def _authority(key: PrivateKey, start: datetime, end: datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tlstax private authority")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )


def _server_certificate(
    wanted: CertificateRequest,
    key: PrivateKey,
    ca: x509.Certificate,
    ca_key: PrivateKey,
    validity: tuple[datetime, datetime],
) -> x509.Certificate:
    # Drivers from before 2020 look for the host in the common name alone (Connector/J 8.0.16).
    host = next(iter((*wanted.addresses, *wanted.host_names)), "tlstax private server")
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    alternatives = x509.SubjectAlternativeName(
        [
            *(x509.DNSName(host) for host in wanted.host_names),
            *(x509.IPAddress(ipaddress.ip_address(address)) for address in wanted.addresses),
        ]
    )
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    return (
        x509.CertificateBuilder(subject_name=name, issuer_name=ca.subject, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity[0])
        .not_valid_after(validity[1])
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(alternatives, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(authority, critical=False)
        .sign(ca_key, hashes.SHA256())
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """An authority signs certificates; a server signs handshakes and, with RSA key exchange, deciphers."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=not signs_certificates,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: PrivateKey) -> bytes:
    """In the key type's own format (PKCS#1 for RSA), which servers from before PKCS#8 read too.

    Ed25519 has none but PKCS#8 (RFC 8410).
    """
    own = serialization.PrivateFormat.TraditionalOpenSSL
    form = serialization.PrivateFormat.PKCS8 if isinstance(key, ed25519.Ed25519PrivateKey) else own
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write with the mode set before the content is there."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
