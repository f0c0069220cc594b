"""A load client's own program as its adapter's child: held still, listened to, and ended.

What it prints is kept until its report is read; what it complains of is passed on and ends the conversation.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import IO, Any, Self

from tlstax.clients.adapter import (
    STANDARD_INPUT,
    Failed,
    Laboratory,
    death,
    failure,
    has_begun,
    settled_cpu,
)
from tlstax.contract import ErrorEvent
from tlstax.observers.process import CpuReading
from tlstax.specimens.processes import mortal

READ_BYTES = 1 << 16
LOG_CHARACTERS = 64 * 1024
STANDARD_ERROR = 2


def started(
    command: Sequence[str], environment: Mapping[str, str], inherited: Sequence[int], **streams: Any
) -> subprocess.Popen[bytes]:
    """The program, running, with pipes for its output and errors unless `streams` say otherwise (`Popen`).

    It dies with us, and has the `inherited` descriptors, which are closed here.
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    try:
        return subprocess.Popen(
            mortal(command), env=dict(environment), pass_fds=tuple(inherited), bufsize=0, **pipes
        )
    finally:
        for descriptor in inherited:
            os.close(descriptor)


class Child:
    """A program that was `started`. Use as a context manager; leaving it ends the process.

    `name` is what sentences call it, `failure_in` finds the first error in what it has complained of, None
    where there is none. `heard` are descriptors, each with what to do when something can be read there.
    """

    def __init__(
        self,
        name: str,
        process: subprocess.Popen[bytes],
        laboratory: Laboratory,
        failure_in: Callable[[str], ErrorEvent | None],
    ) -> None:
        self._name = name
        self._process = process
        self._laboratory = laboratory
        self._failure_in = failure_in
        self._printed = self._log = ""
        pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
        self._left = {pipe.fileno() for pipe in pipes}
        self.heard: dict[int, Callable[[], None]] = {STANDARD_INPUT: laboratory.read_some}
        self.heard |= {pipe.fileno(): partial(self._take_from, pipe) for pipe in pipes}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    @property
    def pid(self) -> int:
        """Its process id (setpriv, env and the loader replace themselves)."""
        return self._process.pid

    @property
    def is_over(self) -> bool:
        """Whether it will print no more, on either pipe."""
        return not self._left

    def wait_for_go(self) -> None:
        """Return when the laboratory has said `go`; Failed where the program ends meanwhile."""
        self.listen(lambda: has_begun(self._laboratory), None, "")

    def settled_cpu(self) -> CpuReading:
        """Its CPU time where it stands still. Failed where it does not come to rest."""
        return settled_cpu(self.pid, self._name)

    def wait_for_end(self, within_s: float, doing: str) -> float:
        """Return when it has ended well; its clocks can still be read. The time (time.monotonic).

        Failed as of `listen`, and where it ends otherwise.
        """
        self.listen(lambda: self.is_over, within_s, doing)
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        now = time.monotonic()
        if ended is None or ended.si_status != 0:
            raise Failed(self.death(self._process.wait()))
        return now

    def listen(self, reached: Callable[[], bool], within_s: float | None, doing: str) -> None:
        """Take in what is heard until `reached`.

        Failed where the program complains, ends, or has not done what it is `doing` in time; LaboratoryGone.
        """
        deadline = None if within_s is None else time.monotonic() + within_s
        while not reached():
            if self.is_over:
                raise Failed(self.death(self._process.wait()))
            self.hear(deadline, doing, within_s)

    def hear(self, deadline: float | None, doing: str, within_s: float | None) -> None:
        """Take in what comes first; Failed where nothing does by the deadline, which is `within_s`."""
        ready = self._select(deadline)
        if not ready:
            text = f"{self._name} did not {doing} within {within_s:g} s"
            raise Failed(failure("timeout", "server", text))
        for take in [take for descriptor, take in self.heard.items() if descriptor in ready]:
            take()

    def death(self, status: int) -> ErrorEvent:
        """Its end, where it should still run, or has printed no report."""
        return death(self._name, status, self._log, self._failure_in(self._log))

    def _select(self, deadline: float | None) -> set[int]:
        with selectors.PollSelector() as selector:
            for descriptor in self.heard:
                selector.register(descriptor, selectors.EVENT_READ)
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            return {key.fd for key, _ in selector.select(left_s)}

    def _take_from(self, pipe: IO[bytes]) -> None:
        """Keep what it printed; pass on what it complains of, and raise Failed for it."""
        data = os.read(pipe.fileno(), READ_BYTES)
        if not data:
            self._left.discard(pipe.fileno())
            del self.heard[pipe.fileno()]
        elif pipe is self._process.stdout:
            self._printed += data.decode(errors="replace")
        else:
            os.write(STANDARD_ERROR, data)
            self._log = (self._log + data.decode(errors="replace"))[-LOG_CHARACTERS:]
            event = self._failure_in(self._log.rpartition("\n")[0])
            if event is not None:
                raise Failed(event)
