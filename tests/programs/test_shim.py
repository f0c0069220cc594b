"""What starts tlstax on a node: whole or not at all, its lines in order, and it ends with its shim."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tlstax.machines.bundle import bundle
from tlstax.machines.shim import Shim

ECHO = """#!/bin/sh
echo "began with $*"
while read -r line; do echo "heard $line"; done
echo "ended" >&2
exit 5
"""
DEAF = "#!/bin/sh\ntrap '' TERM\necho deaf\nexec sleep 60 <&-\n"


def packed(program: str) -> tuple[bytes, str]:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        entry = tarfile.TarInfo("tlstax")
        entry.size, entry.mode = len(program), 0o755
        tar.addfile(entry, io.BytesIO(program.encode()))
    content = archive.getvalue()
    return content, hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def shim() -> Iterator[Shim]:
    made = Shim()
    yield made
    made.stop(0.1)


def started(shim: Shim, program: str) -> int:
    content, digest = packed(program)
    shim.bring_sources(content, digest)
    return shim.start(digest, ["node"])


def all_lines(shim: Shim, wanted: int) -> list[str]:
    found: list[str] = []
    while len(found) < wanted:
        lines, ended = shim.lines(20.0)
        found += lines
        assert lines or ended is None
    return found


def test_lines_go_in_and_come_out_in_order(shim: Shim) -> None:
    started(shim, ECHO)
    assert shim.send("one\n")
    assert shim.send("two\n", True)
    assert all_lines(shim, 3) == ["began with node\n", "heard one\n", "heard two\n"]


def test_the_end_is_told_with_the_last_words_however_often_it_is_asked_for(shim: Shim) -> None:
    started(shim, ECHO)
    shim.stop(20.0)
    lines, ended = [], None
    while ended is None:
        more, ended = shim.lines(20.0)
        lines += more
    assert lines == ["began with node\n"]
    assert ended == "ended with status 5: ended"
    assert shim.lines(0.1) == ([], ended)
    assert not shim.send("three\n")


def test_what_does_not_end_by_itself_is_ended(shim: Shim) -> None:
    pid = started(shim, DEAF)
    assert all_lines(shim, 1) == ["deaf\n"]
    shim.stop(0.2)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert shim.lines(20.0) == ([], "was killed by signal 9")


def test_silence_is_no_end(shim: Shim) -> None:
    started(shim, ECHO)
    all_lines(shim, 1)
    assert shim.lines(0.05) == ([], None)


def test_sources_that_came_changed_are_not_unpacked(shim: Shim, tmp_path: Path) -> None:
    content, digest = packed(ECHO)
    with pytest.raises(ValueError, match="came to the node changed"):
        shim.bring_sources(content + b"x", digest)
    assert shim.has(digest, "key") == (False, False)
    assert not list((tmp_path / "cache").rglob("tlstax"))


def test_a_program_that_came_changed_is_not_kept(shim: Shim) -> None:
    with pytest.raises(ValueError, match="tlstax-engine came to the node changed"):
        shim.bring_program("key", "tlstax-engine", b"other", hashlib.sha256(b"own").hexdigest())
    assert shim.has("digest", "key") == (False, False)
    shim.bring_program("key", "tlstax-engine", b"own", hashlib.sha256(b"own").hexdigest())
    assert shim.has("digest", "key") == (False, True)


def test_what_is_there_already_is_not_unpacked_twice(shim: Shim) -> None:
    content, digest = packed(ECHO)
    shim.bring_sources(content, digest)
    shim.bring_sources(content, digest)
    assert shim.has(digest, "key")[0]


def test_connecting_to_another_node_takes_time(shim: Shim) -> None:
    took_us = shim.round_trips_us("127.0.0.1", shim.listen(), 3)
    assert len(took_us) == 3
    assert min(took_us) > 0


def test_the_clock_is_the_time_of_day(shim: Shim) -> None:
    before = time.time()
    assert before <= shim.clock_s() <= time.time()


def test_the_same_sources_make_the_same_bundle() -> None:
    first, second = bundle(), bundle()
    assert first == second
    with tarfile.open(fileobj=io.BytesIO(first.archive), mode="r:gz") as tar:
        names = tar.getnames()
        assert tar.getmember("tlstax").mode & 0o111
    assert {"tlstax", "pyproject.toml", "setup/places.sh", "lab/tlstax/__main__.py"} <= set(names)
    assert not [name for name in names if "/target/" in name or "__pycache__" in name]
    assert "tlstax-engine" in {program.name for program in first.programs}
