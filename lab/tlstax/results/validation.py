"""How well what was predicted of mixes agrees with what they were measured to cost afterwards."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from tlstax.contract import Frozen
from tlstax.results.interval import Interval
from tlstax.results.prediction import Scaling
from tlstax.study.mixes import Mix

Status = Literal["running", "complete", "interrupted", "failed"]


class ValidatedCost(Frozen):
    """One cost of one mix: as predicted, and as it was measured afterwards.

    `predicted` is at the speed that the machine had when it was measured. `error` is how much more was
    measured than predicted, relative.
    """

    outcome: str
    mix: Mix
    rtt_ms: NonNegativeFloat
    connections: PositiveInt
    predicted: Interval
    measured: PositiveFloat
    error: float
    is_within: bool


class ValidatedOutcome(Frozen):
    """How far off the predictions of one outcome were: the median, and nine in ten, of the absolute errors.

    `within_share` is how many of the intervals hold what was measured, of `mixes`; counts have none.
    """

    outcome: str
    words: str
    mixes: NonNegativeInt
    median_error: NonNegativeFloat
    ninth_decile_error: NonNegativeFloat
    within_share: NonNegativeFloat
    has_interval: bool


class Speed(Frozen):
    """What known mixes cost when they were measured again, over what they had cost at first."""

    outcome: str
    words: str
    factor: PositiveFloat
    mixes: PositiveInt


class Validation(Frozen):
    """The document that `predict --validate --json` prints: which runs it is from, how far off it was.

    `scaling` is there where it was predicted from what was measured on another machine.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    calibration_run: str
    validation_run: str
    server: str
    confidence: float
    speeds: tuple[Speed, ...]
    outcomes: tuple[ValidatedOutcome, ...]
    costs: tuple[ValidatedCost, ...]
    status: Status
    scaling: Scaling | None
