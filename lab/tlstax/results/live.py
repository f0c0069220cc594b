"""What is known of a run while it goes on: its ratios block after block, its trials, what is next."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlstax.contract.frozen import Frozen
from tlstax.results.interval import Interval
from tlstax.study.factors import CaseLevels
from tlstax.study.published import ALIKE_WITHIN

LiveStatus = Literal["preparing", "running", "complete", "interrupted", "failed"]


class KnownRatio(Frozen):
    """A case's ratio to its baseline, as it was known after some of the blocks, the oldest first.

    `precise` once it is as well known as the study wants; `noise_floor` is that of the nearest control,
    relative, None where there is none yet, or none was asked for. Of a control `is_control` is true. `label`
    leaves out what all cases say.
    """

    label: str
    history: tuple[Interval, ...] = Field(min_length=1)
    precise: bool
    levels: CaseLevels = CaseLevels()
    is_control: bool = False
    noise_floor: float | None = None

    @property
    def now(self) -> Interval:
        """The ratio after the last block."""
        return self.history[-1]


class LiveTrials(Frozen):
    """How many trials came out how, and why some do not count: the reasons with how often each was given."""

    valid: int = 0
    invalid: int = 0
    unknown: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    more_reasons: int = 0


class LiveRun(Frozen):
    """A run between two of its blocks, or at its end; nothing was being measured when this was put together.

    `run` is empty while servers are made ready. `share` is how much of all that is to be done is done, and
    `left_s` how long the rest may take, None where that is not known. `at` is when it was put together (ISO
    8601). `more_ratios` are not among `ratios`, of which there may be hundreds.
    """

    run: str = ""
    title: str = ""
    question: str = ""
    status: LiveStatus = "preparing"
    stopped_because: str = ""
    at: str = ""
    doing: str = ""
    outcome: str = ""
    baseline: str = ""
    wanted: float | None = None
    alike_within: float = ALIKE_WITHIN
    blocks: int = 0
    share: float | None = None
    left_s: float | None = None
    ratios: tuple[KnownRatio, ...] = ()
    more_ratios: int = 0
    trials: LiveTrials = LiveTrials()
    warnings: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.status not in {"preparing", "running"}
