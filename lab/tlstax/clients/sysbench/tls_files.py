"""The files that sysbench reads for TLS, by the fixed names under which it looks for them."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tlstax.clients.sysbench.demand import openssl_conf
from tlstax.contract import TlsOn

AUTHORITY, CERTIFICATE, KEY = "cacert.pem", "client-cert.pem", "client-key.pem"
"""Names in sysbench's working directory (1.0.20 has no options for them)."""

OPENSSL_CONF = "openssl.cnf"


def lay_out(directory: Path, tls: TlsOn) -> None:
    """Put the job's authority, certificate and key into `directory`, and OpenSSL's configuration.

    Without a certificate in the job there is a stand-in, which is loaded and never shown. Raises OSError
    when a file of the job cannot be read.
    """
    shutil.copyfile(str(tls.ca_file), directory / AUTHORITY)
    (directory / OPENSSL_CONF).write_text(openssl_conf(tls), encoding="utf-8")
    if tls.certificate_file is not None and tls.key_file is not None:
        shutil.copyfile(tls.certificate_file, directory / CERTIFICATE)
        shutil.copyfile(tls.key_file, directory / KEY)
    else:
        _stand_in(directory)


def _stand_in(directory: Path) -> None:
    """A certificate that signs itself, with the key that is quickest to load."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tlstax stand-in, never shown")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=30))
        .sign(key, hashes.SHA256())
    )
    (directory / CERTIFICATE).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (directory / KEY).write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
