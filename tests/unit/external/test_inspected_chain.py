"""What a certificate says, read from certificates made here."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tlstax.external.chain import described, shown
from tlstax.specimens.certificates import CertificateRequest, KeyKind, issue


def made(directory: Path, **wanted: object) -> bytes:
    files = issue(directory, CertificateRequest(**wanted))  # type: ignore[arg-type]
    return x509.load_pem_x509_certificate(files.certificate_file.read_bytes()).public_bytes(Encoding.DER)


@pytest.mark.parametrize(
    ("kind", "words"), [("rsa-2048", "RSA 2048"), ("ec-p256", "EC P-256"), ("ed25519", "Ed25519")]
)
def test_the_key_is_named_by_kind_and_size(tmp_path: Path, kind: KeyKind, words: str) -> None:
    assert described(made(tmp_path, key=kind)).key == words


def test_whom_it_is_for_by_whom_and_until_when(tmp_path: Path) -> None:
    encoded = made(
        tmp_path, host_names=("db.example",), addresses=("192.0.2.1",), valid_for=timedelta(days=9)
    )
    found = described(encoded)
    assert found.names == ("db.example", "192.0.2.1")
    assert (found.is_self_signed, found.signature, found.size_bytes) == (False, "SHA256", len(encoded))
    left = datetime.fromisoformat(found.not_after) - datetime.now(UTC)
    assert timedelta(days=8, hours=23) < left <= timedelta(days=9)
    assert datetime.fromisoformat(found.not_before) < datetime.now(UTC)
    assert found.subject != found.issuer


class Shows:
    """A channel of a Python that gives the peer's own certificate alone, or all that it sent."""

    def __init__(self, *encoded: bytes) -> None:
        self.encoded = encoded

    def getpeercert(self, *, binary_form: bool) -> bytes | None:
        assert binary_form
        return next(iter(self.encoded), None)


class Held:
    """A certificate as Python's own module has it."""

    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded

    def public_bytes(self, encoding: int) -> bytes:
        assert encoding == 2
        return self.encoded


class HoldsAll(Shows):
    def get_unverified_chain(self) -> list[Held]:
        return list(map(Held, self.encoded))


class ShowsPrivately(Shows):
    """A channel of Python 3.10 to 3.12."""

    def __init__(self, *encoded: bytes) -> None:
        super().__init__(*encoded)
        self._sslobj = HoldsAll(*encoded)


class ShowsAll(Shows):
    def get_unverified_chain(self) -> list[bytes]:
        return list(self.encoded)


def test_the_whole_chain_is_shown_where_python_gives_it(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, second = made(tmp_path), made(tmp_path / "other", key="ec-p256")
    for channel in (ShowsAll(first, second), ShowsPrivately(first, second)):
        everything = shown(cast("ssl.SSLSocket", channel))
        assert [certificate.key for certificate in everything] == ["RSA 2048", "EC P-256"]
    assert [c.key for c in shown(cast("ssl.SSLSocket", Shows(first, second)))] == ["RSA 2048"]
    assert shown(cast("ssl.SSLSocket", Shows())) == ()
