"""The command line as a user starts it: a process of its own, with a data directory of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import psutil
from ready_command import ready_run

import tlstax
from processes import runs
from tlstax.store import Store
from tlstax.support.directories import cache_dir

WITHIN_S = 120.0


class Started(subprocess.Popen[str]):
    """A process that is killed where its block fails, since nobody ends it then."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, error, trace)


@dataclass
class Home:
    """A user's data directory; the cache, with the fetched server, is everybody's."""

    data: Path

    def environment(self) -> dict[str, str]:
        lab = str(Path(tlstax.__file__).parents[1])
        return {
            **os.environ,
            "PYTHONPATH": lab,
            "TLSTAX_DATA": str(self.data),
            "TLSTAX_CACHE": str(cache_dir()),
        }

    def start(self, *arguments: str) -> Started:
        return Started(
            [sys.executable, "-P", "-m", "tlstax", *arguments],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        done = ready_run(arguments, self.environment(), WITHIN_S)
        assert "Traceback" not in done.stderr
        return done

    def store(self) -> Store:
        return Store.open(self.data / "store.sqlite")

    def trials(self) -> int:
        """How many trials of the newest run are on disk."""
        if not (self.data / "store.sqlite").exists():
            return 0
        with self.store() as store:
            runs = store.runs()
            return sum((runs[0].valid, runs[0].invalid, runs[0].unknown)) if runs else 0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def all_gone(processes: list[psutil.Process]) -> bool:
    return not any(map(runs, processes))


@contextmanager
def long_run(home: Home, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A long run that has some trials on disk; it is ended with the block."""
    process = home.start("run", *words)
    try:
        wait_until(lambda: home.trials() >= 3 or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        yield process
    finally:
        process.kill()
        process.communicate()
