"""A certificate authority and a server certificate of our own, for private servers.

They are made with the extensions that RFC 5280 asks for, so that strict verifiers accept them too.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mldsa, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tlstax.plan.addresses import FAR_ADDRESS
from tlstax.study.level_names import PRIVATE_CLIENT, authority_key

KeyKind = Literal[
    "rsa-1024",
    "rsa-2048",
    "rsa-3072",
    "rsa-4096",
    "ec-p256",
    "ec-p384",
    "ed25519",
    "mldsa44",
    "mldsa65",
    "mldsa87",
]
KEY_KINDS: tuple[KeyKind, ...] = get_args(KeyKind)

PrivateKey = (
    rsa.RSAPrivateKey
    | ec.EllipticCurvePrivateKey
    | ed25519.Ed25519PrivateKey
    | mldsa.MLDSA44PrivateKey
    | mldsa.MLDSA65PrivateKey
    | mldsa.MLDSA87PrivateKey
)

_WITHOUT_SIZES: Mapping[KeyKind, Callable[[], PrivateKey]] = {
    "ec-p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ec-p384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "mldsa44": mldsa.MLDSA44PrivateKey.generate,
    "mldsa65": mldsa.MLDSA65PrivateKey.generate,
    "mldsa87": mldsa.MLDSA87PrivateKey.generate,
}

CLOCK_SKEW = timedelta(hours=1)

LASTING = timedelta(days=90)
"""Longer than any server of ours runs, and than what `inspect` calls soon."""


@dataclass(frozen=True)
class CertificateRequest:
    """What certificate a server is to have.

    It is valid from an hour ago for `valid_for` from now; a negative `valid_for` makes one that expired so
    long ago. `host_names` and `addresses` go into subjectAltName. An `rsa-1024` key needs a server whose
    OpenSSL is given `CipherString = DEFAULT:@SECLEVEL=0`.
    With a `chain` the server sends as many certificates: its own, and those of authorities between it and the
    root, which it never sends. None leaves that to the server and its one certificate.
    `clients` makes a certificate for clients too, which the server takes.
    """

    key: KeyKind = "rsa-2048"
    valid_for: timedelta = LASTING
    host_names: tuple[str, ...] = ("localhost",)
    addresses: tuple[str, ...] = ("127.0.0.1", "::1", FAR_ADDRESS)
    chain: int | None = None
    clients: bool = False


class OwnFiles(NamedTuple):
    """PEM files of whoever proves themselves: the certificate, and its key (mode 0600)."""

    certificate_file: Path
    key_file: Path


@dataclass(frozen=True)
class Certificates:
    """PEM files: the authority's certificate, the server's certificate and its key (mode 0600).

    `clients_ca_file` is the authority whose clients the server takes, None where it asks for none; `client`
    is what a client proves itself by, None where none was wanted.
    """

    ca_file: Path
    certificate_file: Path
    key_file: Path
    clients_ca_file: Path | None = None
    client: OwnFiles | None = None


def requested(key: str, chain: int | None = None, *, clients: bool = False) -> CertificateRequest:
    """A request for a certificate with this kind of key. ValueError when it is none of KEY_KINDS."""
    return CertificateRequest(key=KEY_KINDS[KEY_KINDS.index(key)], chain=chain, clients=clients)


def issue(directory: Path, request: CertificateRequest | None = None) -> Certificates:
    """Make a new authority and a server certificate signed by it, as PEM files in `directory`.

    The authority's key is an RSA key of 2048 bits for RSA certificates, one of ML-DSA for those of ML-DSA,
    and P-256 for others; it is not kept, so nothing more can be signed with it.

    A server that knows its own root sends it along, since OpenSSL completes a single certificate from what
    is trusted (SSL_CTX_add_extra_chain_cert(3)). So where the chain's length is wanted, it is told of its
    clients' authority alone, which is another one.
    """
    wanted = request or CertificateRequest()
    now = datetime.now(UTC).replace(microsecond=0)
    start, end = _validity(now, wanted.valid_for)
    lasting = (start, max(end, now + LASTING))
    root = _root("tlstax private authority", _kind_of_authority(wanted.key), lasting, wanted.chain or 1)
    signers = [root]
    for place in range(1, wanted.chain or 1):
        signers.append(_between(signers[-1], place, wanted, lasting))
    key = _new_key(wanted.key)
    own = _server_certificate(wanted, key, signers[-1], (start, end))
    sent = [own, *(signer.certificate for signer in reversed(signers[1:]))]
    files = Certificates(directory / "ca.pem", directory / "server-cert.pem", directory / "server-key.pem")
    _write(files.ca_file, _pem_of(root.certificate), 0o644)
    _write(files.certificate_file, b"".join(map(_pem_of, sent)), 0o644)
    _write(files.key_file, _pem(key), 0o600)
    return _with_clients(files, wanted, root, lasting)


def _with_clients(
    files: Certificates, wanted: CertificateRequest, root: Signer, lasting: tuple[datetime, datetime]
) -> Certificates:
    """The same with the authority of clients, and with a client's certificate where one is wanted."""
    if wanted.chain is None:
        signer, found = root, replace(files, clients_ca_file=files.ca_file)
    elif wanted.clients:
        signer = _root("tlstax private authority of clients", _kind_of_authority(wanted.key), lasting, 1)
        found = replace(files, clients_ca_file=files.ca_file.with_name("clients-ca.pem"))
        _write(files.ca_file.with_name("clients-ca.pem"), _pem_of(signer.certificate), 0o644)
    else:
        return files
    if not wanted.clients:
        return found
    key = _new_key(wanted.key)
    client = OwnFiles(files.ca_file.with_name("client-cert.pem"), files.ca_file.with_name("client-key.pem"))
    _write(client.certificate_file, _pem_of(_client_certificate(key, signer, lasting)), 0o644)
    _write(client.key_file, _pem(key), 0o600)
    return replace(found, client=client)


def write_authorities(file: Path, own: Path, count: int) -> None:
    """A file of N authorities as clients are given it: others, and last the one in `own`.

    The others differ in name and number, and have one RSA key of 2048 bits, which takes as long to read as
    many do.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    key = _new_key("rsa-2048")
    others = (
        _authority(f"tlstax unused authority {place}", key, Signer(None, key), _validity(now, LASTING), 0)
        for place in range(1, count)
    )
    _write(file, b"".join((*map(_pem_of, others), own.read_bytes())), 0o644)


def _validity(now: datetime, valid_for: timedelta) -> tuple[datetime, datetime]:
    end = now + valid_for
    return min(now, end) - CLOCK_SKEW, end


def _new_key(kind: KeyKind) -> PrivateKey:
    if kind in _WITHOUT_SIZES:
        return _WITHOUT_SIZES[kind]()
    return rsa.generate_private_key(public_exponent=65537, key_size=int(kind.removeprefix("rsa-")))


def _kind_of_authority(kind: KeyKind) -> KeyKind:
    return KEY_KINDS[KEY_KINDS.index(authority_key(kind))]


class Signer(NamedTuple):
    """An authority: its certificate (None for one that is about to sign its own), and its key."""

    made: x509.Certificate | None
    key: PrivateKey

    @property
    def certificate(self) -> x509.Certificate:
        """Its certificate. RuntimeError where it has none yet."""
        if self.made is None:
            raise RuntimeError("an authority was asked for its certificate before it had one")
        return self.made

    def sign(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        """Sign: over SHA-256, or whole where the algorithm hashes by itself (RFC 8032, FIPS 204)."""
        own = self.key
        if isinstance(own, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
            return builder.sign(own, hashes.SHA256())
        return builder.sign(own, None)


def _root(name: str, kind: KeyKind, validity: tuple[datetime, datetime], below: int) -> Signer:
    """An authority that signs its own certificate; `below` certificates may be in a chain below it."""
    key = _new_key(kind)
    return Signer(_authority(name, key, Signer(None, key), validity, below - 1), key)


def _between(
    above: Signer, place: int, wanted: CertificateRequest, validity: tuple[datetime, datetime]
) -> Signer:
    key = _new_key(_kind_of_authority(wanted.key))
    path_length = (wanted.chain or 1) - 1 - place
    return Signer(_authority(f"tlstax authority between, {place}", key, above, validity, path_length), key)


def _authority(
    common_name: str, key: PrivateKey, signer: Signer, validity: tuple[datetime, datetime], path_length: int
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    issuer = name if signer.made is None else signer.made.subject
    return signer.sign(
        x509.CertificateBuilder(subject_name=name, issuer_name=issuer, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity[0])
        .not_valid_after(validity[1])
        .add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
    )


def _client_certificate(
    key: PrivateKey, signer: Signer, validity: tuple[datetime, datetime]
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, PRIVATE_CLIENT)])
    return signer.sign(_of_end(name, key, signer, validity, ExtendedKeyUsageOID.CLIENT_AUTH))


def _server_certificate(
    wanted: CertificateRequest, key: PrivateKey, signer: Signer, validity: tuple[datetime, datetime]
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
    builder = _of_end(name, key, signer, validity, ExtendedKeyUsageOID.SERVER_AUTH)
    return signer.sign(builder.add_extension(alternatives, critical=False))


def _of_end(
    name: x509.Name,
    key: PrivateKey,
    signer: Signer,
    validity: tuple[datetime, datetime],
    purpose: x509.ObjectIdentifier,
) -> x509.CertificateBuilder:
    """A certificate that signs no other one, but for what is particular to whose it is."""
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    issuer = signer.certificate.subject
    return (
        x509.CertificateBuilder(subject_name=name, issuer_name=issuer, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity[0])
        .not_valid_after(validity[1])
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(authority, critical=False)
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

    Ed25519 and ML-DSA have none but PKCS#8 (RFC 8410, RFC 9881).
    """
    has_own = isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey)
    form = serialization.PrivateFormat.TraditionalOpenSSL if has_own else serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _pem_of(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write with the mode set before the content is there."""
    path.touch(mode)
    path.write_bytes(content)
