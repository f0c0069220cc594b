"""What a pooler costs beside its clients and its server, and when its one thread has no time left.

PgBouncer has one thread; for more processors several of it share a port ("config", `so_reuseport`). So a
connection that costs it c µs of CPU time leaves room for 1,000,000/c of them a second, wherever it runs; and
where it works for most of the time, more connections only wait for it. How busy it was is its CPU time of an
operation by the operations of a second, of the same block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import Any

from tlstax.records.window import BUSY
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, RowSet, Told, by_case
from tlstax.stats.series import LADDER, Series
from tlstax.stats.wording import alike, each, percent, with_ends
from tlstax.study import Case
from tlstax.study.client_kinds import client_words
from tlstax.study.labels import full_label, label
from tlstax.study.level_names import DIRECT, RECONNECTING
from tlstax.study.tls_levels import POOLS
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core.figures import significant
from tlstax.topics.core.section import Section
from tlstax.topics.core.table import Cell, Table, number, ratio
from tlstax.topics.core.topic import Run, Topic

POOLER, CLIENT, SERVER, ALL, RATE = (
    "path_cpu_us_per_op",
    "client_cpu_us_per_op",
    "server_cpu_us_per_op",
    "all_cpu_us_per_op",
    "ops_per_s",
)
BUSY_SHARE, MOST_PER_S = "pooler_busy", "most_per_s"
TO_DIRECT = "{} beside direct"
FULL = "full"

US_PER_S = 1e6

HEADS = ("pooler\nµs/op", "client\nµs/op", "server\nµs/op", "server,\nto direct", "busy", "at most\n1/s")
READING = (
    "CPU time of an operation, of each side by itself; the server's beside the same without a pooler. Busy: "
    "the share of its time for which the pooler's one thread worked. At most: as many connections a second "
    "as it has time for."
)


def rows(run: Run) -> Iterator[Row]:
    """What each case through a pooler costs each side, in the plan's order, and how busy the pooler was.

    Rows have the CPU time of an operation at the pooler, the client, the server and all of them, and the last
    two beside the same case without a pooler, in the same blocks. `pooler_busy` is the share of a second for
    which the pooler worked; the judgement is "full" where it had no room for more. `most_per_s` is how many
    connections a second it has time for, of a workload that makes one for each operation.
    """
    series = run.series
    for case in series.cases.values():
        if case.levels.get("path") in POOLS:
            yield from _of_case(series, case)


def _of_case(series: Series, case: Case) -> Iterator[Row]:
    levels = case.levels
    own, direct = series.logs(levels, POOLER), levels | {"path": DIRECT}
    if not own:
        return
    common: dict[str, Any] = {"label": full_label(case, series.study), "case": levels}
    for outcome in (POOLER, CLIENT, SERVER, ALL):
        yield from series.rows(series.logs(levels, outcome), outcome=outcome, unit="us", **common)
    for outcome in (SERVER, ALL):
        beside = series.log_ratios(levels, direct, outcome)
        named = TO_DIRECT.format(outcome)
        yield from series.rows(beside, outcome=named, unit="1", of="ratio", baseline=direct, **common)
    rates = series.logs(levels, RATE)
    busy = {block: own[block] + rates[block] - log(US_PER_S) for block in sorted(own.keys() & rates.keys())}
    share = series.interval(busy)
    full = FULL if share is not None and share.point >= BUSY else ""
    yield from series.rows(busy, outcome=BUSY_SHARE, unit="1", judgement=full, **common)
    if levels.get("workload") in RECONNECTING:
        most = {block: log(US_PER_S) - used for block, used in own.items()}
        yield from series.rows(most, outcome=MOST_PER_S, unit="1/s", **common)


def sentences(run: Run, shown: Sequence[Row]) -> Iterator[str]:
    """Of connections that are made: what one costs the pooler, and how many a second that is at the most.

    Of several numbers of connections it is the one at which the pooler was busiest.
    """
    made = [row for row in shown if row.case.get("workload") in RECONNECTING]
    for ladder in grouped(made, lambda row: row.case.without(LADDER)).values():
        steps = [step for step in by_case(ladder) if step.row(BUSY_SHARE)]
        if steps:
            yield _sentence(run, max(steps, key=lambda step: step.known(BUSY_SHARE).point))


def _sentence(run: Run, step: RowSet) -> str:
    cost, busy, most = (step.known(outcome) for outcome in (POOLER, BUSY_SHARE, MOST_PER_S))
    case = run.series.cases[step.rows[0].case]
    by = f", by {client_words(case.levels.client)}" if "client" in case.levels else ""
    connections = counted(case.levels.connections, "connection")
    limit = ", and has no room for more" if any(row.judgement == FULL for row in step.rows) else ""
    return (
        f"{label(case, run.study)}{by}: a connection costs the pooler "
        f"{with_ends(cost, each(significant), ' µs')} of CPU time, of which its one thread takes "
        f"{with_ends(most, each(significant))} a second at the most; with {connections} it was "
        f"{percent(busy.point)} busy{limit}{_spared(step)}"
    )


def _spared(step: RowSet) -> str:
    """How much less the server spends than without the pooler; nothing where that is not known to be less."""
    ratio = step.interval(TO_DIRECT.format(SERVER))
    if ratio is None or ratio.high is None or ratio.high >= 1:
        return ""
    saved = (-ratio).each(lambda negative: 100 * (1 + negative))
    return f"; it spares the server {with_ends(saved, alike, ' %', last=' %')} of a connection's CPU time"


def sections(told: Told, _: RunDocument) -> Iterator[Section]:
    """A line for each case."""
    lines = [(step.rows[0].label, *_cells(step)) for step in by_case(told.rows)]
    yield Section((Table("", HEADS, lines, (READING,)),), told.title)


def _cells(step: RowSet) -> Iterator[Cell]:
    yield from (number(step.interval(outcome)) for outcome in (POOLER, CLIENT, SERVER))
    yield ratio(step.interval(TO_DIRECT.format(SERVER)))
    yield number(step.interval(BUSY_SHARE), percent)
    yield number(step.interval(MOST_PER_S))


TOPIC = Topic("poolers", "What a pooler costs, and what it spares its server", rows, sections, sentences)
