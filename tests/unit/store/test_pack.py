"""A run as a file: read back as it was, refused where a byte is another one, and without names."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path
from random import Random

import pytest

from fake_trials import fake_run
from kept_runs import sentence_of
from tlstax.contract import Account, TcpEndpoint
from tlstax.records.trial import LoadMachines, Specimen, StoredRun
from tlstax.store import Store
from tlstax.store.left_out import without_names
from tlstax.store.pack import opened, packed
from tlstax.support.errors import UserMistake

RUN = fake_run(number_of_blocks=2)


def pack(path: Path, stored: StoredRun = RUN) -> bytes:
    content = packed(stored, by="0.1.0", names_left_out=False)
    path.write_bytes(content)
    return content


def test_a_run_is_read_back_as_it_was(tmp_path: Path) -> None:
    content = pack(tmp_path / "a.tlstax")
    first, stored = opened(tmp_path / "a.tlstax")
    assert stored == RUN
    assert (first.packed_by, first.trials) == ("0.1.0", len(RUN.trials))
    assert packed(RUN, by="0.1.0", names_left_out=False) == content, "the same run is the same file"
    lines = gzip.decompress(content.split(b"\n", 1)[1]).splitlines()
    assert len(lines) == 1 + len(RUN.trials), "`tail -n +2 | zcat` shows it to anybody"


def test_a_byte_that_was_changed_is_refused_wherever_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.tlstax"
    content = pack(file)
    first_line = content.index(b"\n") + 1
    chance = Random(3)  # noqa: S311 (to be repeatable)
    for place in (*range(first_line), first_line + 4, *chance.sample(range(first_line, len(content)), 40)):
        changed = bytearray(content)
        changed[place] ^= 1 << chance.randrange(8)
        file.write_bytes(changed)
        with pytest.raises(UserMistake) as caught:
            opened(file)
        assert str(file) in sentence_of(UserMistake, caught)


@pytest.mark.parametrize("kept", [0, 10, 100, 5000, -1])
def test_a_file_that_is_not_all_there_is_refused(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "a.tlstax"
    file.write_bytes(pack(file)[:kept])
    with pytest.raises(UserMistake):
        opened(file)


def sealed(rest: bytes, version: int = 1) -> bytes:
    return f"tlstax pack {version} sha256={hashlib.sha256(rest).hexdigest()}\n".encode() + rest


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (sealed(b"", version=2), "newer tlstax"),
        (sealed(b"not gzip"), "cannot be unpacked"),
        (sealed(gzip.compress(b"")), "not in the form"),
        (sealed(gzip.compress(b"{}\n")), "not in the form"),
        (sealed(gzip.compress(b"[" * 100_000 + b"\n")), "not in the form"),
        (sealed(gzip.compress(b" " * (33 * 2**20))), "cannot be unpacked"),
        (b"PK\x03\x04", "does not begin as one"),
    ],
)
def test_what_is_no_pack_is_said_in_a_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "a.tlstax"
    file.write_bytes(content)
    with pytest.raises(UserMistake) as caught:
        opened(file)
    assert words in sentence_of(UserMistake, caught)
    with pytest.raises(UserMistake, match="cannot be read"):
        opened(tmp_path)


def test_trials_that_are_missing_are_noticed_though_the_checksum_is_right(tmp_path: Path) -> None:
    file = tmp_path / "a.tlstax"
    lines = gzip.decompress(pack(file).split(b"\n", 1)[1]).splitlines(keepends=True)
    file.write_bytes(sealed(gzip.compress(b"".join(lines[:-1]))))
    with pytest.raises(UserMistake, match="trials"):
        opened(file)


def test_a_run_that_goes_on_is_packed_as_far_as_it_is(tmp_path: Path) -> None:
    pack(tmp_path / "a.tlstax", RUN.model_copy(update={"status": "running"}))
    assert opened(tmp_path / "a.tlstax")[1].status == "interrupted"


def test_the_store_keeps_it_once(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.sqlite") as store:
        store.adopt(RUN)
        assert store.load(RUN.header.run) == RUN
        with pytest.raises(UserMistake, match="in the store already"):
            store.adopt(RUN)
        assert len(store.runs()) == 1


def guest_run() -> StoredRun:
    """A run at an external server, with everything that names it, on machines that have names."""
    url = "mysql://ann@db.example:3307/lent"
    server = Specimen(name="db.example:3307", kind="server", version="9.7.4", origin=f"a server at {url}")
    load = LoadMachines(
        server_address="db.example", machines={"client-of-ann": RUN.header.machine}, offered=1
    )
    trials = tuple(
        own.model_copy(
            update={
                "job": own.job.model_copy(
                    update={
                        "endpoint": TcpEndpoint(host="db.example", port=3307),
                        "account": Account(user="ann", password="", database="lent"),
                    }
                ),
                "machine": "client-of-ann",
                "failure": "db.example:3307 closed the connection of ann",
                "server_log": "db.example is up",
                "client_log": "/somewhere/ann/.cache/tlstax/engine: no such file",
                "claim": None,
            }
        )
        for own in RUN.trials
        if own.job is not None
    )
    header = RUN.header.model_copy(
        update={
            "guest": True,
            "specimens": (server,),
            "machines": {"client-of-ann": RUN.header.machine},
            "load": load,
        }
    )
    return StoredRun(header=header, status="complete", trials=trials)


def test_without_names_nothing_says_whose_it_was() -> None:
    run = guest_run()
    found = without_names(run, {"/somewhere/ann": "/left-out/home"})
    text = found.model_dump_json()
    for name in ("db.example", "lent", "client-of-ann", "/somewhere/ann"):
        assert name not in text, name
    assert not re.search(r"\bann\b", text)
    assert "server.invalid closed the connection of user" in text
    assert found.trials[0].done == run.trials[0].done, "what was measured is as it was"
    assert [own.verdict.value for own in found.trials] == [own.verdict.value for own in run.trials]


def test_directories_are_replaced_where_a_path_begins_with_them() -> None:
    specimen = Specimen(
        name="engine", kind="client", version="1", origin="here", path="/somewhere/ann/x/engine", sha256="5f"
    )
    header = RUN.header.model_copy(update={"specimens": (specimen,)})
    run = RUN.model_copy(update={"header": header})
    found = without_names(run, {"/somewhere/ann": "/left-out/home", "/somewhere/ann/x": "/left-out/cache"})
    assert found.header.specimens[0].path == "/left-out/cache/engine"
    assert (
        without_names(run, {"/somewhere/an": "/left-out/home"}).header.specimens[0].path
        == "/somewhere/ann/x/engine"
    )
