"""A server's certificate with the one that signed it and the root, all three in the file that it sends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from tlstax.specimens.certificates import Certificates

VALID_FOR = timedelta(days=400)


def chain_of_three(folder: Path) -> Certificates:
    """Root, intermediate and server, with RSA 2048; the files are in `folder`."""
    keys = [rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(3)]
    names = [_name(own) for own in ("a root", "an intermediate", "127.0.0.1")]
    made = [
        _signed(names[place], keys[place], names[max(0, place - 1)], keys[max(0, place - 1)], is_ca=place < 2)
        for place in range(3)
    ]
    files = Certificates(folder / "root.pem", folder / "chain.pem", folder / "key.pem")
    pem = [own.public_bytes(serialization.Encoding.PEM) for own in made]
    files.ca_file.write_bytes(pem[0])
    files.certificate_file.write_bytes(b"".join(reversed(pem)))
    unencrypted = serialization.NoEncryption()
    files.key_file.write_bytes(
        keys[2].private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unencrypted)
    )
    files.key_file.chmod(0o600)
    return files


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _signed(
    subject: x509.Name, key: rsa.RSAPrivateKey, issuer: x509.Name, signer: rsa.RSAPrivateKey, *, is_ca: bool
) -> x509.Certificate:
    now = datetime.now(UTC).replace(microsecond=0)
    return (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )
