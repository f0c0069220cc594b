"""One program of a path: started in its place, watched, and what it said at last."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from tlstax.network.paths.ends import Place
from tlstax.records.way import PathPart
from tlstax.specimens import processes, server_settings
from tlstax.specimens.catalogue import VERSION_OPTION
from tlstax.specimens.manifest import Kept
from tlstax.specimens.processes import TAIL_BYTES
from tlstax.specimens.server_build import loader_of
from tlstax.specimens.sessions import Session
from tlstax.support.errors import MachineFault

ENDS_WITHIN_S = 5.0


@dataclass(frozen=True)
class Plan:
    """A program to be started: where, which file of the specimen, with what.

    `in_front` goes between the place and the program. `libraries` are directories of the specimen's tree
    with libraries that are not found by themselves.
    """

    place: Place
    program: Path
    arguments: tuple[str, ...]
    in_front: tuple[str, ...] = ()
    libraries: tuple[Path, ...] = ()


def own_command(
    kept: Kept, program: Path, arguments: Sequence[str], libraries: Sequence[Path] = ()
) -> list[str]:
    """A program of a Debian tree, run by that tree's own loader with its libraries (ld.so(8))."""
    loader, directories = loader_of(kept.tree)
    path = ":".join(map(str, (*directories, *libraries)))
    return [str(loader), "--library-path", path, str(program), *arguments]


class Program:
    """A running program of a path. It dies with us, and the session knows it."""

    def __init__(self, plan: Plan, kept: Kept, session: Session, log_file: Path) -> None:
        self.plan = plan
        self.log_file = log_file
        self._session = session
        self._kept_lines: list[str] = []
        self._carriers: set[int] = set()
        own = own_command(kept, plan.program, plan.arguments, plan.libraries)
        # Entering another user namespace may take the parent death signal away (prctl(2)): asked for again.
        command = [*plan.place.entering, *plan.in_front, *processes.mortal(own)]
        environment = {"PATH": os.defpath, "HOME": str(log_file.parent), "LC_ALL": "C"}
        launch = processes.Launch(command, log_file, environment, plan.place.cpus)
        self._child = processes.start(launch, self._before_exec)

    @property
    def pid(self) -> int:
        """The process that was started."""
        return self._child.pid

    def pids(self) -> tuple[int, ...]:
        """It and its children, as many as run now."""
        if self._child.poll() is not None:
            return ()
        try:
            children = psutil.Process(self.pid).children(recursive=True)
        except psutil.Error:
            return (self.pid,)
        return (self.pid, *(child.pid for child in children))

    def expect(self) -> None:
        """From now on all its processes of this moment are needed: where one is gone, it does not run.

        Its children do not die with us by themselves: the session knows them too.
        """
        self._carriers = set(self.pids())
        for child in self._carriers - {self.pid}:
            self._session.record(child)

    def is_alive(self) -> bool:
        """Whether it runs, with all of its processes that are needed."""
        return self._child.poll() is None and all(map(_runs, self._carriers))

    def part(self) -> PathPart:
        """What is recorded of it."""
        alive = self.is_alive()
        return PathPart(
            role=self.plan.place.role,
            program=str(self.plan.program.resolve()),
            pid=self.pid,
            alive=alive,
            ended="" if alive else self._ended(),
            last_line="" if alive else self.last_line(),
        )

    def new_lines(self) -> list[str]:
        """What it has logged since the last call. The log is emptied, so that it stays short."""
        with self.log_file.open("r+b") as file:
            text = file.read().decode("utf-8", errors="replace")
            # The program appends (O_APPEND), and has nothing to carry when it is asked: no line is lost.
            file.truncate(0)
        lines = text.splitlines()
        self._kept_lines = [*self._kept_lines, *lines][-20:]
        return lines

    def tail(self) -> str:
        """The end of its log."""
        with self.log_file.open("rb") as file:
            file.seek(max(0, self.log_file.stat().st_size - TAIL_BYTES))
            lines = file.read().decode("utf-8", errors="replace").splitlines()
        return "\n".join([*self._kept_lines, *lines][-20:])

    def last_line(self) -> str:
        """The last line of its log that is not empty; empty where there is none."""
        lines = [line.strip() for line in self.tail().splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self._child.poll() is None:
            self._child.send_signal(number)

    def stop(self) -> None:
        """Kill it and its children, and wait until it is gone."""
        children = [found for pid in self.pids()[1:] if (found := processes.identity_of(pid))]
        self._child.kill()
        self._child.wait()
        for child in children:
            processes.kill_if_same(child, ENDS_WITHIN_S)
        for pid in self._carriers | {self.pid}:
            self._session.forget(pid)

    def _ended(self) -> str:
        status = self._child.poll()
        if status is None:
            return "a process of it is gone"
        if status < 0:
            return f"ended by {signal.Signals(-status).name}"
        return f"ended with status {status}"

    def _before_exec(self, pid: int) -> None:
        self._session.record(pid)
        server_settings.allow_open_files(pid)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def told_version(kept: Kept) -> str:
    """What the specimen's program prints of its version. MachineFault where it does not run."""
    done = ran(own_command(kept, kept.program, [VERSION_OPTION[kept.manifest.recipe.name]]))
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        raise MachineFault(f"{kept.program} does not run ({said[-200:] or 'no message'})")
    return said


def ran(command: Sequence[str], typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run a small tool of a specimen to its end; `typed` is its standard input."""
    return subprocess.run(
        processes.mortal(command), input=typed, capture_output=True, text=True, check=False, timeout=30
    )
