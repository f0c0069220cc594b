"""A login that verifies says of each planted certificate what is wrong with it, and openssl(1) agrees."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from certificates import access_to, login_words, openssl_code, responder
from planted_certificates import KINDS, Kind

from tlstax.external.chain import of_file
from tlstax.external.tls import ExternalTls
from tlstax.specimens.certificates import issue

V3 = b"\xa0\x03\x02\x01\x02"
"""The version of a certificate, after which its number stands (RFC 5280, 4.1)."""

CHAIN_FAULTS = {
    "no intermediate": "CN=an intermediate",
    "another root": "CN=a root",
}
"""Whose certificate is missing."""


def by_sentence() -> list[object]:
    """All of them; the second and further ones of which the same is said take too long for `./test`."""
    said: set[str] = set()
    found: list[object] = []
    for kind in KINDS:
        marks = [pytest.mark.long] if kind.refused in said else []
        found.append(pytest.param(kind, marks=marks, id=kind.name))
        said.add(kind.refused)
    return found


@pytest.mark.parametrize("kind", by_sentence())
def test_each_fault_has_its_own_sentence(kind: Kind, tmp_path: Path) -> None:
    planted = kind.make()
    with responder(planted, tmp_path) as port:
        authorities = tmp_path / "root.pem"
        said = login_words(access_to(port, ExternalTls("VERIFY_IDENTITY", str(authorities))))
        assert (openssl_code(port, authorities) == 0) == (said == "")
    assert bool(said) == bool(kind.refused)
    assert re.search(kind.refused, said), said
    assert "DISABLED" not in said
    if kind.name in CHAIN_FAULTS:
        assert f"append the certificate of {CHAIN_FAULTS[kind.name]} to the file" in said


@pytest.mark.parametrize(
    ("name", "is_so"),
    [
        ("RSA-PSS", lambda own: own.key == "RSA-PSS 2048"),
        ("X.509 version 1", lambda own: own.version == 1 and own.names == ()),
        ("for clients", lambda own: own.purposes == ("clientAuth",)),
        ("EC secp256k1", lambda own: own.key == "EC secp256k1"),
        ("300 names", lambda own: len(own.names) == 301 and own.is_authority is False),
    ],
)
def test_a_certificate_is_read(name: str, is_so: Callable[..., bool], tmp_path: Path) -> None:
    (kind,) = (own for own in KINDS if own.name == name)
    chain, _, _ = kind.make().files(tmp_path)
    assert is_so(of_file(str(chain))[0])


@pytest.mark.filterwarnings("error")
def test_an_old_certificate_in_a_file_is_read_without_a_word_and_a_broken_one_hides_no_other(
    tmp_path: Path,
) -> None:
    """One with a negative number, of which cryptography warns, is in the files of most distributions."""
    own = ssl.PEM_cert_to_DER_cert(issue(tmp_path).ca_file.read_text(encoding="ascii"))
    number = own.index(V3) + len(V3) + 2
    negative = own[:number] + b"\x80" + own[number + 1 :]
    pem = map(ssl.DER_cert_to_PEM_cert, (own[:60], negative, own))
    (tmp_path / "bundle.pem").write_text("".join(pem), encoding="ascii")
    found = of_file(str(tmp_path / "bundle.pem"))
    assert [one.subject for one in found] == ["CN=tlstax private authority"] * 2
