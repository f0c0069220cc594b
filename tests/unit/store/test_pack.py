"""A run as a file: read back as it was, and refused where a byte is another one."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from random import Random

import pytest

from fake_trials import fake_run
from kept_runs import sentence_of
from tlstax.records.trial import StoredRun
from tlstax.store import Store
from tlstax.store.pack import opened, packed
from tlstax.store.schema import MOST_BYTES
from tlstax.support.errors import MachineFault, UserMistake

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
        (sealed(gzip.compress(b"[" * 100_000 + b"\n")), "cannot be unpacked"),
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


def lines_of(stored: StoredRun = RUN) -> list[bytes]:
    content = packed(stored, by="0.1.0", names_left_out=False)
    return gzip.decompress(content.split(b"\n", 1)[1]).splitlines(keepends=True)


SEED = b'"seed":%d' % RUN.header.seed
NAME = b'"run":"%s"' % RUN.header.run.encode()


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (SEED, b'"seed":1%s' % (b"0" * 400), "a number is too large"),
        (SEED, b'"seed":1e999', "a number is too large"),
        (b'"trial_duration_s":', b'"trial_duration_s":NaN,"x":', "NaN is no number"),
        (b'"trial_duration_s":', b'"trial_duration_s":-Infinity,"x":', "-Infinity is no number"),
        (SEED, SEED + b"," + SEED, "one name twice"),
        (SEED, SEED + b',"x":' + b"[" * 100_000, "cannot be unpacked"),
        (NAME, b'"run":"\xff\xfe"', "cannot be unpacked"),
        (NAME, b'"run":"\\ud800"', "cannot be unpacked"),
        (NAME, b'"run":""', "header.run"),
        (NAME, b'"run":"."', "header.run"),
        (NAME, b'"run":"../../x"', "header.run"),
        (NAME, b'"run":"a\\n"', "header.run"),
        (NAME, b'"run":"\\u001b[2J"', "header.run"),
        (NAME, b'"run":"%s"' % (b"a" * 65), "header.run"),
    ],
)
def test_what_no_run_of_ours_has_is_refused_in_a_sentence(
    tmp_path: Path, before: bytes, after: bytes, words: str
) -> None:
    lines = lines_of()
    assert before in lines[0]
    file = tmp_path / "a.tlstax"
    file.write_bytes(sealed(gzip.compress(b"".join((lines[0].replace(before, after, 1), *lines[1:])))))
    with pytest.raises(UserMistake) as caught:
        opened(file)
    assert words in sentence_of(UserMistake, caught)


def test_two_trials_at_one_place_are_refused(tmp_path: Path) -> None:
    lines = lines_of()
    file = tmp_path / "a.tlstax"
    file.write_bytes(sealed(gzip.compress(b"".join((*lines[:-1], lines[1])))))
    with pytest.raises(UserMistake, match="two trials at one place"):
        opened(file)


def test_what_is_written_can_be_read_however_tightly_it_packs(tmp_path: Path) -> None:
    """A run whose trials are all alike packs a thousand times over, and is no bomb."""
    one = RUN.trials[0]
    trials = tuple(
        one.model_copy(update={"trial": one.trial.model_copy(update={"block": block})})
        for block in range(3000)
    )
    stored = RUN.model_copy(update={"trials": trials})
    pack(tmp_path / "a.tlstax", stored)
    assert opened(tmp_path / "a.tlstax")[1] == stored


def test_what_is_too_large_to_be_read_is_not_written(store: Store) -> None:
    log = "x" * (MOST_BYTES + 1)
    large = RUN.trials[0].model_copy(update={"client_log": log})
    stored = RUN.model_copy(update={"trials": (large,)})
    with pytest.raises(UserMistake, match="has more than 32 MiB"):
        packed(stored, by="0.1.0", names_left_out=False)
    with pytest.raises(MachineFault, match="cannot be kept: it has 32 MiB"):
        store.adopt(stored)
    store.begin(RUN.header)
    with pytest.raises(MachineFault, match="cannot be kept"):
        store.add_trials(RUN.header.run, (large,))
    assert store.load(RUN.header.run).trials == ()
    fits = RUN.trials[0].model_copy(update={"client_log": "x" * (MOST_BYTES - 100_000)})
    store.add_trials(RUN.header.run, (fits,))
    assert store.load("last").trials == (fits,)


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
