"""What a laboratory and the load machines that work for it say to each other, a JSON document a line. Pure.

Every connection begins with a greeting. It then serves one load client, or nothing but clocks. Each order has
one reply; a client that fails answers with `Broke` and is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from tlstax.contract import Done, ErrorEvent, Frozen, Job, Ready, Slice
from tlstax.records.trial import Machine, MappedLibrary, Specimen
from tlstax.records.window import PortUse


class ListenOrder(Frozen):
    """To a load machine's tlstax, on its standard input: listen on this address for who knows the token."""

    token: str = Field(repr=False)
    address: str


class Listening(Frozen):
    """Its answer: the port, and the SHA-256 of the certificate that it has made for itself."""

    kind: Literal["listening"] = "listening"
    port: int
    fingerprint: str


class NotListening(Frozen):
    """Its answer where it cannot."""

    kind: Literal["not_listening"] = "not_listening"
    why: str


class Peer(Frozen):
    """A load machine as a laboratory reaches it."""

    name: str
    address: str
    port: int
    token: str = Field(repr=False)
    fingerprint: str


class Greet(Frozen):
    """The first line of a connection."""

    kind: Literal["greet"] = "greet"
    token: str = Field(repr=False)


class AskClock(Frozen):
    """Say what time it is there."""

    kind: Literal["ask_clock"] = "ask_clock"


class Mark(Frozen):
    """Do nothing at this time by the clock there, and say when that was: a slice's beginning, rehearsed."""

    kind: Literal["mark"] = "mark"
    at_s: float


class Start(Frozen):
    """Start a load client with this job and wait until it is ready.

    `tls_files` has what stands in the files that the job names for TLS, by the field that names each: they
    are not on the machine that this goes to.
    """

    kind: Literal["start"] = "start"
    job: Job
    tls_files: dict[str, str] = Field(default={}, repr=False)
    within_s: float


class Go(Frozen):
    """Have it work for so long from this time on, by the clock there."""

    kind: Literal["go"] = "go"
    at_s: float
    length_s: float
    within_s: float


class Finish(Frozen):
    """Have it report all that it did."""

    kind: Literal["finish"] = "finish"
    within_s: float


Order = Annotated[AskClock | Mark | Start | Go | Finish, Field(discriminator="kind")]


class Welcome(Frozen):
    """Who was greeted: the machine, its engine, and the addresses that clients may come from there."""

    kind: Literal["welcome"] = "welcome"
    machine: Machine
    engine: Specimen
    source_addresses: tuple[str, ...] = ()


class Clock(Frozen):
    """What the clock there showed, by no beginning in particular."""

    kind: Literal["clock"] = "clock"
    at_s: float


class Readied(Frozen):
    """The client is ready; which TLS libraries it has loaded."""

    kind: Literal["readied"] = "readied"
    ready: Ready
    libraries: tuple[MappedLibrary, ...]


class Sliced(Frozen):
    """What was done in a slice, and when it began by the clock there."""

    kind: Literal["sliced"] = "sliced"
    slice: Slice
    began_s: float


class Finished(Frozen):
    """The result of all slices, errors that ended nothing, the end of its log, and the ports that wait."""

    kind: Literal["finished"] = "finished"
    done: Done
    errors: tuple[ErrorEvent, ...]
    log: str
    ports: PortUse | None = None


class Broke(Frozen):
    """The client did not do what it was ordered, and why."""

    kind: Literal["broke"] = "broke"
    message: str
    errors: tuple[ErrorEvent, ...] = ()
    log: str = ""


Reply = Annotated[Welcome | Clock | Readied | Sliced | Finished | Broke, Field(discriminator="kind")]
Announcement = Annotated[Listening | NotListening, Field(discriminator="kind")]

ORDERS: TypeAdapter[AskClock | Mark | Start | Go | Finish] = TypeAdapter(Order)
REPLIES: TypeAdapter[Welcome | Clock | Readied | Sliced | Finished | Broke] = TypeAdapter(Reply)
ANNOUNCEMENTS: TypeAdapter[Listening | NotListening] = TypeAdapter(Announcement)


class ClockOffset(NamedTuple):
    """How many seconds another clock is ahead, and by how much that may be off."""

    ahead_s: float
    error_s: float


def of_exchanges(exchanges: Iterable[tuple[float, float, float]]) -> ClockOffset:
    """What exchanges tell, at least one: when each was asked and answered by our clock, and theirs between.

    Theirs was read somewhere between the two, so it is known to half of the time between them. The exchange
    that took the least time tells most (Cristian 1989, Distributed Computing 3, 146-158).
    """
    asked_s, answered_s, theirs_s = min(exchanges, key=lambda exchange: exchange[1] - exchange[0])
    return ClockOffset(theirs_s - (asked_s + answered_s) / 2, (answered_s - asked_s) / 2)


def over_time(before: ClockOffset, after: ClockOffset) -> ClockOffset:
    """The offset over a time at whose beginning and end it was measured: clocks do not run alike."""
    drift_s = abs(after.ahead_s - before.ahead_s)
    return ClockOffset((before.ahead_s + after.ahead_s) / 2, max(before.error_s, after.error_s) + drift_s / 2)
