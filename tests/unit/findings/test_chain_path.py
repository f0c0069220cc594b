"""Which certificates lead from the server's own towards a root."""

from __future__ import annotations

from inspected_servers import certificate
from tlstax.findings.inspection.chain_path import (
    duplicates,
    is_out_of_order,
    missing_issuer,
    path,
    unrelated,
)
from tlstax.results.inspection import Certificate


def made(subject: str, issuer: str) -> Certificate:
    names = {"subject": subject, "issuer": issuer, "sha256": subject}
    return certificate(is_self_signed=subject == issuer).model_copy(update=names)


LEAF, BETWEEN, ROOT, STRANGER = (
    made("leaf", "between"),
    made("between", "root"),
    made("root", "root"),
    made("stranger", "stranger"),
)


def test_the_path_goes_from_issuer_to_issuer() -> None:
    assert path((LEAF, BETWEEN, ROOT)) == path((LEAF, ROOT, BETWEEN)) == (LEAF, BETWEEN, ROOT)
    assert path((LEAF, STRANGER)) == (LEAF,)
    assert path(()) == ()


def test_authorities_that_issued_each_other_end_it() -> None:
    one, other = made("one", "other"), made("other", "one")
    assert path((one, other)) == (one, other)


def test_an_issuer_is_missing_unless_the_path_ends_in_a_root() -> None:
    assert missing_issuer((LEAF,)) == "between"
    assert missing_issuer((LEAF, BETWEEN)) == "root"
    assert missing_issuer((LEAF, BETWEEN, ROOT)) == missing_issuer(()) == ""


def test_what_is_sent_beside_the_path() -> None:
    assert unrelated((LEAF, STRANGER, BETWEEN, STRANGER)) == (STRANGER,)
    assert unrelated((LEAF, BETWEEN, ROOT)) == ()
    assert duplicates((LEAF, BETWEEN, LEAF, LEAF)) == (LEAF, LEAF)
    assert duplicates((LEAF, BETWEEN)) == ()


def test_order_is_that_of_the_path() -> None:
    assert is_out_of_order((LEAF, ROOT, BETWEEN))
    assert not is_out_of_order((LEAF, STRANGER, BETWEEN, BETWEEN, ROOT))
