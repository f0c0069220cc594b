"""The distance of a study: two places of this machine, and what delays the packets between them.

The places are held by this process: they end when it does and when nothing runs in them any more.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from tlstax.network.distance.link import Link, link_command, measure_round_trip
from tlstax.network.paths.route import Span
from tlstax.plan.addresses import FAR_ADDRESS, NEAR_ADDRESSES, TUN
from tlstax.records.way import LinkUse, RoundTripTime
from tlstax.specimens.processes import mortal, tool
from tlstax.specimens.sessions import Session
from tlstax.study.factors import Distance
from tlstax.support.errors import MachineFault

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
        span = OpenSpan(places, link)
        say(f"making a distance between two network namespaces ({span.made_by} delays the packets)")
        try:
            yield span
        finally:
            if link is not None:
                link.close()


class OpenSpan:
    """Two places, and our own link between them; None where the kernel delays packets itself."""

    def __init__(self, places: Places, link: Link | None) -> None:
        self._places = places
        self._link = link
        self._distance = Distance()

    @property
    def made_by(self) -> Literal["netem", "tlstax-link"]:
        """What delays the packets."""
        return "tlstax-link" if self._link else "netem"

    @property
    def far_address(self) -> str:
        """The far place's address on the distance."""
        return FAR_ADDRESS

    @property
    def near_addresses(self) -> tuple[str, ...]:
        """The near place's addresses on the distance."""
        return NEAR_ADDRESSES

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
