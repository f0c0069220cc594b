"""A load client: what trials need of one, and one as a child process, which never outlives us.

A child process is spoken to in lines and answers in lines.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from tlstax.contract import Done, ErrorEvent, Event, Interval, Job, Ready, Slice
from tlstax.observers import process
from tlstax.observers.ports import read_ports
from tlstax.records.trial import MappedLibrary
from tlstax.records.window import Load, PortUse
from tlstax.specimens.processes import mortal
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import first_mistake, reason
from tlstax.support.text import how_it_ended

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
        return f"{self._what} {how_it_ended(self._process.wait(), self.log())}"


class Client(Protocol):
    """A load client that has its job. Calls that wait raise ClientFailure; leaving it ends the client.

    It is there from when it is made, and loads itself; entering it, or `give_job`, has it connect.
    """

    def give_job(self) -> None:
        """Hand over the job, once, as entering does."""
        ...

    @property
    def watched_pid(self) -> int | None:
        """The process that does the work, once it is ready; None where it is on another machine."""
        ...

    @property
    def errors(self) -> tuple[ErrorEvent, ...]:
        """Every error event so far, fatal or not."""
        ...

    @property
    def began_apart(self) -> bool:
        """Whether its last slice began on several machines too far apart to be counted."""
        ...

    def log(self) -> str:
        """The end of what it wrote on its standard error."""
        ...

    def wait_ready(self, within_s: float) -> Ready:
        """Return when every connection is up and warm."""
        ...

    def mapped_tls_libraries(self) -> tuple[MappedLibrary, ...]:
        """The TLS libraries that it has loaded, once it is ready."""
        ...

    def go(self) -> None:
        """Start the measurement: the whole window as one slice."""
        ...

    def wait_done(self, within_s: float) -> Done:
        """Return the result of the one slice that `go` began."""
        ...

    def slice(self, length_s: float, within_s: float) -> Slice:
        """Have it work for `length_s` and return what it did."""
        ...

    def wind_up(self) -> None:
        """There is no further slice: it may put its result together while others do as well."""
        ...

    def finish(self, within_s: float) -> Done:
        """Return the result of all slices so far."""
        ...

    def hang_up(self) -> None:
        """Have it end by itself."""
        ...

    def load(self) -> Load | None:
        """Each machine's part in it; None where there is one machine."""
        ...

    def ports(self) -> PortUse | None:
        """The ports that wait where it ran; of several machines, where most do. None: they do not matter."""
        ...

    def __enter__(self) -> Self:
        """The client, which has been given its job."""
        ...

    def __exit__(self, *_: object) -> None:
        """Ends it."""
        ...


_EVENT: TypeAdapter[Ready | Interval | Slice | ErrorEvent | Done] = TypeAdapter(Event)
E = TypeVar("E", Ready, Slice, Done)

_GRACE_S = 2.0
"""How long a client may take to end in order, once its standard input has ended, before it is killed."""


class ClientFailure(Exception):
    """The client did not do its job: it said why (`errors`), or it died, or it fell silent."""

    def __init__(self, message: str, errors: tuple[ErrorEvent, ...] = ()) -> None:
        super().__init__(message)
        self.errors = errors

    def tls_was_refused(self) -> bool:
        """Whether the server did not take the version of TLS that was offered (contract/README.md)."""
        return any(error.kind in {"tls_handshake", "no_tls"} for error in self.errors)


def _go(length_s: float) -> bytes:
    return f"go {length_s:.9f}\n".encode()


class LoadClient:
    """Runs one job in a child process. Use as a context manager; leaving it ends the child.

    The child is warned first, by the end of its standard input, so that it can clean up.

    The child dies with the laboratory and is out of Ctrl-C's reach, and `before_exec` is called, as of
    `program.LineProgram`.
    """

    def __init__(
        self, command: Sequence[str], job: Job, before_exec: Callable[[int], None] | None = None
    ) -> None:
        self._job = job
        self._ready: Ready | None = None
        self._errors: list[ErrorEvent] = []
        self._is_told_to_end = False
        self._program = LineProgram(command, "the load client", before_exec)

    def __enter__(self) -> LoadClient:
        self.give_job()
        return self

    def __exit__(self, *_: object) -> None:
        self._program.close(_GRACE_S)

    def give_job(self) -> None:
        """Hand over the job, once, as entering does; until then the child connects to nobody."""
        self._send(self._job.as_line())

    @property
    def pid(self) -> int:
        """The child's process id (setpriv replaces itself by the client)."""
        return self._program.pid

    @property
    def watched_pid(self) -> int | None:
        """The process that does the work, once it is ready: the client's, or one that it has started."""
        return self._ready.pid if self._ready is not None else None

    @property
    def began_apart(self) -> bool:
        """False: it is alone."""
        return False

    def load(self) -> Load | None:
        """None: there is one machine."""
        return None

    def ports(self) -> PortUse | None:
        """The ports that wait on this machine; None where its own place, across a distance, is another."""
        pid = self.watched_pid
        return read_ports(self._job) if pid is None or process.shares_network(pid) else None

    def mapped_tls_libraries(self) -> tuple[MappedLibrary, ...]:
        """The TLS libraries that it has loaded, once it is ready."""
        return process.mapped_tls_libraries(self._ready.pid) if self._ready is not None else ()

    @property
    def errors(self) -> tuple[ErrorEvent, ...]:
        """Every error event so far, fatal or not."""
        return tuple(self._errors)

    def log(self) -> str:
        """What the client wrote on its standard error, the last 4 KiB of it."""
        return self._program.log()

    def wait_ready(self, within_s: float) -> Ready:
        """Return when every connection is up and warm; raise ClientFailure otherwise."""
        self._ready = self._next(Ready, time.monotonic() + within_s)
        return self._ready

    def go(self) -> None:
        """Start the measurement: the whole window as one slice."""
        self._send(_go(self._job.duration_s))

    def slice(self, length_s: float, within_s: float) -> Slice:
        """Have it work for `length_s` and return what it did; ClientFailure when it says nothing in time."""
        self._send(_go(length_s))
        return self._next(Slice, time.monotonic() + within_s)

    def wait_done(self, within_s: float) -> Done:
        """Return the result of the one slice that `go` began; ClientFailure when there is none in time."""
        deadline = time.monotonic() + within_s
        self._next(Slice, deadline)
        self.wind_up()
        return self._next(Done, deadline)

    def wind_up(self) -> None:
        """There is no further slice: it puts its result together, which `finish` returns."""
        if not self._is_told_to_end:
            self._is_told_to_end = True
            self._send(b"end\n")

    def finish(self, within_s: float) -> Done:
        """Return the result of all slices so far; ClientFailure when there is none within the time."""
        self.wind_up()
        return self._next(Done, time.monotonic() + within_s)

    def hang_up(self) -> None:
        """Close the client's standard input, at which it ends."""
        self._program.hang_up()

    def _next(self, kind: type[E], deadline: float) -> E:
        """The next event of this kind; others before it are passed over."""
        while not isinstance(event := self._next_event(deadline), kind):
            pass
        return event

    def _send(self, line: bytes) -> None:
        try:
            self._program.send(line)
        except ProgramFailure as failure:
            raise ClientFailure(str(failure)) from None

    def _next_event(self, deadline: float) -> Ready | Interval | Slice | ErrorEvent | Done:
        line = self._next_line(deadline)
        try:
            event = _EVENT.validate_json(line)
        except ValidationError as error:
            raise ClientFailure(f"the load client broke the contract at {first_mistake(error)}") from None
        if isinstance(event, ErrorEvent):
            self._errors.append(event)
            if event.fatal:
                raise ClientFailure(event.message, self.errors)
        return event

    def _next_line(self, deadline: float) -> bytes:
        try:
            return self._program.next_line(deadline)
        except ProgramFailure as failure:
            raise ClientFailure(str(failure), self.errors) from None
