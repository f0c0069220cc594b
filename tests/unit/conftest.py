"""For unit tests: a store in a file of its own; and none starts a process or opens a socket."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tlstax.store import Store

settings.register_profile("tlstax", deadline=None)
settings.load_profile("tlstax")
"""A busy machine fails no test: Hypothesis would allow an example 200 ms."""

FORBIDDEN = {
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.system",
    "pty.spawn",
    "socket.__new__",
    "subprocess.Popen",
}
"""Python's audit events of processes and sockets (Python documentation, Audit events table)."""

_watched = False
_seen: list[str] = []


def _refuse(event: str, _: object) -> None:
    if _watched and event in FORBIDDEN:
        _seen.append(event)
        raise AssertionError(f"{event}: what starts a process or opens a socket belongs in tests/programs")


sys.addaudithook(_refuse)


@pytest.fixture(autouse=True)
def _no_process_and_no_socket() -> Iterator[None]:
    """Also where what is tested survives the refusal, as the doctor's checks do."""
    global _watched  # noqa: PLW0603 (an audit hook stays for good)
    _watched = True
    yield
    _watched = False
    seen = [_seen.pop() for _ in range(len(_seen))]
    assert seen == []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        yield opened


def pytest_collection_finish() -> None:
    """What was imported and collected stays: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
