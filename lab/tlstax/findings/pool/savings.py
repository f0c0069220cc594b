"""What keeping connections saves: a connection's price in operations on connections that are kept. Pure.

A connection that serves n operations costs the server c + n·t: c to make it, t for each operation. Making it
is the share c / (c + n·t) of that, and less than s from n = (1/s − 1)·c/t on. Both prices are the server's
own CPU time, of the same block, server, TLS and number of connections, so only their ratio c/t has to be
known. c is the cost of a whole operation of the workload that makes connections: one short request is in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.series import LADDER, Series, frozen, pooled
from tlstax.results.document import (
    PoolSaving,
)
from tlstax.results.interval import Interval
from tlstax.study import Level, Pool

CPU = "server_cpu_us_per_op"
WORKLOAD = "workload"

Steps = dict[int, dict[str, Level]]
"""Cases by their number of connections."""


def savings(series: Series) -> tuple[PoolSaving, ...]:
    """What making a connection costs each case that the study asks it of, in the plan's order."""
    pool = series.study.pool
    return tuple(_savings(series, pool)) if pool is not None else ()


def _savings(series: Series, pool: Pool) -> Iterator[PoolSaving]:
    ladders = {
        workload: {
            frozen(steps[0], LADDER, WORKLOAD): {int(levels.get(LADDER, 1)): levels for levels in steps}
            for steps in series.ladders().values()
            if steps[0].get(WORKLOAD) == workload
        }
        for workload in (pool.made, pool.kept)
    }
    for place, made in ladders[pool.made].items():
        kept = ladders[pool.kept].get(place, {})
        ratios = {
            step: logs
            for step in sorted(made.keys() & kept.keys())
            if (logs := series.log_ratios(made[step], kept[step], CPU))
        }
        worth = series.interval(pooled(ratios))
        if worth is not None:
            yield PoolSaving(
                case=dict(place),
                kept=pool.kept,
                made=pool.made,
                connections=tuple(ratios),
                operations_worth=worth,
                share=pool.share,
                operations_needed=worth.each(lambda value: value * (1 / pool.share - 1)),
                kept_to_plaintext=_to_plaintext(series, {step: kept[step] for step in ratios}),
                made_to_plaintext=_to_plaintext(series, {step: made[step] for step in ratios}),
            )


def _to_plaintext(series: Series, steps: Steps) -> Interval | None:
    """What TLS does to this cost on the same server; None for plaintext itself."""
    first = next(iter(steps.values()))
    if first.get("tls", "off") == "off":
        return None
    own = {
        step: series.log_ratios(levels, series.own_baseline(levels), CPU) for step, levels in steps.items()
    }
    return series.interval(pooled(own))
