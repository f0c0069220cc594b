"""A child process that is spoken to in lines and answers in lines, and that never outlives us."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from tlstax.specimens.processes import mortal
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason

_LONGEST_LINE = 64 * 1024 * 1024
"""A program that writes more than this without a newline has lost its mind."""

GATE = ("/bin/sh", "-c", 'read -r go && exec "$@"', "gate")
"""A shell that waits for a line and then becomes the program. From a pipe it reads byte by byte, so that
what comes behind that line is left for the program (POSIX, `read`)."""


class ProgramFailure(Exception):
    """The program died, or fell silent; a sentence about it."""


class LineProgram:
    """A program that was started; `what` is how sentences call it, such as "the load client".

    It dies with the laboratory however that dies (see `specimens.processes`), and is in a session of its own,
    so that Ctrl-C reaches only us. `before_exec` is called with the child's process id while it waits to
    execute the program, for counters that are to be inherited by all its threads. MachineFault where it
    cannot be started.
    """

    def __init__(
        self, command: Sequence[str], what: str, before_exec: Callable[[int], None] | None = None
    ) -> None:
        self._what = what
        gate = GATE if before_exec is not None else ()
        mortal_command = mortal([*gate, *command])
        self._log: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end
        try:
            self._process = subprocess.Popen(
                mortal_command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._log.close()
            raise MachineFault(
                f"{what} {Path(command[0]).name} could not be started ({reason(error)})",
                remedy="`tlstax doctor` reports what is missing",
            ) from None
        self._buffer = bytearray()
        self._output = select.poll()
        if self._process.stdout is not None:
            self._output.register(self._process.stdout, select.POLLIN)
        if before_exec is not None:
            self._open_gate(before_exec)

    @property
    def pid(self) -> int:
        """The child's process id (setpriv replaces itself by the program)."""
        return self._process.pid

    def log(self) -> str:
        """What the program wrote on its standard error, the last 4 KiB of it."""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - 4096))
        return self._log.read().decode(errors="replace").strip()

    def send(self, line: bytes) -> None:
        """Write to its standard input. One that has died is told nothing: reading its output shows why."""
        stdin = self._process.stdin
        if stdin is None:
            raise ProgramFailure(f"{self._what} has no standard input")
        with contextlib.suppress(BrokenPipeError):
            stdin.write(line)

    def next_line(self, deadline: float) -> bytes:
        """The next line of its standard output, by this time of the monotonic clock. ProgramFailure."""
        while b"\n" not in self._buffer:
            self._buffer += self._read_some(deadline)
            if len(self._buffer) > _LONGEST_LINE:
                raise ProgramFailure(f"{self._what} wrote an endless line")
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line

    def hang_up(self) -> None:
        """Close its standard input, at which it ends."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def close(self, grace_s: float) -> None:
        """End it, by its own doing within this time, else by ours."""
        self._close_pipes()
        try:
            self._wait_for_end(grace_s)
        finally:
            self._end()

    def _open_gate(self, before_exec: Callable[[int], None]) -> None:
        try:
            before_exec(self._process.pid)
            self.send(b"go\n")
        except BaseException:
            self._close_pipes()
            self._end()
            raise

    def _close_pipes(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _wait_for_end(self, within_s: float) -> None:
        """Wait for the child's end and notice it at once; `Popen.wait` with a limit looks now and then."""
        if self._process.poll() is not None:
            return
        try:
            child = os.pidfd_open(self._process.pid)
        except OSError:  # before Linux 5.3
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(within_s)
            return
        try:
            ended = select.poll()
            ended.register(child, select.POLLIN)
            ended.poll(within_s * 1000)
        finally:
            os.close(child)

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()

    def _read_some(self, deadline: float) -> bytes:
        stdout = self._process.stdout
        if stdout is None:
            raise ProgramFailure(f"{self._what} has no standard output")
        if not self._output.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise ProgramFailure(f"{self._what} fell silent")
        data = os.read(stdout.fileno(), 1 << 20)
        if not data:
            raise ProgramFailure(self._death())
        return data

    def _death(self) -> str:
        status = self._process.wait()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        last_words = self.log().splitlines()[-1:]
        return f"{self._what} {how}" + (f": {last_words[0]}" if last_words else "")
