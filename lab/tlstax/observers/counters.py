"""Hardware counters of one process between two moments: `perf stat`, switched on and off by commands.

perf is started with its events disabled. "enable" and "disable" are written to its control descriptor,
and it acknowledges each (perf-stat(1), --control), so that it is known to count before the work begins
and to have stopped before its counts are read. All threads of the process are counted, and those that
they start.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO, Self

from tlstax.contract import Frozen
from tlstax.specimens.processes import mortal

USER, KERNEL = "instructions:u", "instructions:k"

PATIENCE_S = 10.0
"""Far more than perf takes to attach itself to a thousand threads."""

NOT_COUNTED = {"<not supported>", "<not counted>"}


class Counted(Frozen):
    """How often each event occurred; an event that could not be counted is missing."""

    events: dict[str, int]
    why_none: str = ""

    @property
    def instructions(self) -> int | None:
        """Those of user space and kernel together; None where one of the two was not counted."""
        if self.events.keys() >= {USER, KERNEL}:
            return self.events[USER] + self.events[KERNEL]
        return None


def usable_events(perf: str = "perf") -> Counted:
    """Which of the instruction counters work here, tried on a program that does nothing.

    `events` holds those that work, the kernel's part only where the user's is there too; `why_none` says
    in a clause why there are none.
    """
    why = ""
    for events in ((USER, KERNEL), (USER,)):
        command = [perf, "stat", "-x,", "-e", ",".join(events), "--", "true"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=20, env=_environment()
            )
        except FileNotFoundError:
            return Counted(events={}, why_none="perf is not installed")
        except (OSError, subprocess.TimeoutExpired) as error:
            return Counted(events={}, why_none=f"perf does not run ({error})")
        counted = parse(done.stderr) if done.returncode == 0 else refused(done.stderr)
        if counted.events.keys() >= {USER}:
            return counted
        why = why or counted.why_none
    return Counted(events={}, why_none=why)


def parse(text: str) -> Counted:
    """What `perf stat -x,` printed.

    A line is VALUE,UNIT,EVENT,TIME,SHARE,… (perf-stat(1), "CSV FORMAT"). A value that perf extrapolated,
    because the event had the counter for a SHARE under 100 per cent of the time, is not taken.
    """
    found: dict[str, int] = {}
    why = ""
    for line in text.splitlines():
        fields = line.split(",")
        if line.startswith("#") or len(fields) < 5:
            continue
        value, event, share = fields[0], fields[2], fields[4]
        if value in NOT_COUNTED:
            why = why or "this machine offers no hardware counters"
        elif value.isdecimal() and share.startswith("100"):
            found[event] = int(value)
        elif value.isdecimal():
            why = why or "the hardware counters are in use by others"
    return Counted(events=found, why_none="" if found else why or "perf counted nothing")


def refused(text: str) -> Counted:
    """Why perf ended without counting, from what it wrote on its standard error."""
    if any(word in text for word in ("perf_event_paranoid", "No permission", "not permitted", "limited")):
        return Counted(events={}, why_none="the hardware counters may not be read (perf_event_paranoid)")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return Counted(events={}, why_none=f"perf stat failed ({first})")


class ProcessCounters:
    """Counts `events` of process `pid` from `__enter__` until `stop`; leaving the block ends perf.

    Nothing is raised: where perf fails, `stop` gives a `Counted` without events that says why.
    """

    def __init__(self, pid: int, events: Sequence[str], perf: str = "perf") -> None:
        self._why = ""
        self._child: subprocess.Popen[bytes] | None = None
        self._output: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        command = [perf, "stat", "-x,", "-e", ",".join(events), "-p", str(pid), "-D", "-1"]
        try:
            self._child = subprocess.Popen(
                mortal([*command, f"--control=fd:{commands},{answers}"]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._output,
                pass_fds=(commands, answers),
                start_new_session=True,
                env=_environment(),
            )
        except OSError as error:
            self._why = f"perf does not run ({error})"
        finally:
            os.close(commands)
            os.close(answers)

    def __enter__(self) -> Self:
        self._tell("enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
        self._output.close()
        os.close(self._commands)
        os.close(self._answers)

    def stop(self) -> Counted:
        """Stop counting and give the counts. Call it once.

        A process that has ended by then has ended the counting too.
        """
        self._tell("disable")
        if self._child is None or (self._why and self._child.poll() is None):
            return Counted(events={}, why_none=self._why)
        self._child.send_signal(signal.SIGINT)
        try:
            self._child.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            return Counted(events={}, why_none="perf did not end")
        counted = parse(self._printed())
        return counted if counted.events or not self._why else Counted(events={}, why_none=self._why)

    def _tell(self, command: str) -> None:
        """Write a command and wait until perf has acknowledged it; what goes wrong is kept in `_why`."""
        if self._why or self._child is None:
            return
        with contextlib.suppress(BrokenPipeError):
            os.write(self._commands, f"{command}\n".encode())
            if self._acknowledged():
                return
        self._why = "perf stat did not answer"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=1)
            self._why = refused(self._printed()).why_none

    def _printed(self) -> str:
        self._output.seek(0)
        return self._output.read().decode(errors="replace")

    def _acknowledged(self) -> bool:
        """Whether "ack" and a line break (in some versions a NUL after it) arrived in time."""
        deadline = time.monotonic() + PATIENCE_S
        answer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            while b"\n" not in answer and selector.select(max(0.0, deadline - time.monotonic())):
                some = os.read(self._answers, 64)
                if not some:
                    return False
                answer += some
        return answer.lstrip(b"\0").startswith(b"ack")


def _environment() -> dict[str, str]:
    """How perf prints a number depends on the locale."""
    return {**os.environ, "LC_ALL": "C"}
