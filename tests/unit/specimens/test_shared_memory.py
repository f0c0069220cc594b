"""Shared memory that a killed server left is found by what its data say, and nobody else's is touched."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace

import pytest

from tlstax.specimens import sessions

SEGMENTS = """\
       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid
  10567989      32769   600                    56 22670 28682      6 65534 65534 65534 65534
      1111         12   600                    56   900   900      0 65534 65534 65534 65534
"""


@pytest.fixture
def removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of the segments that are removed, of the two that there are."""
    listed = tmp_path / "shm"
    listed.write_text(SEGMENTS, encoding="ascii")
    monkeypatch.setattr(sessions, "SEGMENTS", listed)
    ids: list[int] = []
    library = SimpleNamespace(shmctl=lambda segment, command, _: ids.append(segment) or command)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    return ids


def written(directory: Path, text: str) -> Path:
    (directory / "data").mkdir(parents=True)
    file = directory / "data/postmaster.pid"
    file.write_text(text, encoding="utf-8")
    return file


def notes(pid: int, key: int, segment: int) -> str:
    return f"{pid}\n/x/data\n1764309600\n5432\n/x\n127.0.0.1\n{key:>9} {segment:>9}\nready   \n"


@pytest.mark.parametrize("place", ["", "1"], ids=["a server's directory", "a session's"])
@pytest.mark.parametrize("pid", [22670, -22670], ids=["with clients", "alone"])
def test_the_segment_of_which_the_data_tell_is_removed(
    tmp_path: Path, removed: list[int], place: str, pid: int
) -> None:
    file = written(tmp_path / "session" / place, notes(pid, 10567989, 32769))
    sessions.remove_shared_memory(tmp_path / "session")
    assert removed == [32769]
    assert not file.exists()


@pytest.mark.parametrize(
    "text",
    [
        notes(900, 10567989, 32769),
        notes(22670, 10567989, 12),
        notes(22670, 4, 4),
        "22670\n/x/data\n",
        "",
        notes(22670, 10567989, 32769).replace("32769", "-1"),
        notes(22670, 10567989, 32769).replace("32769", "; rm"),
    ],
    ids=["another's", "another key's", "gone", "cut off", "empty", "no number", "words"],
)
def test_a_segment_that_is_not_surely_the_servers_is_left(
    tmp_path: Path, removed: list[int], text: str
) -> None:
    written(tmp_path / "1", text)
    sessions.remove_shared_memory(tmp_path)
    assert removed == []


def test_a_machine_without_such_memory_has_nothing_to_remove(
    tmp_path: Path, removed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "SEGMENTS", tmp_path / "nowhere")
    written(tmp_path / "1", notes(22670, 10567989, 32769))
    sessions.remove_shared_memory(tmp_path)
    assert removed == []
