"""What the cases of a run were predicted to cost, written down before the first of them was measured."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from tlstax.contract.frozen import Frozen
from tlstax.study.factors import CaseLevels


class Scaling(Frozen):
    """How parts that were measured on another machine were brought to this one.

    `run` measured a few mixes of the server here, at once on `processor`; None where none were, and the parts
    are as they were there. `server` is the one that was measured here. `mixes` were scaled to, of which the
    server's CPU time is `speed` times as long; predicted from all others, each is off by `left_out_error`
    (root mean square, relative), and from block to block by `unquiet` (standard deviation): so wide are the
    intervals.
    """

    run: str | None
    at: str
    server: str
    processor: str
    mixes: NonNegativeInt
    speed: PositiveFloat
    left_out_error: NonNegativeFloat
    unquiet: NonNegativeFloat


class PredictedOutcome(Frozen):
    """A figure in its outcome's unit, and the ends of its interval; counts have none."""

    value: float
    low: float | None = None
    high: float | None = None


class PredictedCase(Frozen):
    """What a case with these levels, among others, was predicted to cost.

    `outcomes` are by name, in their own units. Each further millisecond between client and server takes
    `round_trips` milliseconds more; None where the model does not know a part of the case, of which nothing
    is predicted. An `is_known` case is one that the parts were fitted to: it shows how fast the machine is
    now.
    """

    levels: CaseLevels
    is_known: bool = False
    round_trips: NonNegativeFloat | None = None
    outcomes: dict[str, PredictedOutcome] = {}


class Predictions(Frozen):
    """What a run's cases were predicted to cost, and from what: by version `model` of the computation.

    The parts were measured in `run`, of `server` on `processor`, `at` that time (ISO 8601);
    `scaling` says how they were brought here, None where they were measured here.
    """

    model: PositiveInt
    run: str
    at: str
    server: str
    processor: str
    scaling: Scaling | None
    cases: tuple[PredictedCase, ...] = Field(min_length=1)
