"""A mysqlslap process: held at a gate before and after every round, listened to, and ended.

mysqlslap runs a command of the user's before and after each of its rounds (--pre-system, --post-system),
outside its own clock. Ours says a word and waits for an answer, so that the process stands still in between,
with no statement in flight. What it prints itself it keeps until its end (stdio, to a pipe), so its standard
output carries the gates' words first.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Self

from tlstax.clients.adapter import (
    STANDARD_INPUT,
    Failed,
    Laboratory,
    failure,
    file_in_memory,
    has_begun,
    settled_cpu,
)
from tlstax.clients.mysqlslap.events import Report, death, failure_in, report_in
from tlstax.observers.process import CpuReading
from tlstax.specimens.processes import mortal

STANDARD_ERROR = 2
READ_BYTES = 1 << 16
LOG_CHARACTERS = 64 * 1024

BEGIN, END = "tlstax-round-begins", "tlstax-round-ends"
_GATES = (f"--pre-system=echo {BEGIN} && read -r go", f"--post-system=echo {END} && read -r go")

END_S = 10.0


@dataclass(frozen=True)
class Launch:
    """How mysqlslap is to be started: its command line, its option file, and what it says.

    `queries` are what its connections say, `reset` what the main one says before each round.
    """

    program: Sequence[str]
    arguments: Sequence[str]
    options: str = field(repr=False)
    queries: Sequence[str]
    reset: Sequence[str] = ()


class Mysqlslap:
    """A running mysqlslap. Use as a context manager; leaving it ends the process.

    The account and the statements lie in memory (memfd_create(2)): a password must be on no command line and
    in no file of the disk, and a client that is killed leaves nothing behind.
    """

    def __init__(self, launch: Launch, laboratory: Laboratory) -> None:
        self._laboratory = laboratory
        self._printed = ""
        self._log = ""
        files = {name: file_in_memory(text) for name, text in _texts(launch).items()}
        paths = {name: f"/proc/self/fd/{descriptor}" for name, descriptor in files.items()}
        try:
            self._process = subprocess.Popen(
                mortal(
                    [
                        *launch.program,
                        f"--defaults-file={paths.pop('defaults-file')}",
                        *launch.arguments,
                        *(f"--{name}={path}" for name, path in paths.items()),
                        *_GATES,
                    ]
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "OPENSSL_CONF": os.devnull, "LC_ALL": "C"},
                pass_fds=tuple(files.values()),
                bufsize=0,
            )
        finally:
            for descriptor in files.values():
                os.close(descriptor)
        self._pipes = [pipe for pipe in (self._process.stdout, self._process.stderr) if pipe is not None]
        self._over: list[IO[bytes]] = []

    @property
    def pid(self) -> int:
        """Its process id (setpriv, env and the loader replace themselves)."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A gate that still waits ends with its standard input.
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._process.kill()
        self._process.wait()

    def wait_for(self, word: str, within_s: float, doing: str) -> float:
        """Return when a gate has sent this word: the time (time.monotonic). Failed, LaboratoryGone."""
        self._listen(lambda: self._has_said(word), within_s, doing)
        return time.monotonic()

    def wait_for_go(self) -> None:
        """Return when the laboratory has said `go`; Failed where mysqlslap ends meanwhile."""
        self._listen(lambda: has_begun(self._laboratory), None, "")

    def pass_gate(self) -> float:
        """Let it go on; the time before that."""
        now = time.monotonic()
        stdin = self._process.stdin
        if stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                stdin.write(b"go\n")
        return now

    def report(self) -> Report:
        """What it prints at its end, once it has ended; its clocks can still be read then. Failed."""
        self._listen(lambda: len(self._over) == len(self._pipes), END_S, "end")
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        found = report_in(self._printed)
        if found is None or ended is None or ended.si_status != 0:
            raise Failed(death(self._process.wait(), self._log))
        return found

    def settled_cpu(self) -> CpuReading:
        """Its CPU time at a gate. Failed where it does not come to rest."""
        return settled_cpu(self.pid, "mysqlslap")

    def _has_said(self, word: str) -> bool:
        line, end, rest = self._printed.partition("\n")
        if not end or line != word:
            return False
        self._printed = rest
        return True

    def _listen(self, reached: Callable[[], bool], within_s: float | None, doing: str) -> None:
        """Take in what it writes until `reached`."""
        deadline = None if within_s is None else time.monotonic() + within_s
        while not reached():
            if self._process.stdout in self._over:
                self._read_last_words()
                raise Failed(death(self._process.wait(), self._log))
            ready = self._select(deadline)
            if not ready:
                message = f"mysqlslap did not {doing} within {within_s:g} s"
                raise Failed(failure("timeout", "server", message))
            if STANDARD_INPUT in ready:
                self._laboratory.read_some()
            for pipe in self._pipes:
                if pipe.fileno() in ready:
                    self._take_from(pipe)

    def _select(self, deadline: float | None) -> set[int]:
        with selectors.PollSelector() as selector:
            selector.register(STANDARD_INPUT, selectors.EVENT_READ)
            for pipe in self._pipes:
                if pipe not in self._over:
                    selector.register(pipe, selectors.EVENT_READ)
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            return {key.fd for key, _ in selector.select(left_s)}

    def _take_from(self, pipe: IO[bytes]) -> None:
        """Keep what it printed; pass on what it complains of, and raise Failed for it."""
        data = os.read(pipe.fileno(), READ_BYTES)
        if not data:
            self._over.append(pipe)
        elif pipe is self._process.stdout:
            self._printed += data.decode(errors="replace")
        else:
            os.write(STANDARD_ERROR, data)
            self._log = (self._log + data.decode(errors="replace"))[-LOG_CHARACTERS:]
            event = failure_in(self._log.rpartition("\n")[0])
            if event is not None:
                raise Failed(event)

    def _read_last_words(self) -> None:
        """What it wrote before its end and was not read yet."""
        for pipe in self._pipes:
            while pipe not in self._over:
                self._take_from(pipe)


def _texts(launch: Launch) -> dict[str, str]:
    """The files that it is given, by the option that names each."""
    texts = {"defaults-file": launch.options, "query": _lines(launch.queries)}
    return {**texts, "pre-query": _lines(launch.reset)} if launch.reset else texts


def _lines(statements: Sequence[str]) -> str:
    return "".join(f"{statement}\n" for statement in statements)
