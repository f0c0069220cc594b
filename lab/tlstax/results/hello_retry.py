"""What HelloRetryRequests cost in a run, and what avoids them, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from tlstax.contract import Frozen
from tlstax.results.interval import Interval, Judgement
from tlstax.study import Level

Avoider = Literal["client", "server"]
"""Who does without the retry: the client by offering other groups, or a server (a variant of ours) that takes
more."""


class Retried(Frozen):
    """How many handshakes of one kind met a HelloRetryRequest, in valid trials over clients' whole lives.

    `server` and `client_library` are words, `offered` is the level of `group`, and `group` the one agreed on,
    as the factor calls it.
    """

    server: str
    offered: str
    version: str
    group: str
    client_library: str
    resumed: bool
    handshakes: PositiveInt
    retried: NonNegativeInt


class RetryCost(Frozen):
    """One cost of a connection with the retry and without it, both as means over the same blocks.

    `noise_floor` is the difference, in the cost's unit, below which nothing can be told here; None where no
    control ran. `judgement` is of the retry's cost to the other's.
    """

    cost: str
    unit: str
    retried: float
    avoided: float
    extra: Interval
    noise_floor: float | None
    judgement: Judgement


class Avoided(Frozen):
    """The same case without a retry: by whom, with which levels of its own, on which group, at what cost."""

    by: Avoider
    case: dict[str, Level]
    label: str
    group: str
    costs: tuple[RetryCost, ...]


class RetriedCase(Frozen):
    """A case whose handshakes were retried, and the cases of this run that differ in avoiding it alone.

    `round_trips` and `bytes` are those of a TLS handshake, None where the client did not count them;
    `place` is what the case shares with those that avoid it, in words.
    """

    case: dict[str, Level]
    label: str
    place: str
    rtt_ms: float
    group: str
    handshakes: PositiveInt
    retried: PositiveInt
    round_trips: float | None
    bytes: float | None
    avoided: tuple[Avoided, ...]


class HelloRetries(Frozen):
    """Who was asked for a second ClientHello, what that cost, what avoids it; `sentences` say it.

    `kinds` counts all TLS 1.3 handshakes of the run, retried or not. `command` would measure the
    remedy; it is empty where this run did.
    """

    kinds: tuple[Retried, ...]
    cases: tuple[RetriedCase, ...]
    remedy: tuple[str, ...]
    command: str
    sentences: tuple[str, ...]
