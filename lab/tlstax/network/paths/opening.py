"""Starts a path by its name: brought up until it carries, asked about each trial, and stopped."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tlstax.contract import TcpEndpoint
from tlstax.network.paths.design import Design, Ends, Laid, Ports, Program
from tlstax.network.paths.exchange import Exchange, exchange
from tlstax.network.paths.haproxy import Haproxy
from tlstax.network.paths.pgbouncer import PgBouncer
from tlstax.network.paths.router import MODES, Router
from tlstax.network.paths.ssh import Ssh
from tlstax.network.paths.stunnel import Stunnel
from tlstax.records.capture import Spoken
from tlstax.records.trial import ConnectionsSeen, PathObservation, PathPart, Specimen
from tlstax.specimens import catalogue, resolve, shelf
from tlstax.specimens.manifest import Kept, Recipe
from tlstax.specimens.processes import free_ports
from tlstax.specimens.progress import Progress
from tlstax.study.level_names import PGBOUNCER_1_18, PGBOUNCERS
from tlstax.study.tls_levels import SSH_CIPHERS
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK


def _pgbouncer(name: str) -> Recipe:
    return catalogue.PGBOUNCER_1_18 if name.startswith(PGBOUNCER_1_18) else catalogue.PGBOUNCER


KINDS: dict[str, tuple[Recipe, Callable[[], Design]]] = {
    **{name: (catalogue.OPENSSH, lambda name=name: Ssh(name)) for name in SSH_CIPHERS},  # type: ignore[misc]
    "stunnel": (catalogue.STUNNEL, Stunnel),
    "haproxy": (catalogue.HAPROXY, lambda: Haproxy(tls=False)),
    "haproxy-tls": (catalogue.HAPROXY, lambda: Haproxy(tls=True)),
    **{name: (catalogue.MYSQL_ROUTER, lambda name=name: Router(name)) for name in MODES},  # type: ignore[misc]
    **{name: (_pgbouncer(name), lambda name=name: PgBouncer(name)) for name in PGBOUNCERS},  # type: ignore[misc]
}
"""What each level of `path` is made of; `direct` and `unix-socket` have no program."""


def obtain_path(name: str, say: Progress) -> Specimen:
    """The specimen that a path is made of, fetched where it is not there yet. MachineFault."""
    recipe, _ = KINDS[name]
    return resolve.specimen_of(shelf.obtain(recipe, say), f"for the path {name}")


@contextmanager
def open_path(name: str, ends: Ends) -> Iterator[RunningPath]:
    """The path of this name, running, and stopped with the block. MachineFault where it does not come up."""
    recipe, design = KINDS[name]
    kept = shelf.present(recipe)
    if kept is None:
        raise MachineFault(f"{recipe.title} has not been fetched", remedy="start again with a network")
    running = RunningPath(name, kept, design, ends)
    try:
        running.start()
        yield running
    finally:
        running.stop()


STARTS = 3
"""A port that was free a moment ago may be taken by now."""

CARRIES_WITHIN_S = 15.0
POLL_S = 0.05


@dataclass(frozen=True)
class FirstWords:
    """What is said to a server that answers whoever it is, and how its answer begins, one of these."""

    request: bytes
    skipped_bytes: int
    answers: tuple[bytes, ...]

    @property
    def least_bytes(self) -> int:
        """How much of the answer is to be read."""
        return self.skipped_bytes + len(self.answers[0])

    def are_answered_by(self, said: bytes) -> bool:
        """Whether this is a server's answer."""
        return said[self.skipped_bytes : self.least_bytes] in self.answers


FIRST_WORDS: Mapping[Spoken, FirstWords] = {
    "mysql": FirstWords(b"", 4, (bytes([10]),)),
    "postgresql": FirstWords(bytes.fromhex("00000008 04d2162f"), 0, (b"S", b"N")),
}
"""MySQL's servers greet unasked, with the protocol's version behind a header of four bytes (MySQL
Client/Server Protocol, HandshakeV10). PostgreSQL's answer in one byte whether they have TLS (Message Formats,
SSLRequest)."""


class RunningPath:
    """Programs between client and server. `start` it once; `stop` may be called twice."""

    def __init__(self, name: str, kept: Kept, design: Callable[[], Design], ends: Ends) -> None:
        self._name = name
        self._kept = kept
        self._new_design = design
        self._design = design()
        self._ends = ends
        self._programs: list[Program] = []
        self._directory: Path | None = None
        self._laid: Laid | None = None
        self._ports = Ports(0, 0, 0)

    @property
    def entry(self) -> TcpEndpoint:
        """Where clients connect to, as seen from the client's place."""
        return TcpEndpoint(host=self._laid.entry_host if self._laid else LOOPBACK, port=self._ports.entry)

    @property
    def pids(self) -> Sequence[int]:
        """All processes that carry its bytes."""
        return tuple(pid for program in self._programs for pid in program.pids())

    @property
    def logins(self) -> tuple[ConnectionsSeen, ...] | None:
        """The clients that it has let in itself, between `begin` and `observe`; None where it does not."""
        return self._design.logins

    def start(self) -> None:
        """Bring it up, and see it carry a server's first words. MachineFault with what its log says."""
        why = ""
        for _ in range(STARTS):
            try:
                self._bring_up()
            except MachineFault as fault:
                why = fault.message
                self.stop()
            else:
                return
        raise MachineFault(f"the path {self._name} did not come up: {why}")

    def stop(self) -> None:
        """End its programs and remove its keys and logs."""
        for program in reversed(self._programs):
            program.stop()
        self._programs = []
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def restart(self, server_port: int) -> None:
        """Start it again, towards this port of the server's. MachineFault when it does not come up."""
        self.stop()
        self._ends = replace(self._ends, server_port=server_port)
        self._design = self._new_design()
        self.start()

    def begin(self) -> None:
        """A trial begins: from now on its connections are counted. MachineFault when a program has died."""
        parts = self._parts()
        for part in parts:
            if not part.alive:
                raise MachineFault(f"{part.program} of the path {self._name} is no longer running")
        self._design.connections(self._programs)

    def observe(self) -> PathObservation:
        """What it showed since `begin`. Never fails: a program that has died is a part that is not alive."""
        parts = self._parts()
        connections = self._design.connections(self._programs) if self.is_alive() else None
        broken = not all(part.alive for part in parts)
        return PathObservation(
            name=self._name,
            specimen=self._kept.manifest.recipe.name,
            version=self._kept.manifest.version,
            parts=parts,
            protection=self._design.protection,
            said_by=self._design.said_by,
            connections=connections,
            entry_port=self._ports.entry,
            server_port=self._ends.server_port,
            log="\n".join(program.tail() for program in self._programs) if broken else "",
        )

    def is_alive(self) -> bool:
        """Whether all its programs run."""
        return bool(self._programs) and all(program.is_alive() for program in self._programs)

    def _parts(self) -> tuple[PathPart, ...]:
        return tuple(program.part() for program in self._programs)

    def _bring_up(self) -> None:
        self._directory = self._ends.session.new_directory()
        # In another place nobody but us takes any.
        self._ports = Ports(*free_ports(3))
        laid = self._design.lay(self._directory, self._kept, self._ends, self._ports)
        self._laid = laid
        for place, plan in enumerate(laid.plans):
            log = self._directory / f"{place}.log"
            self._programs.append(Program(plan, self._kept, self._ends.session, log))
            if laid.banner is not None and place == 0:
                between = Exchange(self._ends.far_address, self._ports.between, least_bytes=len(laid.banner))
                self._wait_for(between, partial(_begins_with, laid.banner))
        words = FIRST_WORDS[self._ends.spoken]
        asked = Exchange(laid.entry_host, self._ports.entry, words.request, words.least_bytes)
        self._wait_for(asked, words.are_answered_by)
        self._design.began(self._programs)
        for program in self._programs:
            program.expect()

    def _wait_for(self, asked: Exchange, is_answer: Callable[[bytes], bool]) -> None:
        """Until the exchange, made from the client's place, brings such an answer."""
        deadline = time.monotonic() + CARRIES_WITHIN_S
        while time.monotonic() < deadline:
            for program in self._programs:
                if not program.is_alive():
                    raise MachineFault(f"{program.plan.program.name} ended: {program.last_line()}")
            said = exchange(self._ends.near.entering, asked)
            if is_answer(said):
                return
            time.sleep(POLL_S)
        lines = [line for program in self._programs if (line := program.last_line())]
        raise MachineFault(f"no connection passed within {CARRIES_WITHIN_S:.0f} s: {'; '.join(lines)}")


def _begins_with(banner: bytes, said: bytes) -> bool:
    return said.startswith(banner)
