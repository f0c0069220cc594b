"""Signs that only one key can make, for one object of one place; and claims to a schema, on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.external import made
from tlstax.external.made import Ownership
from tlstax.support.errors import MachineFault


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    return tmp_path / "external-servers"


def owner(server: str = "one", schema: str = "lent", key: bytes = b"k" * 32) -> Ownership:
    return Ownership(key, server, schema)


def test_a_sign_holds_for_its_own_object_server_schema_and_key_alone() -> None:
    comment = owner().comment("TABLE", "orders", "load table")
    assert comment.startswith("tlstax load table ")
    assert owner().owns("TABLE", "orders", comment)
    assert comment != owner().comment("TABLE", "orders", "load table")
    others = [owner("two"), owner(schema="other"), owner(key=b"l" * 32), owner("one", "lent\n")]
    assert not any(other.owns("TABLE", "orders", comment) for other in others)
    assert not any(owner().owns(kind, name, comment) for kind, name in (("VIEW", "orders"), ("TABLE", "t")))
    for changed in ("", "tlstax", comment + " ", comment[:-1], comment.upper(), "x" + comment, "é" + comment):
        assert not owner().owns("TABLE", "orders", changed)


def test_a_row_is_proved_by_all_its_words() -> None:
    proof = owner().proof("made", "VIEW", "v", "sign")
    assert owner().proves(proof, "made", "VIEW", "v", "sign")
    for words in (
        ("made", "VIEW", "v", "other"),
        ("made", "VIEW", "vsign"),
        ("made", "VIEW", "v", "sign", ""),
    ):
        assert not owner().proves(proof, *words)
    assert not owner().proves("é", "made", "VIEW", "v", "sign")


@pytest.mark.parametrize(
    ("comment", "looks_ours"),
    [
        ("tlstax load table", True),
        ("tlstax load table, in a schema that tlstax created", True),
        (f"tlstax made this for a workload {'0a' * 16}", True),
        (f"tlstax record {'0' * 16}-{'f' * 32}", True),
        ("tlstax", False),
        ("tlstax is what I read about", False),
        ("", False),
    ],
)
def test_what_a_tlstax_may_have_made_is_known_by_the_form_of_its_comment(
    comment: str, looks_ours: bool
) -> None:
    assert made.looks_ours(comment) is looks_ours


def test_the_key_is_made_once_and_is_nobody_elses(data: Path) -> None:
    key = made.key()
    assert (len(key), made.key()) == (32, key)
    assert (data / "key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in data.iterdir()] == ["key"]


@pytest.mark.parametrize("text", ["", "0" * 63, "\xff" * 64, "no key"])
def test_a_damaged_key_is_told(data: Path, text: str) -> None:
    data.mkdir()
    (data / "key").write_text(text, encoding="latin1")
    with pytest.raises(MachineFault, match="key") as told:
        made.key()
    assert told.value.remedy


def test_a_directory_that_cannot_be_used_is_told(data: Path) -> None:
    data.write_text("a file in its place")
    with pytest.raises(MachineFault, match="cannot be created") as told:
        made.key()
    assert "TLSTAX_DATA" in told.value.remedy


def test_a_claim_is_to_one_schema_of_one_server_and_is_given_up() -> None:
    claim = owner().claim()
    assert claim.state() == "none"
    for state in ("intended", "created"):
        claim.write(state)
        assert owner().claim().state() == state
    assert owner("two").claim().state() == owner(schema="other").claim().state() == "none"
    claim.remove()
    claim.remove()
    assert owner().claim().state() == "none"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"state": "dropped"}', "\xff"])
def test_a_claim_that_makes_no_sense_claims_nothing(data: Path, text: str) -> None:
    owner().claim().write("created")
    (file,) = data.iterdir()
    file.write_text(text, encoding="latin1")
    assert owner().claim().state() == "none"
