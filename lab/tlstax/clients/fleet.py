"""Machines that the load comes from, used together as one load client.

A connection to a load machine is encrypted, to the very one that was meant: order and reply in turn.
"""

from __future__ import annotations

import hashlib
import socket
import ssl
import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Self, TypeVar

from pydantic import ValidationError

from tlstax.clients import merging
from tlstax.clients.fleet_messages import (
    REPLIES,
    AskClock,
    Broke,
    Clock,
    ClockOffset,
    Finish,
    Finished,
    Go,
    Greet,
    Mark,
    Peer,
    Readied,
    Reply,
    Sliced,
    Start,
    Welcome,
    of_exchanges,
    over_time,
)
from tlstax.clients.process import ClientFailure
from tlstax.contract import Done, ErrorEvent, Frozen, Job, Ready, Slice, TlsOn
from tlstax.plan.jobs import MOST_SKEW, LoadPlace, shared
from tlstax.records.trial import Machine, MappedLibrary
from tlstax.records.window import Load, LoadPart, PortUse
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import first_mistake, reason

R = TypeVar("R", Welcome, Clock, Readied, Sliced, Finished)

CONNECT_S, ANSWER_S = 10.0, 10.0
"""How long a load machine may take to let us connect, and to answer what it has not to work for."""

EXCHANGES = 8
"""How often its clock is asked: the exchange that takes the least time tells what it shows."""

LONGEST_LINE_BYTES = 64 << 20


class LoadMachineLost(ClientFailure):
    """A load machine cannot be reached, or no longer."""


class FleetLine:
    """A connection to one load machine, greeted; leaving it closes it, which ends what it was for.

    LoadMachineLost where the machine cannot be reached, is another one than was meant, or goes away.
    """

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self._buffer = bytearray()
        try:
            plain = socket.create_connection((peer.address, peer.port), CONNECT_S)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = _context().wrap_socket(plain)
        except OSError as error:
            raise self._lost(error) from None
        shown = self._socket.getpeercert(binary_form=True) or b""
        if hashlib.sha256(shown).hexdigest() != peer.fingerprint:
            self._socket.close()
            raise LoadMachineLost(f"who answers for {peer.name} at {peer.address} is somebody else")
        self.tell(Greet(token=peer.token))
        self.welcome = self.reply(Welcome, ANSWER_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it. May be called twice."""
        self._socket.close()

    def tell(self, order: Frozen) -> None:
        """Give an order."""
        try:
            self._socket.sendall(order.as_line())
        except OSError as error:
            raise self._lost(error) from None

    def reply(self, kind: type[R], within_s: float) -> R:
        """The reply to the order that was given last; ClientFailure where the client broke."""
        found = self._reply(within_s)
        if isinstance(found, Broke):
            raise ClientFailure(f"{self.peer.name}: {found.message}", found.errors)
        if not isinstance(found, kind):
            raise LoadMachineLost(f"{self.peer.name} answered what it was not asked")
        return found

    def clock(self) -> ClockOffset:
        """How much the machine's clock is ahead of ours."""
        exchanges = []
        for _ in range(EXCHANGES):
            asked_s = time.monotonic()
            self.tell(AskClock())
            theirs_s = self.reply(Clock, ANSWER_S).at_s
            exchanges.append((asked_s, time.monotonic(), theirs_s))
        return of_exchanges(exchanges)

    def _reply(self, within_s: float) -> Reply:
        try:
            return REPLIES.validate_json(self._next_line(time.monotonic() + within_s))
        except ValidationError as error:
            raise LoadMachineLost(
                f"what {self.peer.name} answers cannot be read, at {first_mistake(error)}"
            ) from None

    def _next_line(self, deadline: float) -> bytes:
        while b"\n" not in self._buffer:
            try:
                self._socket.settimeout(max(0.001, deadline - time.monotonic()))
                data = self._socket.recv(1 << 16)
            except OSError as error:
                raise self._lost(error) from None
            if not data:
                raise LoadMachineLost(f"the load machine {self.peer.name} is gone")
            self._buffer += data
            if len(self._buffer) > LONGEST_LINE_BYTES:
                raise LoadMachineLost(f"the load machine {self.peer.name} sent an endless line")
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line

    def _lost(self, error: OSError) -> LoadMachineLost:
        why = "it did not answer in time" if isinstance(error, TimeoutError) else str(error)
        return LoadMachineLost(f"the load machine {self.peer.name} cannot be reached: {why}")


def _context() -> ssl.SSLContext:
    """Whose certificate it is, is checked by its fingerprint: the machine has made it for this run."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


REHEARSALS, REMEMBERED = 20, 400
"""How often a slice's beginning is rehearsed, and how many beginnings are remembered."""

TYPICAL = 0.9
"""A slice is long enough for the skew that this share of the beginnings stay below."""

LEAD_S = 0.001
"""How long before a slice begins everywhere it is ordered, beyond what the order takes to get there."""


class Fleet:
    """Load machines, connected; leaving it closes the connections.

    `server_address` is where their clients reach the server, `patience_s` how long a laboratory waits to be
    ended by whoever started it once a machine is gone. With `all_addresses` clients come from all addresses
    that their machines have in its network. MachineFault where one cannot be reached, or has
    another engine than the first.
    """

    def __init__(
        self,
        peers: Sequence[Peer],
        server_address: str,
        patience_s: float = 0.0,
        *,
        all_addresses: bool = True,
    ) -> None:
        self.peers = tuple(peers)
        self.server_address = server_address
        self.patience_s = patience_s
        self._all_addresses = all_addresses
        self._open = ExitStack()
        self._skews_s: deque[float] = deque(maxlen=REMEMBERED)
        self._in_use = len(self.peers)
        self.clock_error_s = 0.0
        try:
            self._lines = [self._open.enter_context(FleetLine(peer)) for peer in peers]
            self._check_alike()
            self._rehearse()
        except LoadMachineLost as lost:
            self._open.close()
            raise MachineFault(str(lost)) from None
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def machines(self) -> dict[str, Machine]:
        """Each machine in use, by its name."""
        return {line.peer.name: line.welcome.machine for line in self._lines[: self._in_use]}

    @property
    def in_use(self) -> tuple[Peer, ...]:
        """The machines that load comes from now."""
        return self.peers[: self._in_use]

    @property
    def places(self) -> tuple[LoadPlace, ...]:
        """What each of them has for its client."""
        known = (line.welcome for line in self._lines[: self._in_use])
        return tuple(
            LoadPlace(one.machine.client_cpus, one.source_addresses if self._all_addresses else ())
            for one in known
        )

    @property
    def least_slice_s(self) -> float:
        """How long a slice has to be for the skew of its beginnings to be small beside it."""
        skews = sorted(self._skews_s)
        typical_s = skews[min(len(skews) - 1, int(TYPICAL * len(skews)))] if skews else 0.0
        return (typical_s + self.clock_error_s) / MOST_SKEW

    def began(self, skew_s: float) -> None:
        """Remember how far apart a slice began."""
        self._skews_s.append(skew_s)

    def use_first(self, count: int) -> None:
        """Have load come from the first N machines from now on."""
        self._in_use = count

    def check_there(self) -> None:
        """MachineFault where a machine is gone, once nobody has ended this process for a while."""
        try:
            for line in self._lines[: self._in_use]:
                line.clock()
        except LoadMachineLost as lost:
            time.sleep(self.patience_s)
            raise MachineFault(str(lost)) from None

    def _check_alike(self) -> None:
        first, *others = (line.welcome for line in self._lines)
        for other, peer in zip(others, self.peers[1:], strict=True):
            if other.engine.sha256 != first.engine.sha256:
                raise MachineFault(f"the load engine of {peer.name} is not the one of {self.peers[0].name}")

    def _rehearse(self) -> None:
        """Have all machines note the same moments, to know how far apart they begin what they do together."""
        offsets = [line.clock() for line in self._lines]
        self.clock_error_s = spread_error_s(offsets)
        lead_s = lead_in_s(offsets)
        for _ in range(REHEARSALS):
            at_s = time.monotonic() + lead_s
            for line, offset in zip(self._lines, offsets, strict=True):
                line.tell(Mark(at_s=at_s + offset.ahead_s))
            marked = [line.reply(Clock, ANSWER_S).at_s for line in self._lines]
            began = [at - offset.ahead_s for at, offset in zip(marked, offsets, strict=True)]
            self.began(max(began) - min(began))


def spread_error_s(offsets: Sequence[ClockOffset]) -> float:
    """How far off a difference between two of these clocks may be: that of the two that are known worst."""
    return sum(sorted((offset.error_s for offset in offsets), reverse=True)[:2]) if len(offsets) > 1 else 0.0


def lead_in_s(offsets: Sequence[ClockOffset]) -> float:
    """How long before a common moment an order has to be sent: twice the time to the farthest machine."""
    return LEAD_S + 2 * max(offset.error_s for offset in offsets)


TLS_FILES = ("ca_file", "certificate_file", "key_file")
"""The fields of a job's TLS that name files."""

ON_THE_WAY_S = 5.0
"""How much longer than its client a load machine may take to answer."""


Answer = TypeVar("Answer", Readied, Sliced, Finished)


class FleetClient:
    """The clients of one trial; a `Client`. Entering starts them, leaving ends them."""

    def __init__(self, fleet: Fleet, job: Job) -> None:
        self._fleet, self._job = fleet, job
        self._jobs = shared(job, fleet.places)
        self._open = ExitStack()
        self._lines: list[FleetLine] = []
        self._offsets: list[ClockOffset] = []
        self._readied: list[Readied] = []
        self._finished: list[Finished] = []
        self._errors: tuple[ErrorEvent, ...] = ()
        self._skews_s: list[float] = []
        self._elapsed_s: list[float] = []
        self._length_s: float | None = None
        """How long the slice is to last that is under way."""
        self._apart = 0
        self.clock_error_s = 0.0
        self.began_apart = False

    def __enter__(self) -> Self:
        self.give_job()
        return self

    def give_job(self) -> None:
        """Connect to the machines, and ask what their clocks say."""
        try:
            self._lines = [self._open.enter_context(FleetLine(peer)) for peer in self._peers]
            self._offsets = [line.clock() for line in self._lines]
        except BaseException:
            self._open.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def watched_pid(self) -> int | None:
        """None: the clients are on other machines."""
        return None

    @property
    def errors(self) -> tuple[ErrorEvent, ...]:
        """Every error event of all clients, once they have finished or failed."""
        return self._errors or tuple(error for part in self._finished for error in part.errors)

    def log(self) -> str:
        """The ends of what they wrote on their standard errors, once they have finished."""
        names = (line.peer.name for line in self._lines)
        parts = zip(names, self._finished, strict=False)
        return "\n".join(f"{name}: {part.log}" for name, part in parts if part.log)

    def wait_ready(self, within_s: float) -> Ready:
        """Start all at once; return when every connection of every client is up and warm."""
        tls_files = _tls_files(self._job)
        for line, job in zip(self._lines, self._jobs, strict=True):
            line.tell(Start(job=job, tls_files=tls_files, within_s=within_s))
        self._readied = [self._reply(line, Readied, within_s) for line in self._lines]
        self._check_one_library()
        return merging.ready([one.ready for one in self._readied])

    def mapped_tls_libraries(self) -> tuple[MappedLibrary, ...]:
        """The TLS libraries that all have loaded: the same on each machine."""
        return self._readied[0].libraries if self._readied else ()

    def go(self) -> None:
        """Start the measurement: the whole window as one slice."""
        self._order(self._job.duration_s, self._job.duration_s + self._job.timeout_s)

    def wait_done(self, within_s: float) -> Done:
        """Return the result of the one slice that `go` began."""
        deadline = time.monotonic() + within_s
        self._slice(within_s)
        return self.finish(max(0.0, deadline - time.monotonic()))

    def slice(self, length_s: float, within_s: float) -> Slice:
        """Have all work for `length_s` from one moment on; the slice is over when the last is done."""
        self._order(length_s, within_s)
        return self._slice(within_s)

    def wind_up(self) -> None:
        """Nothing: the clocks are asked first, when the result is."""

    def finish(self, within_s: float) -> Done:
        """Return the result of all slices so far. The clocks are asked again: they do not run alike."""
        after = [line.clock() for line in self._lines]
        offsets = [over_time(*both) for both in zip(self._offsets, after, strict=True)]
        self.clock_error_s = spread_error_s(offsets)
        self._fleet.clock_error_s = max(self.clock_error_s, spread_error_s(self._offsets))
        for line in self._lines:
            line.tell(Finish(within_s=within_s))
        self._finished = [self._reply(line, Finished, within_s) for line in self._lines]
        return merging.done([part.done for part in self._finished], sum(self._elapsed_s))

    def hang_up(self) -> None:
        """Close the connections, at which the clients end by themselves."""
        self._open.close()

    def load(self) -> Load | None:
        """Each machine's part, once all have finished; None before."""
        if not self._finished:
            return None
        return Load(
            parts=tuple(
                LoadPart(
                    machine=line.peer.name,
                    connections=job.connections,
                    cpus=max(1, len(job.cpus)),
                    operations=part.done.operations,
                    cpu_us=part.done.cpu.total_us,
                )
                for line, job, part in zip(self._lines, self._jobs, self._finished, strict=True)
            ),
            server_address=self._fleet.server_address,
            slices=len(self._skews_s),
            apart=self._apart,
            skew_us=round(median(self._skews_s) * 1e6, 1),
            longest_skew_us=round(max(self._skews_s) * 1e6, 1),
            clock_error_us=round(self.clock_error_s * 1e6, 1),
        )

    def ports(self) -> PortUse | None:
        """Those of the machine on which the most wait, once all have finished."""
        known = [part.ports for part in self._finished if part.ports is not None]
        return max(known, key=lambda one: one.waiting / one.there_are, default=None)

    @property
    def _peers(self) -> Sequence[Peer]:
        return self._fleet.in_use[: len(self._jobs)]

    def _order(self, length_s: float, within_s: float) -> None:
        at_s = time.monotonic() + lead_in_s(self._offsets)
        self._length_s = length_s
        for line, offset in zip(self._lines, self._offsets, strict=True):
            line.tell(Go(at_s=at_s + offset.ahead_s, length_s=length_s, within_s=within_s))

    def _slice(self, within_s: float) -> Slice:
        length_s, self._length_s = self._length_s, None
        if length_s is None:
            raise RuntimeError("a slice is waited for that was not begun")
        sliced = [self._reply(line, Sliced, within_s) for line in self._lines]
        began_s = [part.began_s - offset.ahead_s for part, offset in zip(sliced, self._offsets, strict=True)]
        skew_s = max(began_s) - min(began_s)
        self._skews_s.append(skew_s)
        self._fleet.began(skew_s)
        self.began_apart = skew_s + spread_error_s(self._offsets) > MOST_SKEW * length_s
        self._apart += self.began_apart
        whole = merging.slices([part.slice for part in sliced], began_s)
        self._elapsed_s.append(whole.elapsed_s)
        return whole

    def _reply(self, line: FleetLine, kind: type[Answer], within_s: float) -> Answer:
        try:
            return line.reply(kind, within_s + ON_THE_WAY_S)
        except ClientFailure as failure:
            self._errors = failure.errors
            raise

    def _check_one_library(self) -> None:
        """ClientFailure where clients run over different TLS libraries: one case would be two things."""
        first, *others = self._readied
        for line, other in zip(self._lines[1:], others, strict=True):
            theirs, ours = _library(other), _library(first)
            if theirs != ours:
                its_own, of_first = f"{line.peer.name}'s client", f"{self._lines[0].peer.name}'s"
                raise ClientFailure(f"{its_own} runs over {theirs}, and {of_first} over {ours}")


def _tls_files(job: Job) -> dict[str, str]:
    """What stands in the files that the job names for TLS, by the field. ClientFailure if one is missing."""
    if not isinstance(job.tls, TlsOn):
        return {}
    named = ((field, getattr(job.tls, field)) for field in TLS_FILES)
    try:
        return {field: Path(path).read_text("ascii") for field, path in named if path is not None}
    except (OSError, ValueError) as error:
        raise ClientFailure(f"a file for TLS cannot be read ({reason(error)})") from None


def _library(readied: Readied) -> str:
    library = readied.ready.tls_library
    return library.version if library is not None else "no TLS library"
