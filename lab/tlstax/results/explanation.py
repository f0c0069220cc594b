"""Where the extra cost of a case goes, as frozen types: what `tlstax explain` says, and what reports show."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tlstax.contract import Frozen
from tlstax.profiles.stacks import Side
from tlstax.results.interval import Interval
from tlstax.study import Level


class FunctionCost(Frozen):
    """A function, the file that it is in, and what it costs more than in the baseline.

    Of a function of the program or a library of its own, that is the cost of its own code. One of the C
    library or the kernel is told with all that it calls, and `through` is the own function that called it;
    empty for the others.
    """

    name: str
    library: str
    extra_us_per_op: float
    through: str = ""


class ComponentCost(Frozen):
    """What a component costs in the case and in the baseline, on one side, and the difference."""

    name: str
    side: Side
    us_per_op: float
    baseline_us_per_op: float
    extra_us_per_op: Interval
    functions: tuple[FunctionCost, ...] = ()


class Culprit(Frozen):
    """Where most of the extra cost has one origin: the component, the function, and its share of the extra.

    `share` is that of everything that `function` does, in whatever component; `beneath` names the other
    components in which it causes cost (the kernel's random numbers under a generator).
    """

    component: str
    side: Side
    function: str
    library: str
    share: float
    extra_us_per_op: Interval
    beneath: tuple[str, ...] = ()


class Shift(Frozen):
    """A figure of the case beside the baseline's: connections a second, %system, latency.

    `server_cpu_system_percent` is of the server's samples, as components are; `machine_system_percent` of all
    processors' time, idle time with it.
    """

    outcome: str
    unit: str
    value: float
    baseline_value: float


class Removal(Frozen):
    """What taking the culprit out would give, as a ratio of operations a second.

    `predicted` holds where the server's processors are what limits the rate: it is the server's CPU time
    per operation with the culprit to that without. `measured` is the rate of the baseline to that of the case
    where they differ in a planted fault alone, and None elsewhere.
    """

    predicted: float | None
    measured: float | None


class Explanation(Frozen):
    """From a baseline to a case: which components and functions the extra CPU time of an operation went into.

    `case` and `baseline` are levels, the control's marked; `labels` are their names in words.
    `extra_cpu_us_per_op` is of both sides together; `noise_us_per_op` how far two equal cases stray, None
    where no control was profiled. `unattributed_share` is the part of the server's samples that no rule
    has a component for; `unattributed` the same by side. `verdict` is "explained" where the extra as a
    whole (`whole_is_told`) or a culprit by itself is told from noise, "alike" where the whole interval and
    the noise lie within `alike_within` of the baseline's cost (1.05 is 5 %), else "inconclusive".
    `baseline_us_per_op` is a mean over blocks, `case_us_per_op` that times the ratio of the two, and
    `extra_cpu_us_per_op` the difference of these, with the ratio's interval. `sentences`
    say all of it in words, the culprit first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[2] = Field(default=2, alias="schema")
    run: str
    case: dict[str, Level]
    baseline: dict[str, Level]
    labels: tuple[str, str]
    verdict: Literal["explained", "alike", "inconclusive"]
    whole_is_told: bool
    operation: Literal["connection", "query", "operation"] = "operation"
    is_control: bool = False
    case_us_per_op: float = 0.0
    baseline_us_per_op: float = 0.0
    extra_cpu_us_per_op: Interval
    noise_us_per_op: float | None
    alike_within: float = 1.05
    shifts: tuple[Shift, ...]
    components: tuple[ComponentCost, ...]
    culprit: Culprit | None
    removal: Removal | None = None
    unattributed_share: float
    unattributed: dict[Side, float]
    samples: dict[Side, int]
    sentences: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
