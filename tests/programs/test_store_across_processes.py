"""The store where its writer is killed, is one of several, or meets a disk that is really full."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fake_trials import fake_run
from full_store import until_full
from kept_runs import NAME, RUN, sentence_of
from small_disk import small_disk
from tlstax.store import Store
from tlstax.support.errors import MachineFault, UserMistake

WRITER = """
import sys
from pathlib import Path
from fake_trials import fake_run
from tlstax.store import Store

store = Store.open(Path(sys.argv[1]))
run = fake_run(number_of_blocks=int(sys.argv[3]))
store.begin(run.header.model_copy(update={"run": sys.argv[2]}))
print("begun", flush=True)
for record in run.trials:
    store.add_trials(sys.argv[2], (record,))
    print(record.trial.block, record.trial.position, flush=True)
sys.stdin.readline()
"""


LISTING = """
import sys
from pathlib import Path
from tlstax.store import Store
from tlstax.support.errors import UserMistake

with Store.open(Path(sys.argv[1])) as store:
    print(*(run.status for run in store.runs()))
    try:
        store.delete("theirs")
    except UserMistake as mistake:
        print(mistake.sentence())
"""

APART = (
    "unshare",
    *(("--user", "--map-root-user") if os.geteuid() else ()),
    "--pid",
    "--fork",
    "--kill-child",
)
"""A PID namespace of its own, with its own /proc."""


@contextmanager
def _writing(path: Path, name: str, number_of_blocks: int, *before: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes a run, says each trial that was taken, and then waits."""
    with subprocess.Popen(
        [*before, sys.executable, "-c", WRITER, str(path), name, str(number_of_blocks)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("trials_before", [1, 7, 23])
def test_every_trial_that_was_taken_survives_a_kill(path: Path, trials_before: int) -> None:
    with _writing(path, "killed", 8) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(trials_before + 1)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    taken = {tuple(map(int, line.split())) for line in said[1:] if line.endswith("\n")}
    with Store.open(path) as store:
        (summary,) = store.runs()
        kept = store.load("killed")
        assert _integrity(path) == "ok"
        places = {(record.trial.block, record.trial.position) for record in kept.trials}
        assert places >= taken
        assert len(places) <= len(taken) + 1
        assert summary.status == kept.status == "interrupted"
        assert kept.stopped_because == "the program ended before the run did"
        assert len(store.resume("killed").trials) == len(places)
        assert store.load("killed").status == "running"


def _integrity(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def test_a_run_of_another_process_is_running_until_that_ends(path: Path) -> None:
    with _writing(path, "theirs", 1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with Store.open(path) as store:
            assert store.load("theirs").status == "running"
            with pytest.raises(UserMistake) as caught:
                store.resume("theirs")
            assert f"process {process.pid} is still working on run theirs" in sentence_of(UserMistake, caught)
            process.kill()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            assert store.load("theirs").status == "interrupted"


def _listed(path: Path, *before: str) -> list[str]:
    """What a process says of the store's runs, and of deleting one."""
    done = subprocess.run(
        [*before, sys.executable, "-c", LISTING, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def _namespaces() -> bool:
    """Whether this user may make PID namespaces: where not, they are no way to hide a writer either."""
    return subprocess.run([*APART, "--mount-proc", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("reader_is_apart", [True, False])
def test_a_writer_in_another_pid_namespace_is_seen(path: Path, reader_is_apart: bool) -> None:
    """As from another container with the same volume; `test_store.py` shows it without namespaces."""
    apart = (*APART, "--mount-proc") if _namespaces() else ()
    of_reader, of_writer = (apart, ()) if reader_is_apart else ((), apart)
    with _writing(path, "theirs", 1, *of_writer) as process:
        assert process.stdout is not None
        process.stdout.readline()
        status, refused = _listed(path, *of_reader)
        assert status == "running"
        assert "run theirs is still running" in refused
        process.kill()
        process.stdout.read()
        assert _listed(path, *of_reader) == ["interrupted"], "the kernel has freed its lock"


def test_two_runs_are_written_at_once(path: Path) -> None:
    with _writing(path, "one", 3) as one, _writing(path, "two", 3) as two:
        for process in (one, two):
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(31)][-1] == "2 9\n"
        with Store.open(path) as store:
            assert {(s.run, s.status, s.valid + s.invalid) for s in store.runs()} == {
                ("one", "running", 30),
                ("two", "running", 30),
            }


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB, where the machine allows one to be made."""
    with small_disk(tmp_path / "tiny", 256) as folder:
        yield folder


def test_a_disk_that_is_really_full_loses_nothing(tiny_disk: Path) -> None:
    path = tiny_disk / "store.sqlite"
    with Store.open(path) as store:
        store.begin(RUN.header)
        kept, fault = until_full(store, NAME, fake_run(number_of_blocks=12, invalid=False).trials)
        assert kept > 0
        assert "the disk is full" in fault.message
        assert len(store.load(NAME).trials) == kept
    with Store.open(path) as again:
        assert len(again.load(NAME).trials) == kept


def test_a_new_store_on_a_full_disk_is_refused_in_asentence_of(tiny_disk: Path) -> None:
    ballast = tiny_disk / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(b"x" * 300_000)
    with pytest.raises(MachineFault) as caught:
        Store.open(tiny_disk / "store.sqlite")
    assert "store.sqlite" in sentence_of(MachineFault, caught)
