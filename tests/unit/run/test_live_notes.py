"""A run's note: there while the run is, whole at any moment, and nothing that the run would fail for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from live_runs import begun, preparing
from tlstax.results.live import LiveRun
from tlstax.run import live_notes as noting_module
from tlstax.run.live_notes import NAME, noting, read, under_way
from tlstax.run.progress import Step
from tlstax.support.directories import sessions_dir

STEP = Step(block=0, place=1, of=3, label="TLS 1.3", progress=None, left_s=3.0)


class Heard:
    """A watcher that keeps what it hears."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def step(self, text: str) -> None:
        self.calls.append(f"step {text}")

    def warn(self, text: str) -> None:
        self.calls.append(f"warn {text}")

    def trial(self, step: Step) -> None:
        self.calls.append(f"trial {step.label}")

    def noted(self, live: LiveRun) -> None:
        self.calls.append(f"noted {live.blocks}")

    def close(self) -> None:
        self.calls.append("close")


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In a place with a short name: sockets may be put there."""
    with TemporaryDirectory(prefix="tlx", dir="/tmp") as cache:
        monkeypatch.setenv("TLSTAX_CACHE", cache)
        yield


def test_the_note_is_there_while_the_run_is_and_nothing_stays() -> None:
    with noting(Heard()) as (watcher, directory):
        assert directory is not None
        assert under_way() == []
        watcher.step("starting mysql-9.7")
        assert under_way() == [(directory, preparing())]
        watcher.noted(begun(3))
        assert read(directory) == begun(3)
        assert sorted(path.name for path in directory.iterdir()) == [NAME, "lock", "processes"]
    assert under_way() == []
    assert [path.name for path in sessions_dir().iterdir()] == [".lock"]


def test_nothing_is_written_while_trials_run() -> None:
    with noting(Heard()) as (watcher, directory):
        assert directory is not None
        watcher.noted(begun(1))
        before = (directory / NAME).stat()
        watcher.trial(STEP)
        watcher.warn("the server died")
        watcher.step("starting it again")
        after = (directory / NAME).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_others_hear_all_of_it() -> None:
    heard = Heard()
    with noting(heard) as (watcher, _):
        watcher.step("a")
        watcher.warn("b")
        watcher.trial(STEP)
        watcher.noted(begun(2))
        watcher.close()
    assert heard.calls == ["step a", "warn b", "trial TLS 1.3", "noted 2", "close"]


def test_a_run_that_cannot_note_anything_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a file"
    file.touch()
    monkeypatch.setenv("TLSTAX_CACHE", str(file))
    heard = Heard()
    with noting(heard) as (watcher, directory):
        watcher.noted(begun(1))
    assert (directory, heard.calls) == (None, ["noted 1"])


def test_a_full_disk_is_nobodys_concern(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    heard = Heard()
    with noting(heard) as (watcher, directory):
        assert directory is not None
        watcher.noted(begun(1))
        monkeypatch.setattr(noting_module.Path, "write_text", full)
        watcher.noted(begun(2))
        assert read(directory) == begun(1)
    assert heard.calls == ["noted 1", "noted 2"]


def test_runs_that_measure_come_before_those_made_ready() -> None:
    with noting(Heard()) as (measuring, first), noting(Heard()) as (waiting, second):
        measuring.noted(begun(1))
        waiting.step("waiting for its turn")
        assert [directory for directory, _ in under_way()] == [first, second]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"run": 3}', b'{"what": "else"}', b"\xff"])
def test_a_note_that_is_none_of_ours_is_passed_over(content: bytes) -> None:
    with noting(Heard()) as (_, directory):
        assert directory is not None
        (directory / NAME).write_bytes(content)
        assert read(directory) is None
        assert under_way() == []
