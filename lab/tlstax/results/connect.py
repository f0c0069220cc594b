"""What connecting takes, as frozen types: storms as they are published, round trips and bytes as counted."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from tlstax.contract import Frozen
from tlstax.results.interval import Interval, Judgement
from tlstax.study import Level, Role

WirePhase = Literal["connect", "tcp_connect", "greeting", "tls_handshake", "authentication", "query"]
"""What round trips and bytes are told of: a connect, its parts in their order, a query."""


class JudgedRatio(Interval):
    """Connections a second as a ratio to the baseline, and what is judged of it."""

    noise_floor: float | None
    judgement: Judgement


class PublishedRate(Frozen):
    """A published figure of connections a second that this case stands in for."""

    label: str
    value: float
    source: str


class StormResult(Frozen):
    """Connections a second of one case: as published, over single rounds, and as a ratio over blocks.

    `mean_per_s` and `sd_per_s` are the arithmetic mean and the standard deviation (of a sample) over all
    `rounds` of all valid `trials`; None with one round alone. `against_baseline` is None for the baseline
    itself, and where no block has both.
    """

    case: dict[str, Level]
    role: Role
    label: str
    group: str
    connections: PositiveInt
    trials: PositiveInt
    rounds: PositiveInt
    mean_per_s: float
    sd_per_s: float | None
    against_baseline: JudgedRatio | None = None
    published: tuple[PublishedRate, ...] = ()


class PhaseCrossing(Frozen):
    """What crossed the wire in one phase, a mean over the `times` that it occurred.

    `agreed` says whether every trial had the same whole number of round trips, `bytes_agreed` the same of
    bytes each way: then nothing suggests that any connection differed from the others.
    """

    phase: WirePhase
    times: PositiveInt
    round_trips: float
    bytes_sent: float
    bytes_received: float
    agreed: bool
    bytes_agreed: bool


class OverDistance(Frozen):
    """A connect over a distance: how long it took beside what its round trips alone take.

    `connect_ms` is the median over trials of their medians, `rtt_ms` that of the round trip times measured
    before each; `in_round_trips` the one in terms of the other. `extra_ms` is what a connect takes
    beyond its counted round trips: work, and waiting that is no turn (slow start, delayed acknowledgements).
    """

    connect_ms: float
    rtt_ms: float
    in_round_trips: float
    extra_ms: float


class RoundTripsResult(Frozen):
    """Round trips and bytes of one case, phase by phase, over all valid `trials`.

    `hello_retry` says whether every full handshake met a HelloRetryRequest, None where some did or no
    handshake was made; `negotiated` is what was.
    """

    case: dict[str, Level]
    label: str
    group: str
    trials: PositiveInt
    phases: tuple[PhaseCrossing, ...]
    hello_retry: bool | None
    negotiated: str
    over_distance: OverDistance | None = None

    def of(self, phase: WirePhase) -> PhaseCrossing | None:
        """What was counted in this phase; None where it did not occur."""
        return next((found for found in self.phases if found.phase == phase), None)
