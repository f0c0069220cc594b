"""A mysqlslap process: held at a gate before and after every round, listened to, and ended.

mysqlslap runs a command of the user's before and after each of its rounds (--pre-system, --post-system),
outside its own clock. Ours says a word and waits for an answer, so that the process stands still in between,
with no statement in flight. What it prints itself it keeps until its end (stdio, to a pipe), so its standard
output carries the gates' words first.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tlstax.clients.adapter import Failed, Laboratory, file_in_memory
from tlstax.clients.child import Child
from tlstax.clients.mysqlslap.events import Report, failure_in, report_in
from tlstax.specimens.processes import mortal

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


class Mysqlslap(Child):
    """A running mysqlslap. Use as a context manager; leaving it ends the process.

    The account and the statements lie in memory (memfd_create(2)): a password must be on no command line and
    in no file of the disk, and a client that is killed leaves nothing behind.
    """

    def __init__(self, launch: Launch, laboratory: Laboratory) -> None:
        files = {name: file_in_memory(text) for name, text in _texts(launch).items()}
        paths = {name: f"/proc/self/fd/{descriptor}" for name, descriptor in files.items()}
        try:
            process = subprocess.Popen(
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
        super().__init__("mysqlslap", process, laboratory, failure_in)

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
        self.listen(lambda: self._has_said(word), within_s, doing)
        return time.monotonic()

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
        self.listen(lambda: self.is_over, END_S, "end")
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        found = report_in(self._printed)
        if found is None or ended is None or ended.si_status != 0:
            raise Failed(self.death(self._process.wait()))
        return found

    def _has_said(self, word: str) -> bool:
        line, end, rest = self._printed.partition("\n")
        if not end or line != word:
            return False
        self._printed = rest
        return True


def _texts(launch: Launch) -> dict[str, str]:
    """The files that it is given, by the option that names each."""
    texts = {"defaults-file": launch.options, "query": _lines(launch.queries)}
    return {**texts, "pre-query": _lines(launch.reset)} if launch.reset else texts


def _lines(statements: Sequence[str]) -> str:
    return "".join(f"{statement}\n" for statement in statements)
