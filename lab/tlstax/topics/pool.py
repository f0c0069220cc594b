"""What keeping connections saves: a connection's price in operations on connections that are kept.

A connection that serves n operations costs the server c + n·t: c to make it, t for each operation. Making it
is the share c / (c + n·t) of that, and less than s from n = (1/s − 1)·c/t on. Both prices are the server's
own CPU time, of the same block, server, TLS and number of connections, so only their ratio c/t has to be
known. c is the cost of a whole operation of the workload that makes connections: one short request is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Of, Row, Told
from tlstax.stats.series import LADDER, Series, pooled
from tlstax.stats.wording import alike, percent, subject_label, tls_label, with_ends
from tlstax.study import Pool, workloads
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DIRECT, key_of, path_words
from tlstax.support.grouping import grouped
from tlstax.support.text import enumerated, with_commas
from tlstax.topics.core import columns
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Section
from tlstax.topics.core.table import Table, number, ratio
from tlstax.topics.core.topic import Run, Topic

CPU = "server_cpu_us_per_op"
WORKLOAD = "workload"
WORTH, NEEDED = "operations_worth", "operations_needed"
POOLED, SHARE = "pooled_connections", "making_share"
OF_KEPT, OF_MADE = "kept_to_plaintext", "made_to_plaintext"

Steps = Mapping[int, CaseLevels]
"""Cases by their number of connections."""


def rows(run: Run) -> Iterator[Row]:
    """What making a connection costs each case that the study asks it of, in the plan's order.

    `operations_worth` is what making one connection costs the server, in operations on connections that are
    kept: CPU time per operation, of the workloads `made` and `kept`, in the same blocks and with as many
    connections, pooled over these. From `operations_needed` operations on each connection, making it is less
    than `making_share` of what the server spends. What TLS does to either has a row each, but in plaintext.
    The case lacks the workload and the connections.
    """
    if run.study.pool is not None:
        yield from _savings(run.series, run.study.pool)


def _savings(series: Series, pool: Pool) -> Iterator[Row]:
    ladders = {
        workload: {
            steps[0].without(LADDER, WORKLOAD): {int(levels.get(LADDER, 1)): levels for levels in steps}
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
        if worth is None:
            continue
        intervals: dict[tuple[str, Of], Interval | None] = {
            (WORTH, "value"): worth,
            (NEEDED, "value"): worth.each(lambda value: value * (1 / pool.share - 1)),
            (OF_KEPT, "ratio"): _to_plaintext(series, {step: kept[step] for step in ratios}),
            (OF_MADE, "ratio"): _to_plaintext(series, {step: made[step] for step in ratios}),
        }
        common: dict[str, Any] = {
            "unit": "1",
            "label": with_commas(subject_label(place, series.study), tls_label(place)),
            "case": place,
            "more": {"kept": pool.kept, "made": pool.made, POOLED: tuple(ratios), SHARE: pool.share},
        }
        for (outcome, of), interval in intervals.items():
            if interval is not None:
                yield Row(outcome=outcome, interval=interval, of=of, **common)


def _to_plaintext(series: Series, steps: Steps) -> Interval | None:
    """What TLS does to this cost on the same server; None for plaintext itself.

    None as well where plaintext took another path: the two differ by more than TLS.
    """
    first = next(iter(steps.values()))
    path, plaintext_path = (at.get("path", DIRECT) for at in (first, series.own_baseline(first)))
    if first.get("tls", "off") == "off" or path != plaintext_path:
        return None
    own = {
        step: series.log_ratios(levels, series.own_baseline(levels), CPU) for step, levels in steps.items()
    }
    return series.interval(pooled(own))


def sentences(_: Run, shown: Sequence[Row]) -> Iterator[str]:
    """For each server and TLS version: what a connection is worth, and from when on that is little."""
    # Twins are for the noise floor; they tell nothing of their own.
    first = [row for row in shown if row.case.get("instance", 1) == 1]
    for side, of_side in grouped(first, _side).items():
        worth = [row for row in of_side if row.outcome == WORTH]
        needed = [row.interval for row in of_side if row.outcome == NEEDED and row.interval is not None]
        prices = enumerated([f"{rounded(row.interval)}{_with_key(row)}" for row in worth if row.interval])
        yield (
            f"{side}: to make one connection costs the server as much CPU time as {prices} of "
            f"{workloads.in_words(worth[0].word('kept'))} on a connection that is kept; with more than "
            f"{enumerated([_enough(interval) for interval in needed])} on each, making it is less than "
            f"{percent(worth[0].number(SHARE) or 0.0)} of what the server spends"
        )


def _side(row: Row) -> str:
    path = row.case.get("path", DIRECT)
    through = "" if path == DIRECT else f", {path_words(path)}"
    return f"{row.case.get('server', 'the server')}, {tls_label(row.case)}{through}"


def rounded(operations: Interval) -> str:
    """A number of operations and its interval: "12.3 (11.8 to 12.9)"."""
    if not operations.is_telling:
        return "not known to a factor of ten"
    return with_ends(operations, alike, alone=alike(operations.point)[0])


def whole(operations: float) -> str:
    """A number of operations that is enough, to two digits and never too few: 437 is "440"."""
    unit = 10 ** max(0, floor(log10(operations)) - 1) if operations >= 1 else 1
    return f"{ceil(round(operations / unit, 6)) * unit:,}"


def _enough(needed: Interval) -> str:
    """How many are enough for certain: the upper end of the interval."""
    return whole(needed.point if needed.high is None or not needed.is_telling else needed.high)


def _with_key(row: Row) -> str:
    if row.case.get("tls", "off") == "off" or "certificate" not in row.case:
        return ""
    return f" with {key_of(row.case['certificate'])}"


def sections(told: Told, _: RunDocument) -> Iterator[Section]:
    """A line for each case."""
    first = told.rows[0]
    steps = sorted({step for row in told.rows for step in row.numbers(POOLED)})
    connections = f"{', '.join(map(str, steps))} connection{'' if steps == [1] else 's'}"
    until = f"until {percent(first.number(SHARE) or 0.0)}"
    reading = (
        f"What a connection costs the server, in {workloads.in_words(first.word('kept'))}: its CPU time per "
        f"operation, at {connections}. Worth: one connection made, in operations "
        f"on one that is kept. {until.capitalize()}: with that number on each connection, making it is that "
        "share of what the server spends. Kept, made: what TLS adds to an operation on a connection that is "
        "kept, and to one that makes its own."
    )
    lines = []
    for own in grouped(told.rows, lambda row: row.case).values():
        known = {row.outcome: row.interval for row in own}
        prices = (number(known[WORTH]), number(known[NEEDED]))
        lines.append((own[0].label, *prices, ratio(known.get(OF_KEPT)), ratio(known.get(OF_MADE))))
    yield Section((Table("", ("worth", until, "kept", "made"), lines, (reading,)),), told.title)


COLUMNS = (
    Column("kept", "TEXT", "the workload on connections that are kept"),
    Column("made", "TEXT", "the workload that makes connections"),
    columns.POOLED,
    Column(SHARE, "REAL", "the share of the server's time that making a connection is to stay below", "1"),
)

TOPIC = Topic("pool", "What keeping connections saves", rows, sections, sentences, COLUMNS)
