"""Certificates of every kind are what was asked for, and verify from the root down."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from tlstax.specimens.certificates import KEY_KINDS, CertificateRequest, issue, requested, write_authorities

QUICK = [kind for kind in KEY_KINDS if kind not in {"rsa-3072", "rsa-4096"}]


def certificates(file: Path) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(file.read_bytes())


@pytest.mark.parametrize("kind", QUICK)
@pytest.mark.parametrize("chain", [None, 1, 3])
def test_a_chain_has_its_length_and_each_is_signed_by_the_next(
    tmp_path: Path, kind: str, chain: int | None
) -> None:
    made = issue(tmp_path, requested(kind, chain))
    sent = certificates(made.certificate_file)
    assert len(sent) == (chain or 1)
    (root,) = certificates(made.ca_file)
    for one, above in zip(sent, [*sent[1:], root], strict=True):
        one.verify_directly_issued_by(above)
    root.verify_directly_issued_by(root)
    assert root not in sent
    lengths = [
        own.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length
        for own in [*sent[1:], root]
    ]
    assert lengths == list(range(chain or 1))
    assert made.key_file.stat().st_mode & 0o777 == 0o600


def test_clients_are_signed_for_by_an_authority_that_is_not_the_servers_where_a_chain_is_wanted(
    tmp_path: Path,
) -> None:
    made = issue(tmp_path, requested("ec-p256", 1, clients=True))
    assert made.client is not None
    assert made.clients_ca_file is not None
    (own,), (clients,), (root,) = (
        certificates(file) for file in (made.client.certificate_file, made.clients_ca_file, made.ca_file)
    )
    own.verify_directly_issued_by(clients)
    assert clients != root
    assert made.client.key_file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ValueError, match="does not match"):
        own.verify_directly_issued_by(root)


def test_otherwise_one_authority_signs_for_both_and_the_server_knows_it(tmp_path: Path) -> None:
    made = issue(tmp_path, requested("ec-p256", clients=True))
    assert made.clients_ca_file == made.ca_file
    assert made.client is not None
    (own,), (root,) = (certificates(file) for file in (made.client.certificate_file, made.ca_file))
    own.verify_directly_issued_by(root)
    assert issue(tmp_path, CertificateRequest(key="ec-p256")).client is None
    assert issue(tmp_path, requested("ec-p256", 2)).clients_ca_file is None


def test_a_file_of_authorities_has_as_many_and_ours_last(tmp_path: Path) -> None:
    own = issue(tmp_path, requested("ec-p256")).ca_file
    write_authorities(tmp_path / "all.pem", own, 16)
    found = certificates(tmp_path / "all.pem")
    assert len(found) == 16
    assert found[-1] == certificates(own)[0]
    assert len({one.subject for one in found}) == 16
    assert all(one.subject.get_attributes_for_oid(NameOID.COMMON_NAME) for one in found)
    write_authorities(tmp_path / "one.pem", own, 1)
    assert (tmp_path / "one.pem").read_bytes() == own.read_bytes()
