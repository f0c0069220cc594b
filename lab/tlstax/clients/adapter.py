"""The laboratory's side of the conversation: lines on standard input, events on standard output."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from tlstax.contract import (
    LONGEST_S,
    Counts,
    CpuTime,
    Done,
    ErrorEvent,
    ErrorKind,
    Job,
    Ready,
    Slice,
    Tls,
    TlsOn,
)
from tlstax.contract.frozen import Frozen
from tlstax.observers.process import CpuReading, cpu_between, read_cpu
from tlstax.support.errors import TlstaxError
from tlstax.support.plain_words import first_mistake
from tlstax.support.text import how_it_ended

STANDARD_INPUT, STANDARD_OUTPUT = 0, 1
LONGEST_LINE = 16 * 1024 * 1024


class LaboratoryGone(Exception):
    """Standard input has ended or nobody reads: nobody wants the result any more."""


class Laboratory:
    """Reads what the laboratory writes, line by line, and says events to it."""

    def __init__(self) -> None:
        self._buffer = b""

    def job_line(self) -> bytes:
        """The first line, once it is there; LaboratoryGone without one."""
        while b"\n" not in self._buffer:
            self.read_some()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def read_some(self) -> None:
        """Take in what has arrived, or wait for something; LaboratoryGone at the end."""
        data = os.read(STANDARD_INPUT, 1 << 16)
        if not data or len(self._buffer) > LONGEST_LINE:
            raise LaboratoryGone
        self.take(data)

    def take(self, data: bytes) -> None:
        """Take in what has been read."""
        self._buffer += data

    def order(self) -> list[str] | None:
        """The words of the next `go` or `end`, once it has arrived; other lines are ignored."""
        while b"\n" in self._buffer:
            line, _, self._buffer = self._buffer.partition(b"\n")
            words = line.decode(errors="replace").split()
            if words[:1] == ["go"] or words == ["end"]:
                return words
        return None

    def say(self, event: Frozen) -> None:
        """Write an event as a line; LaboratoryGone when nobody reads."""
        left = event.as_line()
        try:
            while left:
                left = left[os.write(STANDARD_OUTPUT, left) :]
        except BrokenPipeError:
            raise LaboratoryGone from None


Fault = Literal["job", "client", "network", "server"]

SETTLED_S = 0.002
SETTLING_S = 2.0


class Refusal(Exception):
    """The job asks for what the client cannot do; one sentence says what."""


class Failed(Exception):
    """The client gave up, died or fell silent; `event` says why in the contract's words."""

    def __init__(self, event: ErrorEvent) -> None:
        super().__init__(event.message)
        self.event = event


def failure(kind: ErrorKind, fault: Fault, message: str, code: int | None = None) -> ErrorEvent:
    """A fatal error event."""
    return ErrorEvent(kind=kind, fault=fault, fatal=True, message=message, code=code)


def death(client: str, status: int, log: str, said: ErrorEvent | None) -> ErrorEvent:
    """The end of a client that should still run: what it `said` of it, None for nothing that is known."""
    return said or failure("internal", "client", f"{client} {how_it_ended(status, log)}")


def served(serve: Callable[[Laboratory], None]) -> int:
    """Serve the laboratory's one job by `serve`, report what goes wrong; the exit status, 0 after `done`."""
    laboratory = Laboratory()
    try:
        try:
            serve(laboratory)
        except Failed as failed:
            laboratory.say(failed.event)
        except Refusal as refusal:
            laboratory.say(failure("bad_job", "job", str(refusal)))
        except TlstaxError as error:
            laboratory.say(failure("internal", "client", error.sentence()))
        else:
            return 0
    except LaboratoryGone:
        pass
    return 1


def job_of(laboratory: Laboratory) -> Job:
    """The job that stands on the first line; Refusal where there is none or it cannot be read."""
    try:
        return Job.model_validate_json(laboratory.job_line())
    except LaboratoryGone:
        raise Refusal("there was no job on standard input") from None
    except ValidationError as error:
        raise Refusal(f"the job cannot be read at {first_mistake(error)}") from None


def refuse(limits: Iterable[tuple[object, str]]) -> None:
    """Refusal with the first sentence whose limit the job goes beyond."""
    for is_beyond, sentence in limits:
        if is_beyond:
            raise Refusal(sentence)


def has_begun(laboratory: Laboratory) -> bool:
    """Whether `go` has arrived; all work is done at it, whatever its length. Refusal for any other order."""
    words = laboratory.order()
    if words is None:
        return False
    if words == ["end"]:
        raise Refusal("end came before the first slice")
    if not _is_length(words[1:]):
        raise Refusal(f"go needs the length of a slice in seconds, a year at most: {' '.join(words)}")
    return True


def has_ended(laboratory: Laboratory) -> bool:
    """Whether `end` has arrived after the one slice. Refusal for another `go`."""
    words = laboratory.order()
    if words is not None and words != ["end"]:
        raise Refusal("this client does all its work in one slice, and go came again")
    return words is not None


def _is_length(words: Sequence[str]) -> bool:
    try:
        (length_s,) = map(float, words)
    except ValueError:
        return False
    return math.isfinite(length_s) and 0 < length_s <= LONGEST_S


def only_slice(done: Done) -> Slice:
    """The one slice of a job with this result. The sum of latencies is 0, for the client reports none."""
    return Slice(
        elapsed_s=done.elapsed_s,
        operations=done.operations,
        latency_sum_s=0.0,
        cpu_us=done.cpu.total_us,
        counts=done.window,
    )


def conclude(laboratory: Laboratory, done: Done) -> None:
    """Report the one slice, the result at `end`, and wait until nobody needs the client's clocks any more."""
    laboratory.say(only_slice(done))
    while not has_ended(laboratory):
        laboratory.read_some()
    laboratory.say(done)
    with contextlib.suppress(LaboratoryGone):
        while True:
            laboratory.read_some()


def check_files(tls: Tls) -> None:
    """The job's files can be read; a client's own words of them name none, or it goes on without."""
    if not isinstance(tls, TlsOn):
        return
    for path in (tls.ca_file, tls.certificate_file, tls.key_file):
        try:
            if path is not None:
                Path(path).open("rb").close()
        except OSError as error:
            text = f"{error.filename} cannot be read ({error.strerror})"
            raise Failed(failure("certificate", "job", text)) from None


ENGINE_ALONE = ("groups", "server_name", "resumption", "weak_dh", "library", "keylog_file")
"""Fields of a job's TLS for which programs that come with a server have no option."""


def ready_untold(client: str, version: str, pid: int) -> Ready:
    """A client is ready that can be asked nothing: neither what it negotiated nor of whom."""
    return Ready(
        client=client, client_version=version, pid=pid, server_version="", tls_library=None, negotiated=()
    )


def done_untold(
    elapsed_s: float, operations: int, connections: tuple[int, int], cpu: CpuTime, **more: Any
) -> Done:
    """The result of such a client, and of its connections in the window and in all; `more` has other fields.

    What it does not report, handshakes, logins and latencies among it, is left out.
    """
    window, lifetime = (Counts(connections=one, handshakes=(), authentications={}) for one in connections)
    return Done(
        elapsed_s=elapsed_s,
        operations=operations,
        scheduled=operations,
        skipped=0,
        window=window,
        lifetime=lifetime,
        histograms_ns={},
        cpu=cpu,
        wire=None,
        errors=(),
        row_samples=(),
        **more,
    )


def tls_lacking(client: str, tls: TlsOn, *others: str) -> list[tuple[bool, str]]:
    """Whether the job asks for ENGINE_ALONE or other fields of TLS, each with the refusal of the client."""
    names = (*others, *ENGINE_ALONE)
    return [(bool(getattr(tls, name)), f"{client} has no option for tls.{name}") for name in names]


def file_in_memory(text: str) -> int:
    """The descriptor of a file in memory for its owner alone (memfd_create(2)).

    Clients ignore options and passwords that others may read or write.
    """
    descriptor = os.memfd_create("tlstax")
    os.fchmod(descriptor, 0o600)
    with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
        file.write(text)
    return descriptor


def take_limits(cpus: Sequence[int], client: str) -> None:
    """What the client inherits from its adapter: these processors, and as many files as are allowed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if cpus:
        try:
            os.sched_setaffinity(0, cpus)
        except OSError:
            asked = ", ".join(map(str, cpus))
            text = f"this machine has no processors {asked} for {client}"
            raise Failed(failure("limits", "client", text)) from None


def settled_cpu(pid: int, client: str) -> CpuReading:
    """The client's CPU time once every thread of it sleeps; Failed when they do not, or it cannot be read."""
    deadline = time.monotonic() + SETTLING_S
    while not _sleeps(pid):
        if time.monotonic() > deadline:
            text = f"{client} is still working {SETTLING_S:g} s after it should have stopped"
            raise Failed(failure("internal", "client", text))
        time.sleep(SETTLED_S)
    return _known(read_cpu(pid), client)


def cpu_used(before: CpuReading, after: CpuReading | None, client: str) -> CpuTime:
    """What the client used between two readings; Failed where its clock could not be read."""
    return CpuTime.model_validate(cpu_between(before, _known(after, client)), from_attributes=True)


def _known(reading: CpuReading | None, client: str) -> CpuReading:
    if reading is None:
        raise Failed(failure("internal", "client", f"the CPU clock of {client} cannot be read"))
    return reading


def _sleeps(pid: int) -> bool:
    """Whether every thread waits for something (state S of proc(5), third field)."""
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        states = {(task / "stat").read_text().rpartition(")")[2].split()[0] for task in tasks}
    except (OSError, IndexError):
        return False
    return states == {"S"}
