"""What drivers do by default and what each part of it costs, as frozen types: found, split up, warmed up."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from tlstax.contract import Frozen
from tlstax.results.interval import Interval
from tlstax.study import Level

Encrypts = Literal["always", "never", "sometimes"]
PartKind = Literal["encryption", "statements", "driver version"]


class DriverDefault(Frozen):
    """What a driver did where nothing was said to it of TLS, as its server told of each connection.

    `driver` is its name with its options, `as_it_is` whether it was given none. `negotiated` is what was
    found, each combination once: "TLSv1.3 TLS_AES_256_GCM_SHA384", empty on plaintext. `statements_per_op`
    are those that the server counted, None where it was not watched; `commands_per_op` are the same by their
    kind ("select"), the most frequent first.
    """

    case: dict[str, Level]
    driver: str
    label: str
    as_it_is: bool
    trials: PositiveInt
    encrypts: Encrypts
    negotiated: tuple[str, ...]
    statements_per_op: float | None
    commands_per_op: dict[str, float] = {}


class CostPart(Frozen):
    """A part of what an operation takes longer: the difference of two cases, block by block.

    `labels` name the two, the longer chain's end first. `share` is the part's share of the whole difference,
    None where there is no whole or it is not told apart from nothing; `published_share` the same of figures
    that others published of both cases.
    """

    kind: PartKind
    labels: tuple[str, str]
    extra_us_per_op: Interval
    share: Interval | None = None
    published_share: float | None = None


class DriverSplit(Frozen):
    """What an operation takes longer with one driver than with another, and the parts that this is made of.

    The parts add up to `extra_us_per_op` in every block: encryption is the driver as it is less the same with
    TLS turned off; statements are what it takes longer than with an option that keeps it from sending
    any of its own; the driver version is what then is left beside `against`. Where nothing is compared with
    (`against` is empty), the whole is None, and so are shares. `published_rest` is the published share of all
    that is not encryption. `work` is the workload where it is not the study's first (", words-execute").
    """

    driver: str
    label: str
    work: str = ""
    against: str
    case: dict[str, Level]
    baseline: dict[str, Level]
    us_per_op: float
    baseline_us_per_op: float | None
    extra_us_per_op: Interval | None
    time_ratio: Interval | None
    published_ratio: float | None
    published_rest: float | None
    parts: tuple[CostPart, ...]
    sentence: str


class WarmupPoint(Frozen):
    """The client's CPU per operation in a slice of the warm-up: the median over `trials`."""

    elapsed_s: float
    us_per_op: float
    trials: PositiveInt


class DriverWarmup(Frozen):
    """How a driver became steady: in so many of its trials, after so long (the median over those).

    `cold_us_per_op` and `warm_us_per_op` are medians over trials, of the first slice and of the median of the
    last five; `times_slower` the median of their ratio.
    """

    case: dict[str, Level]
    label: str
    trials: PositiveInt
    steady_trials: int
    steady_after_s: float | None
    cold_us_per_op: float
    warm_us_per_op: float
    times_slower: float
    points: tuple[WarmupPoint, ...]


class Drivers(Frozen):
    """All that a run shows of drivers."""

    defaults: tuple[DriverDefault, ...] = ()
    splits: tuple[DriverSplit, ...] = ()
    warmups: tuple[DriverWarmup, ...] = ()
