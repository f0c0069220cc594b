"""Where two processes spend their CPU time between two moments: stacks, sampled by `perf record`.

perf is started with its event disabled and switched on and off by commands that it acknowledges
(perf-record(1), --control): it is known to sample before the work begins, and to have stopped before what it
wrote is read. It writes into a file without a name, so that nothing is left however we end.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Self, TextIO

from tlstax.records.profiles.perf_script import FIELDS, parse
from tlstax.records.profiles.stacks import Profile, Side
from tlstax.records.trial import Machine
from tlstax.specimens.process_tree import ProcessTree
from tlstax.specimens.processes import mortal
from tlstax.support import directories
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason

CYCLES, CLOCK = "cycles", "cpu-clock"

FREQUENCY_HZ = 999
"""Not 1,000, so that samples do not keep step with timers that beat a thousand times a second."""

STACK_BYTES = 16384
"""How much of each thread's stack is kept with a sample, for the unwinder. Of MySQL 9.7's samples 8 KB
cut off a third (its parser alone has a frame of 4 KB), 16 KB a twelfth and 32 KB none; what is cut off is
the beginning of the thread, never the function that ran. Each costs the server about the same."""

BUFFER = "4M"
"""Room for each processor's samples until perf, which waits for its turn on the client's processor, has
written them. Others than root may not have as much."""

PATIENCE_S = 20.0
"""Far more than perf takes to attach itself to a thousand threads, or to end."""

READING_S = 300.0
"""Far more than perf takes to print what it recorded in the longest window."""

PACKAGE = "apt-get install linux-perf, or leave out --profile"
LEAVE_OUT = "`tlstax doctor` says more; or leave out --profile"


@dataclass(frozen=True)
class Sampling:
    """What perf can sample here: an event (`cycles`, or `cpu-clock` without hardware counters), and of whom.

    With `processors` whatever runs on them is sampled, and only the samples of the two processes are kept.
    The other way, sampling two processes alone, sets up a timer at every change of threads: it made a point
    select over TLS cost its server twice as much CPU, and changes of threads look like the server's work.
    """

    event: str
    kernel: bool
    processors: bool

    @property
    def asked(self) -> str:
        """The event as perf is asked for it: without the kernel, or without processors that are idle."""
        if not self.kernel:
            return f"{self.event}:u"
        return f"{self.event}:I" if self.processors and self.event == CLOCK else self.event


@dataclass(frozen=True)
class Sampled:
    """What came of sampling: a profile, or why there is none, in a sentence."""

    profile: Profile | None
    why_none: str = ""


def probe(perf: str = "perf") -> Sampling:
    """What can be sampled here, tried on a program that does nothing. MachineFault where nothing can be.

    Where there are no hardware counters perf takes the processor's clock of its own accord, and user space
    alone where it may not see the kernel; its recording says so.
    """
    if shutil.which(perf) is None:
        raise MachineFault("perf is not installed, and nothing can be sampled without it", remedy=PACKAGE)
    why = ""
    for processors in (True, False):
        for event in (CYCLES, CLOCK):
            try:
                with _recording(None) as recording:
                    whom = ("-a",) if processors else ()
                    done = _run([*_record(perf, event, recording), *whom, "--", "true"], recording)
                    events = _run([perf, "evlist", "-i", _path(recording)], recording).stdout
            except (OSError, subprocess.TimeoutExpired) as error:
                why = f"it does not run ({reason(error)})"
                continue
            if done.returncode == 0 and (sampling := sampling_of(events, processors=processors)):
                return sampling
            why = _refused(done.stderr)
    raise MachineFault(f"perf cannot sample here: {why}", remedy=LEAVE_OUT)


def sampling_of(events: str, *, processors: bool) -> Sampling | None:
    """From what `perf evlist` prints: `cpu-clock`, `cycles:P`, `cycles:u`, `cpu_core/cycles/u`."""
    for line in events.splitlines():
        for event in (CYCLES, CLOCK):
            _, found, modifiers = line.strip().partition(event)
            if found:
                return Sampling(event, kernel="u" not in modifiers, processors=processors)
    return None


class Profiler:
    """Samples the server and the client, both running (None: out of reach), from `start` until `stop`.

    Leaving the block ends perf. Both run on the `machine`'s processors for them, perf on the client's: the
    server is what is measured. With `server_tree` it is all of these processes, and what they start. `folder`
    is where its file without a name takes its room: where sessions have theirs, unless another is given.
    Nothing is raised: what goes wrong is reported by `stop`.
    """

    def __init__(  # noqa: PLR0913 (what is sampled, where perf runs, and which perf)
        self,
        server_pid: int | None,
        client_pid: int | None,
        sampling: Sampling,
        machine: Machine,
        *,
        server_tree: ProcessTree | None = None,
        folder: Path | None = None,
        perf: str = "perf",
    ) -> None:
        # Beside an external server nothing but our own client is looked at.
        self._sampling = sampling if server_pid is not None else replace(sampling, processors=False)
        self._machine, self._perf = machine, perf
        sides: tuple[tuple[int | None, Side], ...] = ((client_pid, "client"), (server_pid, "server"))
        self._pids: dict[int, Side] = {pid: side for pid, side in sides if pid is not None}
        self._trees: tuple[Side, ...] = ()
        if server_tree is not None:
            self._trees = ("server",)
            self._pids.update((pid, "server") for pid in server_tree.members())
        self._why = ""
        self._child: subprocess.Popen[bytes] | None = None
        self._open = contextlib.ExitStack()
        try:
            self._folder = folder or directories.sessions_dir()
            self._recording = self._open.enter_context(_recording(self._folder))
            self._errors = self._open.enter_context(_recording(None))
            self._start_perf()
        except (OSError, MachineFault) as error:
            self._why = f"perf could not be started ({reason(error)})"

    def _start_perf(self) -> None:
        commands, self._commands = self._pipe()
        self._answers, answers = self._pipe()
        command = [
            *_record(self._perf, self._sampling.asked, self._recording),
            *(*self._whom(), "-D", "-1", f"--control=fd:{commands.fileno()},{answers.fileno()}"),
        ]
        cpus = self._machine.client_cpus
        pinning = ["taskset", "-c", _listed(cpus)] if cpus else []
        self._child = subprocess.Popen(
            mortal([*pinning, *command]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=(commands.fileno(), answers.fileno(), self._recording.fileno()),
            start_new_session=True,
            env=_environment(),
        )
        # From here on perf alone has these ends: when it ends, reading and writing the others fail.
        commands.close()
        answers.close()

    def _whom(self) -> list[str]:
        """The processors of both sides where they are known, all where they are not; or the processes."""
        if not self._sampling.processors:
            return ["-p", _listed(self._pids)]
        server, client = self._machine.server_cpus, self._machine.client_cpus
        return ["-C", _listed(sorted({*server, *client}))] if server and client else ["-a"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
        self._open.close()

    def start(self) -> None:
        """Sample from now on."""
        self._tell("enable")

    def stop(self) -> Sampled:
        """Sample no more, and give what was sampled. Call it once."""
        self._tell("disable")
        if self._child is None or self._why:
            return Sampled(None, self._why)
        self._child.send_signal(signal.SIGINT)
        try:
            self._child.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            return Sampled(None, "perf did not end")
        return self._read()

    def _read(self) -> Sampled:
        forks = ["--show-task-events"] if self._trees else []
        command = [self._perf, "script", "--no-inline", "--show-lost-events", *forks, "-F", FIELDS]
        with TemporaryFile("w+", encoding="utf-8", errors="replace", dir=self._folder) as printed:
            try:
                reading = [*command, "-i", _path(self._recording)]
                done = _run(reading, self._recording, into=printed, within_s=READING_S)
            except (OSError, subprocess.TimeoutExpired) as error:
                return Sampled(None, f"what perf recorded could not be read ({error})")
            if done.returncode != 0:
                return Sampled(None, f"what perf recorded could not be read ({_first_line(done.stderr)})")
            printed.seek(0)
            samples = parse(printed, self._pids, self._trees)
        return Sampled(
            Profile(
                event=self._sampling.event,
                frequency_hz=FREQUENCY_HZ,
                kernel=self._sampling.kernel,
                lost=samples.lost,
                server=samples.sides.get("server"),
                client=samples.sides.get("client"),
            )
        )

    def _tell(self, command: str) -> None:
        """Write a command and wait until perf has acknowledged it; what goes wrong is kept in `_why`."""
        if self._why or self._child is None:
            return
        with contextlib.suppress(BrokenPipeError):
            self._commands.write(f"{command}\n".encode())
            if self._acknowledged():
                return
        self._why = "perf did not answer"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=1)
            self._errors.seek(0)
            self._why = f"perf ended early: {_refused(self._errors.read().decode(errors='replace'))}"

    def _acknowledged(self) -> bool:
        """Whether "ack" and a line break (in some versions a NUL after it) arrived in time."""
        deadline = time.monotonic() + PATIENCE_S
        answer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            while b"\n" not in answer and selector.select(max(0.0, deadline - time.monotonic())):
                some = self._answers.read(64)
                if not some:
                    return False
                answer += some
        return answer.lstrip(b"\0").startswith(b"ack")

    def _pipe(self) -> tuple[FileIO, FileIO]:
        """A pipe's reading and writing end; whichever is still ours is closed with everything else."""
        reading, writing = os.pipe()
        return (
            self._open.enter_context(FileIO(reading, "rb")),
            self._open.enter_context(FileIO(writing, "wb")),
        )


def _record(perf: str, event: str, recording: BinaryIO) -> list[str]:
    """The command line up to what is sampled.

    Without --no-bpf-event perf waits a second for the kernel; build ids would be read from every file.
    """
    room = ("-m", BUFFER) if os.geteuid() == 0 else ()
    what = [perf, "record", "-e", event, "-F", str(FREQUENCY_HZ), "--call-graph", f"dwarf,{STACK_BYTES}"]
    return [*what, *room, "--no-bpf-event", "--no-buildid", "--no-buildid-cache", "-o", _path(recording)]


def _recording(folder: Path | None) -> BinaryIO:
    """A file without a name (O_TMPFILE)."""
    return TemporaryFile(dir=folder)


def _path(recording: BinaryIO) -> str:
    """The path of a file without a name, for a child that has it open under the same number."""
    return f"/proc/self/fd/{recording.fileno()}"


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def _run(
    command: Sequence[str],
    recording: BinaryIO,
    *,
    into: TextIO | None = None,
    within_s: float = PATIENCE_S,
) -> subprocess.CompletedProcess[str]:
    """Run perf over its recording; what it prints goes `into` a file, or into the result."""
    return subprocess.run(
        mortal(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if into is None else into,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        errors="replace",
        check=False,
        timeout=within_s,
        pass_fds=(recording.fileno(),),
        env=_environment(),
    )


def _refused(text: str) -> str:
    """Why perf ended without a recording, from what it wrote on its standard error."""
    if any(word in text for word in ("perf_event_paranoid", "No permission", "not permitted", "limited")):
        return "sampling is not permitted (kernel.perf_event_paranoid)"
    return _first_line(text)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no message")


def _environment() -> dict[str, str]:
    """Plain English, whatever the user's settings, and no symbols from a server on the network."""
    kept = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    return {**kept, "LC_ALL": "C", "PERF_CONFIG": "/dev/null"}
