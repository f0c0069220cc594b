"""The distance of a study: two places of this machine, and what delays the packets between them.

The places are held by this process: they end when it does and when nothing runs in them any more.
`tlstax-tools link`, built with the engine, delays packets where the kernel cannot, and measures round trips.
It runs on the client's processors. There it takes time from the client alone, which is waiting for packets
anyway; on the server's it would take it from what is measured. No clock is read here.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from tlstax.clients.engine import tool_command
from tlstax.plan.addresses import CLOSED_PORT, FAR_ADDRESS, NEAR_ADDRESSES, TUN
from tlstax.records.trial import LinkUse, RoundTripTime
from tlstax.specimens.processes import Launch, mortal, put_first, start, tool
from tlstax.specimens.sessions import Session
from tlstax.study.factors import Distance
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason

NAME = "tlstax-tools link"

ANSWER_TIMEOUT_S = 10.0

_USE: TypeAdapter[LinkUse] = TypeAdapter(LinkUse)


def link_command() -> list[str]:
    """The command that starts the program; MachineFault where it has not been built."""
    return tool_command("link")


class Link:
    """The running program, between two devices; `close` ends it.

    It is started anew with the next distance when it has died. MachineFault from all but `close` when it does
    not come up or does not answer.
    """

    def __init__(self, session: Session, devices: tuple[int, ...], cpus: tuple[int, ...]) -> None:
        self._session = session
        self._cpus = cpus
        self._devices = devices
        self._directory = session.new_directory()
        self._child: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._distance = Distance()
        self._start()

    def set(self, distance: Distance) -> None:
        """Make the distance this one, from the next packet on."""
        if not self.is_alive():
            self._start()
        self._distance = distance
        self.used()

    def used(self) -> LinkUse:
        """What was carried since this or `set` was asked last, and how late."""
        distance = self._distance
        told = {
            "rtt_ms": distance.rtt_ms,
            "jitter_ms": distance.jitter_ms,
            "rate_mbit": distance.rate_mbit,
        }
        answer = self._asked(json.dumps(told))
        try:
            return _USE.validate_json(answer)
        except ValidationError:
            raise MachineFault(f"the link that makes the distance reports {answer.strip()!r}") from None

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._child is not None and self._child.poll() is None

    def close(self) -> None:
        """End it and remove its directory. May be called twice."""
        self._end()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _end(self) -> None:
        control, self._control = self._control, None
        child, self._child = self._child, None
        if control is not None:
            control.close()
        if child is not None:
            child.kill()
            child.wait()
            self._session.forget(child.pid)

    def _start(self) -> None:
        self._end()
        path, log = self._directory / "link.sock", self._directory / "link.log"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen(1)
            command = [*link_command(), "carry", f"--socket={path}"]
            launch = Launch(command, log, dict(os.environ), self._cpus)
            self._child = start(launch, self._session.record)
            # A wire waits for nobody; a network card interrupts whoever runs.
            put_first(self._child.pid)
            listening.settimeout(ANSWER_TIMEOUT_S)
            try:
                control, _ = listening.accept()
            except TimeoutError:
                self._end()
                raise MachineFault(f"{NAME} does not start: {_end_of(log)}") from None
        control.settimeout(ANSWER_TIMEOUT_S)
        socket.send_fds(control, [b"\0"], self._devices)
        self._control = control

    def _asked(self, line: str) -> str:
        answer = b""
        try:
            if self._control is not None:
                self._control.sendall(line.encode() + b"\n")
                while not answer.endswith(b"\n") and (more := self._control.recv(4096)):
                    answer += more
        except OSError:
            answer = b""
        if not answer:
            said = _end_of(self._directory / "link.log")
            raise MachineFault(f"the link that makes the distance has ended{f': {said}' if said else ''}")
        return answer.decode()


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return lines[-1] if lines else ""


SAMPLES = 9
SAMPLES_WITH_JITTER = 49

GRACE_S = 10.0

_FOUND: TypeAdapter[RoundTripTime] = TypeAdapter(RoundTripTime)


def measure_round_trip(entering: Sequence[str], distance: Distance) -> RoundTripTime:
    """The round trip time from the place that is entered so. MachineFault where the far one is silent."""
    samples = SAMPLES_WITH_JITTER if distance.jitter_ms else SAMPLES
    timeout_s = GRACE_S + 2 * distance.rtt_ms / 1000
    words = [
        "rtt",
        f"--to={FAR_ADDRESS}",
        f"--port={CLOSED_PORT}",
        f"--samples={samples}",
        f"--timeout-s={timeout_s}",
    ]
    command = mortal([*entering, *link_command(), *words])
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            put_first(child.pid)
            try:
                out, err = child.communicate(timeout=timeout_s + GRACE_S)
            finally:
                child.kill()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFault(f"the round trip could not be measured ({reason(error)})") from error
    if child.returncode:
        said = err.decode(errors="replace").strip().removeprefix(f"{NAME}: ")
        raise MachineFault(f"the round trip could not be measured ({said or f'status {child.returncode}'})")
    try:
        return _FOUND.validate_json(out)
    except ValidationError as error:
        raise MachineFault("the round trip could not be measured (what was printed is not a time)") from error


MAKING_TIMEOUT_S = 30

_MODULE = ("-P", "-s", "-m", "tlstax.network.distance.making")
_MOST_DESCRIPTORS = 5

_WORDS = {
    "network namespaces": (
        "a distance needs two network namespaces, which may not be made here",
        "run it as root, or let users have namespaces (sysctl user.max_user_namespaces and "
        "user.max_net_namespaces; in a container, a less strict seccomp profile)",
    ),
    "user namespaces": (
        "a distance needs two network namespaces, for which there are no rights and no user namespaces",
        "run it as root, or let users have user namespaces (sysctl user.max_user_namespaces and "
        "kernel.unprivileged_userns_clone; in a container, a less strict seccomp profile)",
    ),
    "tun": (
        f"a distance needs {TUN}, or a kernel that delays packets itself (netem)",
        f"load the kernel module tun or sch_netem; in a container, pass the device in (--device {TUN})",
    ),
}


@dataclass(frozen=True)
class Places:
    """Descriptors of two network namespaces and of what goes with them.

    `user` is the user namespace that they belong to, None for ours; `devices` are the TUN device in the far
    and in the near one, none where the kernel delays packets itself.
    """

    far: int
    near: int
    user: int | None
    devices: tuple[int, ...]

    def entering(self, place: int) -> tuple[str, ...]:
        """The beginning of a command line that executes a program in this place, in the same process.

        The descriptors are this process's own: who enters finds them through /proc while it lives.
        """
        user = (f"--user={_path(self.user)}", "--preserve-credentials") if self.user is not None else ()
        return (tool("nsenter"), *user, f"--net={_path(place)}", "--")

    def change(self, distance: Distance) -> None:
        """Tell the kernel's own delay another distance. MachineFault where it refuses."""
        user = -1 if self.user is None else self.user
        kept = [descriptor for descriptor in (self.far, self.near, user) if descriptor >= 0]
        told = (distance.rtt_ms, distance.jitter_ms, distance.rate_mbit)
        words = ["change", *map(str, (self.far, self.near, user)), *map(str, told)]
        done = _child(words, kept)
        if done.returncode:
            raise MachineFault(
                f"the kernel does not take a distance of {distance.rtt_ms} ms ({_output_of(done)})"
            )


@contextmanager
def open_places(*, may_netem: bool = True) -> Iterator[Places]:
    """Two new places until the block ends. MachineFault says what the machine lacks."""
    ours, given = socket.socketpair()
    with contextlib.ExitStack() as descriptors:
        descriptors.enter_context(ours)
        with given:
            words = [str(given.fileno()), *([] if may_netem else ["no-netem"])]
            done = _child(words, [given.fileno()])
        said, came, _, _ = socket.recv_fds(ours, 4096, _MOST_DESCRIPTORS)
        for descriptor in came:
            descriptors.callback(os.close, descriptor)
        yield _places(said, came, done)


def _places(said: bytes, came: list[int], done: subprocess.CompletedProcess[bytes]) -> Places:
    try:
        told = json.loads(said)
    except ValueError:
        raise MachineFault(f"no place for a distance could be made ({_output_of(done)})") from None
    if "lacking" in told:
        message, remedy = _WORDS[told["lacking"]]
        raise MachineFault(f"{message} ({told['why']})", remedy=remedy)
    rest = came[2:]
    user = rest.pop(0) if told["user"] else None
    return Places(came[0], came[1], user, tuple(rest))


def _child(words: list[str], kept: list[int]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            mortal([sys.executable, *_MODULE, *words]),
            pass_fds=kept,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=MAKING_TIMEOUT_S,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise MachineFault(f"no place for a distance was made within {MAKING_TIMEOUT_S} s") from error


def _output_of(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"status {done.returncode}"


def _path(descriptor: int) -> str:
    return f"/proc/{os.getpid()}/fd/{descriptor}"


@contextmanager
def open_span(
    session: Session, say: Callable[[str], None], *, cpus: tuple[int, ...] = (), may_netem: bool = True
) -> Iterator[Span]:
    """Both places and their link, gone with the block. MachineFault says what the machine lacks.

    `cpus` are those of the client, on which our own link runs (empty: anywhere).
    """
    link_command()
    with open_places(may_netem=may_netem) as places:
        link = Link(session, places.devices, cpus) if places.devices else None
        span = Span(places, link)
        say(f"making a distance between two network namespaces ({span.made_by} delays the packets)")
        try:
            yield span
        finally:
            if link is not None:
                link.close()


class Span:
    """Two places of this machine with a distance between them: servers stand in the far one.

    Each place is a network namespace of its own, with a loopback of its own. `link` is our own between them,
    None where the kernel delays packets itself. `far_address` is where the far place is reached over the
    distance, `near_addresses` are those that clients may come from.
    """

    far_address = FAR_ADDRESS
    near_addresses = NEAR_ADDRESSES

    def __init__(self, places: Places, link: Link | None) -> None:
        self._places = places
        self._link = link
        self._distance = Distance()

    @property
    def made_by(self) -> Literal["netem", "tlstax-link"]:
        """What delays the packets."""
        return "tlstax-link" if self._link else "netem"

    def enter_far(self) -> tuple[str, ...]:
        """The beginning of a command line that executes a program in the far place, in the same process."""
        return self._places.entering(self._places.far)

    def enter_near(self) -> tuple[str, ...]:
        """The same for the near place."""
        return self._places.entering(self._places.near)

    def set(self, distance: Distance) -> None:
        """Make the distance this one, from the next packet on. MachineFault when the link is gone."""
        if self._link is not None:
            self._link.set(distance)
        elif distance != self._distance:
            self._places.change(distance)
        self._distance = distance

    def measure(self) -> RoundTripTime:
        """The round trip time from the near place to the far one, now. MachineFault when it is silent."""
        return measure_round_trip(self.enter_near(), self._distance)

    def used(self) -> LinkUse | None:
        """What our own link has carried since this or `set` was called last; None where the kernel delays."""
        return self._link.used() if self._link else None

    def is_alive(self) -> bool:
        """Whether packets are carried."""
        return self._link is None or self._link.is_alive()
