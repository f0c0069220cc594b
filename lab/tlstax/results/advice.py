"""What a server's owner could change, what each change would save, and where that is known from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from tlstax.contract import Frozen
from tlstax.results.inspection import InspectedServer, Step
from tlstax.results.interval import Interval

Change = Literal["pool", "certificate", "resumption", "group", "version", "chain", "compression"]
"""What can be changed: connections kept, the server's key, sessions resumed, the clients' groups, the TLS
version, the certificates that are sent, the protocol's compression."""

Source = Literal["given", "watched", "since its start", "assumed"]


Measure = Literal["the server's CPU", "the time of a connection"]
"""What a change is measured by."""


class SeenUse(Frozen):
    """How clients use the server, and from where that is known. `connects_per_s` None: nobody knows.

    `answer_bytes` is what a statement returns on average, as far as the server's own counters say.
    """

    connects_per_s: NonNegativeFloat | None
    statements: PositiveInt
    answer_bytes: PositiveInt
    source: Source


class Saving(Frozen):
    """What a change saves of one connection. None: that was not measured, or it is among `inconclusive`.

    `server_cpu_us` is of making the connection, `server_share` of what the server spends on it with all its
    statements; both were measured on `measured_on`, which is the server itself or the name of a private one.
    Where `is_computed`, both are of the connection with all its statements, and computed from what its parts
    cost there, as `predict` does. `time_us` was measured at the server itself, from here. `round_trips` and
    `bytes` were counted. `inconclusive` names what was measured and told nothing.
    """

    server_cpu_us: Interval | None = None
    server_share: Interval | None = None
    measured_on: str = ""
    is_computed: bool = False
    time_us: Interval | None = None
    round_trips: float = 0.0
    bytes: float = 0.0
    inconclusive: tuple[Measure, ...] = ()


class Advised(Frozen):
    """A change: what it is, what was seen that it mends, what it saves, and how it is done.

    `why_not` says why it is not advised; empty where it is.
    """

    change: Change
    what: str
    seen: str
    saving: Saving
    why_not: str
    steps: tuple[Step, ...]


class Advice(Frozen):
    """The document that `advise --json` prints.

    `changes` has all that could be changed, what saves most of the server first. `stand_in` is the private
    server on which the server's CPU time was measured, empty where there was none; `not_measured` says what
    could not be measured, and why. `spent_there` says what measuring took of the server.
    """

    schema_version: Literal[2] = Field(default=2, alias="schema")
    inspected: InspectedServer
    use: SeenUse
    changes: tuple[Advised, ...]
    stand_in: str
    runs: tuple[str, ...]
    connections_there: NonNegativeInt
    spent_there: str
    not_measured: tuple[str, ...]
    status: Literal["complete", "interrupted", "failed"]

    @property
    def advised(self) -> tuple[Advised, ...]:
        """The changes that are advised."""
        return tuple(own for own in self.changes if not own.why_not)
