"""A user's file of authorities is counted as OpenSSL does, and one that is none is told by a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tlstax.specimens import authorities
from tlstax.specimens.certificates import CertificateRequest, issue, write_authorities
from tlstax.support.errors import UserMistake


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return issue(tmp_path).ca_file


def bundle(tmp_path: Path, own: Path, count: int = 5) -> Path:
    write_authorities(tmp_path / "bundle.pem", own, count)
    return tmp_path / "bundle.pem"


def der_of(file: Path) -> bytes:
    return x509.load_pem_x509_certificates(file.read_bytes())[0].public_bytes(Encoding.DER)


def test_each_authority_counts_once(tmp_path: Path, own: Path) -> None:
    file = bundle(tmp_path, own)
    file.write_bytes(file.read_bytes() + own.read_bytes() + own.read_bytes())
    found = authorities.read(str(file))
    assert (found.count, found.repeated, found.expired, found.others) == (5, 2, 0, 0)
    assert authorities.notes(str(file), found) == (
        f"of {file}: 2 are there again; they are given to clients as they are"
    )


def test_what_has_expired_and_what_is_no_authority_is_told(tmp_path: Path, own: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    made = issue(old, CertificateRequest(valid_for=timedelta(days=-3)))
    file = bundle(tmp_path, own)
    file.write_bytes(file.read_bytes() + made.certificate_file.read_bytes())
    found = authorities.read(str(file))
    assert (found.count, found.others) == (6, 1)
    assert "1 is no authority's" in authorities.notes(str(file), found)


def test_a_file_in_order_needs_no_word(tmp_path: Path, own: Path) -> None:
    file = bundle(tmp_path, own)
    assert authorities.notes(str(file), authorities.read(str(file))) == ""


def test_a_private_servers_authority_comes_to_the_file_and_an_external_ones_is_in_it(
    tmp_path: Path, own: Path
) -> None:
    file = bundle(tmp_path, own)
    private = authorities.read(str(file))
    assert private.authorities == 6
    written = authorities.write_trusted(tmp_path, private, b"OURS")
    assert set(written) == {1, 6}
    assert Path(written[1]).read_bytes() == b"OURS"
    assert Path(written[6]).read_bytes().endswith(b"OURS")
    external = authorities.with_needed(private, str(file), [der_of(own)])
    assert external.authorities == 5
    written = authorities.write_trusted(tmp_path, external)
    assert Path(written[5]).read_bytes() == file.read_bytes()
    assert authorities.read(written[1]).count == 1
    assert external.record().sha256 == private.record().sha256


def test_what_the_server_does_not_send_is_needed_and_so_is_the_end_of_the_chain() -> None:
    assert authorities.needed_of([b"own", b"between", b"root"], [b"own", b"between"]) == [b"root"]
    assert authorities.needed_of([b"own", b"between", b"root"], [b"own"]) == [b"between", b"root"]
    assert authorities.needed_of([b"own", b"root"], [b"own", b"root"]) == [b"root"]
    assert authorities.needed_of([b"own"], [b"own"]) == [b"own"]


MISTAKES: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "empty": (lambda file, _: file.write_bytes(b" \n"), "is empty"),
    "missing": (lambda *_: None, "does not exist"),
    "directory": (lambda file, _: file.mkdir(), "is a directory"),
    "words": (lambda file, _: file.write_bytes(b"hello"), "no certificate is in it"),
    "binary": (lambda file, own: file.write_bytes(der_of(own)), "openssl x509 -inform DER"),
    "cut off": (
        lambda file, own: file.write_bytes(own.read_bytes()[:300]),
        "no bundle of authorities in PEM",
    ),
    "a key": (
        lambda file, own: file.write_bytes(own.with_name("server-key.pem").read_bytes() + own.read_bytes()),
        "holds a private key",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_file_that_is_no_bundle_is_told_by_one_sentence(tmp_path: Path, own: Path, name: str) -> None:
    make, words = MISTAKES[name]
    file = tmp_path / "given.pem"
    make(file, own)
    with pytest.raises(UserMistake) as mistake:
        authorities.read(str(file))
    said = mistake.value.sentence()
    assert words in said
    assert "--trust" in said
    assert "\n" not in said


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_told(own: Path) -> None:
    own.chmod(0)
    with pytest.raises(UserMistake, match="cannot be read"):
        authorities.read(str(own))


def test_a_file_with_what_is_needed_alone_has_nothing_to_compare(own: Path) -> None:
    with pytest.raises(UserMistake, match="no more than the one authority"):
        authorities.with_needed(authorities.read(str(own)), str(own), [der_of(own)])
