"""What a way of using a server would cost, computed from what its parts were measured to cost."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat

from tlstax.contract import Frozen
from tlstax.results.interval import Interval
from tlstax.study.mixes import Mix


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


class Calibration(Frozen):
    """The run that the parts' costs are from.

    `unexplained` is by what share the mixes of that run differ from the sum of their parts (standard
    deviation, of the server's CPU time). `outside` says in what the mix lies outside of what was measured.
    `server_busy_share` is what share of a processor the server used meanwhile; where it `mostly_waited`, what
    it uses by itself is in the CPU times, and they say little of a server with other work. `scaling` is
    there where the run is one of another machine, whose measurements come with tlstax; `remark` says what
    else went on at that machine.
    """

    run: str
    at: str
    server: str
    processor: str
    blocks: int
    mixes: int
    unexplained: NonNegativeFloat
    outside: tuple[str, ...]
    server_busy_share: NonNegativeFloat
    mostly_waited: bool
    remark: str
    scaling: Scaling | None


class PartCost(Frozen):
    """What a part of a connection costs the server of CPU time, with all that there is of it in the mix."""

    name: str
    amount: PositiveFloat
    server_cpu_us: Interval


class Costs(Frozen):
    """What one connection of a mix costs with all its statements.

    `time_us` is how long it takes one client at a server without other work, at this distance;
    `time_to_first_row_us` until the answer to the first statement is there. CPU times are those of a server
    that has several clients at once; `path_cpu_us` is that of all programs between, None where there are
    none.
    """

    server_cpu_us: Interval
    client_cpu_us: Interval
    path_cpu_us: Interval | None
    time_us: Interval
    time_to_first_row_us: Interval
    round_trips: NonNegativeFloat
    sent_bytes: NonNegativeFloat
    received_bytes: NonNegativeFloat


Remedy = Literal["pool", "resumption", "certificate", "group", "version", "compression"]


class WhatIf(Frozen):
    """The same use with one thing changed, and what that saves: of the server's CPU, and of time.

    `saved_share` is of what the mix costs the server; all are negative where the change costs more.
    """

    remedy: Remedy
    words: str
    costs: Costs
    saved_cpu_us: Interval
    saved_share: Interval
    saved_time_us: Interval
    saved_round_trips: float


class Prediction(Frozen):
    """The document that `predict --json` prints.

    `server_cores` is the server's CPU at `connects_per_s`, in processors; None where no rate was given.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    calibration: Calibration
    mix: Mix
    rtt_ms: NonNegativeFloat
    connects_per_s: PositiveFloat | None
    costs: Costs
    in_the_clear: Costs
    server_cores: Interval | None
    parts: tuple[PartCost, ...]
    what_if: tuple[WhatIf, ...]
