"""What every path is made of: its ends, its programs in their order, how it counts; how a case travels."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import psutil

from tlstax.contract import Endpoint
from tlstax.records.capture import Spoken
from tlstax.records.trial import ConnectionsSeen, PathPart
from tlstax.specimens import processes, server_settings
from tlstax.specimens.catalogue import VERSION_OPTION
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.manifest import Kept
from tlstax.specimens.processes import TAIL_BYTES
from tlstax.specimens.server_build import loader_of
from tlstax.specimens.sessions import Session
from tlstax.study.factors import Distance
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK

if TYPE_CHECKING:  # few studies have either
    from tlstax.network.distance.opening import Span
    from tlstax.network.paths.opening import RunningPath

ENDS_WITHIN_S = 5.0

Role = Literal["near the client", "near the server"]
NEAR: Role = "near the client"
FAR: Role = "near the server"


@dataclass(frozen=True)
class Place:
    """Where a program stands: how a command line in it begins (empty: here), and on which processors."""

    role: Role
    entering: tuple[str, ...]
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class Ends:
    """Between what a path runs: a server's port, certificates, and over which distance.

    A private server stands in the server's place, an external one listens at `server_host`. `certificates`
    has what a path shows that ends TLS, and the authority of the server's own, which is checked as `verify`
    says.

    Where `over` is None, all of the path stands in the server's place; else one end of it stands in the near
    place, or all of it where it has one program alone and belongs to the client. `entering` is the
    beginning of a command line in the server's place (empty: this one). Programs that would run on the
    client's machine share `near_cpus` with it, those on the server's machine `far_cpus`. `spoken` is the
    protocol in which the server is asked whether the path carries. `secrets` is what the server keeps of the
    passwords of the load's accounts, by account, for a path that logs in for its clients; the passwords
    themselves for one that is to have them.
    """

    session: Session
    server_port: int
    certificates: Certificates
    entering: tuple[str, ...] = ()
    over: Span | None = None
    near_cpus: tuple[int, ...] = ()
    far_cpus: tuple[int, ...] = ()
    server_host: str | None = None
    verify: Literal["none", "ca", "identity"] = "ca"
    spoken: Spoken = "mysql"
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def near(self) -> Place:
        """The client's place."""
        return Place(NEAR, self.over.enter_near() if self.over else self.entering, self.near_cpus)

    @property
    def far(self) -> Place:
        """The server's place."""
        return Place(FAR, self.entering, self.far_cpus)

    @property
    def far_address(self) -> str:
        """Where the server's place is reached from the client's."""
        return self.over.far_address if self.over else LOOPBACK

    @property
    def server_from_near(self) -> str:
        """The server's address and port, for a program in the client's place."""
        return _joined(self.server_host or self.far_address, self.server_port)

    @property
    def server_from_far(self) -> str:
        """The same for a program in the server's place."""
        return _joined(self.server_host or LOOPBACK, self.server_port)


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


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
    command = own_command(kept, kept.program, [VERSION_OPTION[kept.manifest.recipe.name]])
    done = processes.must_run(kept.program, processes.mortal(command), typed="")
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        raise MachineFault(f"{kept.program} does not run ({said[-200:] or 'no message'})")
    return said


@dataclass(frozen=True)
class Ports:
    """TCP ports that were free a moment ago: of the entry, between its parts, for its status."""

    entry: int
    between: int
    status: int


@dataclass(frozen=True)
class Laid:
    """A path whose files are written: its programs, the server's side first, and where clients enter.

    `banner` is what the first program says to whoever connects to it, None where the next one may start
    before it is up; clients connect to `entry_host`.
    """

    plans: tuple[Plan, ...]
    entry_host: str
    banner: bytes | None = None


class Design(Protocol):
    """One kind of path. It is asked by whoever starts it; it keeps no process itself.

    `protection` is what protects the bytes between its ends, as its programs say, None where nothing does;
    `said_by` is who says so, and who counts. `logins` is of those that `connections` counted last how each
    was encrypted, None where it lets nobody in.
    """

    said_by: str
    protection: str | None = None
    logins: tuple[ConnectionsSeen, ...] | None = None

    def lay(self, directory: Path, kept: Kept, ends: Ends, ports: Ports) -> Laid:
        """Write keys, certificates and configuration into the directory. MachineFault."""
        ...

    def began(self, programs: Sequence[Program]) -> None:
        """It carries: what was logged until now is of the start. MachineFault where it is not as meant."""
        ...

    def connections(self, programs: Sequence[Program]) -> int | None:
        """How many connections have been counted since it was asked last; None where it does not answer."""
        ...


@dataclass(frozen=True)
class Route:
    """How one case reaches its server.

    `entering` goes before the client's command, to start it in its place. `path` is None where client and
    server are connected directly. `span` is None where no distance is to be put between them.
    """

    endpoint: Endpoint
    source_addresses: tuple[str, ...]
    entering: tuple[str, ...] = ()
    path: RunningPath | None = None
    span: Span | None = None
    distance: Distance = field(default_factory=Distance)
