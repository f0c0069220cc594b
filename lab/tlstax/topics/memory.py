"""What a connection that is kept costs server and client in memory: slopes over a ladder of connections.

A process does not give back what it had, so each trial has a process of the server to itself. The slope of a
block is that of least squares over its numbers of connections: the memory that a process has anyway is not in
it. Of slopes, one a block, the mean has its interval (Student's t), and so has what one kind of connection
adds to another, block by block; the quotient of both means has its interval by Fieller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, linear_regression
from typing import NamedTuple

from tlstax.plan import order as plan_order
from tlstax.records.trial import TrialRecord
from tlstax.records.window import ProcessUse
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told
from tlstax.stats import histograms
from tlstax.stats.outcomes import outcome
from tlstax.stats.pooling import Pooling, machines_of
from tlstax.stats.series import LADDER
from tlstax.stats.wording import MINUS, percent
from tlstax.study import Levels, Study
from tlstax.study.factors import SERVER_FACTORS, CaseLevels
from tlstax.study.labels import group_label, label_levels
from tlstax.study.level_names import DEFAULT_CERTIFICATE, key_of
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, enumerated, with_commas
from tlstax.topics.core import figures
from tlstax.topics.core.columns import GROUP, Column
from tlstax.topics.core.section import Items, Section, Words
from tlstax.topics.core.table import INDENT, Cell, Number, Table, number
from tlstax.topics.core.topic import Run, Topic

RSS, PSS, THREADS, PROCESSES = (
    "server_rss_per_connection",
    "server_pss_per_connection",
    "server_threads_per_connection",
    "server_processes_per_connection",
)
CLIENT_RSS = "client_rss_per_connection"
SERVED_BY = {THREADS: "threads", PROCESSES: "processes"}
"""What a server may have more of with each connection, and the head of its column."""

AMOUNTS = (RSS, PSS, CLIENT_RSS, *SERVED_BY)

COST, ADDED, TIMES, SERVED = "kept connection", "kept connection adds", "kept connection to", "held"
"""The roles of rows: what each further connection costs, what it has more than one of the baseline's kind,
how many times as much that is, and how held connections were served."""

SIZES = "connection_counts"

PLACES = ("p50", "p99", "max")
LINES: Mapping[str, tuple[str, ...]] = {
    "begun late by: p50, p99, max": tuple(f"start_delay_{place}_us" for place in PLACES),
    "answered after: p50, p99, max": tuple(f"latency_{place}_us" for place in PLACES),
    "operations due": ("operations_due",),
    "done": ("operations_done",),
    "never begun": ("operations_never_begun",),
    "failed": ("operations_failed",),
    "client's CPU": ("client_cpu_share",),
    "server's CPU": ("server_cpu_share",),
    "server's threads": ("server_threads",),
}
"""What is told of held connections: the lines of a table, and the outcomes in each."""

SERVICE = {name: "us" if name.endswith("_us") else "1" for names in LINES.values() for name in names}
BUSY_SHARE = 0.9
"""A side that is busier than this has no time to spare for keeping a schedule."""

FEWEST_SIZES = 2
KIB = 1024
MANY = 1000
"""A client's memory varies by some 100 KiB from start to start, which fewer connections show."""

READING = (
    "What each further connection costs, from {sizes} kept connections; means over {blocks}, in which each "
    "kind and number of connections has a process of the server to itself, with {confidence} intervals. RSS: "
    "resident memory; PSS: pages that are shared count by their share."
)
OF_PROCESSES = (
    " Each connection has a process of its own: what all processes of the server share counts once, in RSS "
    "by the most of files and of shared memory that one of them has."
)
HEADS = ("RSS KiB", "PSS KiB", "RSS to\n{baseline}", "client's\nRSS KiB")


class Reading(NamedTuple):
    """What processes held with N connections of a kind in a block: of each amount, None if not read."""

    kind: str
    block: int
    connections: int
    amounts: Mapping[str, float | None]


def slopes(readings: Sequence[Reading], amount: str) -> Mapping[int, float]:
    """What each further connection has of an amount, by block; of blocks with two numbers of them or more."""
    by_block = {}
    for block, own in grouped(readings, lambda reading: reading.block).items():
        known = [(read.connections, size) for read in own if (size := read.amounts.get(amount)) is not None]
        if len({connections for connections, _ in known}) >= FEWEST_SIZES:
            numbers, sizes = zip(*known, strict=True)
            by_block[block] = linear_regression(numbers, sizes).slope
    return by_block


def costs(
    readings: Sequence[Reading],
    kinds: Mapping[str, Levels],
    subject: str,
    pooling: Pooling,
    levels: CaseLevels | None = None,
) -> Iterator[Row]:
    """What each further connection of a kind costs one subject, and what it has more than the first kind.

    `kinds` are the levels of each in their order, of which a reading names one, `subject` is what is measured
    in words, and `levels` are those that all its kinds share.
    """
    by_kind = grouped(readings, lambda reading: reading.kind)
    sizes = tuple(sorted({reading.connections for reading in readings}))
    baseline = next(iter(kinds), "")
    for kind, own in kinds.items():
        row = partial(
            Row,
            label=kind,
            case={**(levels or {}), **own},
            more={GROUP.name: subject, SIZES: sizes},
        )
        beside = partial(row, baseline={**(levels or {}), **kinds[baseline]})
        for amount in AMOUNTS:
            unit = "1" if amount in SERVED_BY else "B"
            above = slopes(by_kind.get(kind, ()), amount)
            if above:
                yield row(role=COST, outcome=amount, unit=unit, interval=pooling.difference(above))
            below = slopes(by_kind.get(baseline, ()), amount)
            both = sorted(above.keys() & below.keys())
            if kind == baseline or amount in SERVED_BY or not both:
                continue
            more = pooling.difference({block: above[block] - below[block] for block in both})
            yield beside(role=ADDED, outcome=amount, unit=unit, of="difference", interval=more)
            if amount in {RSS, CLIENT_RSS} and sum(below[block] for block in both) > 0:
                yield beside(
                    role=TIMES,
                    outcome=amount,
                    unit="1",
                    of="ratio",
                    interval=pooling.quotient(
                        {block: above[block] for block in both}, {block: below[block] for block in both}
                    ),
                )


def rows(run: Run) -> Iterator[Row]:
    """What a connection costs each server, and in an open loop how the most connections were served.

    Nothing of a study whose trials share processes, or that has one number of connections alone.
    """
    study = run.study
    if not study.has_process_for_each_trial or len(study.levels_of().get(LADDER, ())) < FEWEST_SIZES:
        return
    pooling = Pooling(study.confidence, machines_of(run.stored.measured))
    kinds = _kinds(study)
    compared = (record for record in run.stored.valid if record.trial.case.role != "control")
    valid = plan_order.in_order(compared, study)
    for shared, records in grouped(valid, lambda record: _shared(record, study)).items():
        subject, own = _subject(records[0], study), grouped(records, lambda record: _kind(record, study))
        readings = [reading for record in records if (reading := _reading(record, study)) is not None]
        labelled = {label_levels(kind, study): kind for kind in kinds}
        yield from costs(readings, labelled, subject, pooling, shared)
        if study.schedule.mode == "open":
            for kind in kinds:
                yield from _served(own.get(kind, ()), study, subject)


def _kinds(study: Study) -> list[CaseLevels]:
    """The kinds of connection that are compared, the baseline's first."""
    every = (levels.only(*study.baseline) for levels in study.product())
    return list(dict.fromkeys((CaseLevels.of(study.baseline), *every)))


def _kind(record: TrialRecord, study: Study) -> CaseLevels:
    return record.trial.case.levels.only(*study.baseline)


def _shared(record: TrialRecord, study: Study) -> CaseLevels:
    """What kinds of connection and their numbers have in common: the server, and what is asked of it."""
    return record.trial.case.levels.without(LADDER, *study.baseline)


def _subject(record: TrialRecord, study: Study) -> str:
    """The server with its version, what it has that it does not come with, and what else the study varies."""
    choice, version = record.trial.case.levels.server_choice, record.server.version if record.server else ""
    name = record.claim.name if record.claim is not None else choice.server or "the server"
    server = replace(choice, server=f"{name} ({version})", certificate=DEFAULT_CERTIFICATE).words()
    varied = _shared(record, study).only(*study.varied.difference(SERVER_FACTORS))
    return with_commas(server, key_of(choice.certificate), group_label(varied, study))


def _reading(record: TrialRecord, study: Study) -> Reading | None:
    window = record.window
    if window is None:
        return None
    server, client = window.server or ProcessUse(), window.client or ProcessUse()
    return Reading(
        kind=label_levels(_kind(record, study), study),
        block=record.trial.block,
        connections=record.trial.case.levels.connections,
        amounts={
            RSS: server.rss_bytes,
            PSS: server.pss_bytes,
            THREADS: server.threads if server.processes is None else None,
            PROCESSES: server.processes if server.threads is not None else None,
            CLIENT_RSS: client.rss_bytes,
        },
    )


def _served(records: Sequence[TrialRecord], study: Study, subject: str) -> Iterator[Row]:
    """How the most connections of a kind were served, means over their trials."""
    most = max((record.trial.case.levels.connections for record in records), default=0)
    own = [record for record in records if record.trial.case.levels.connections == most]
    known = [_service(record) for record in own]
    for name, unit in SERVICE.items():
        values = [service[name] for service in known if name in service]
        if values:
            yield Row(
                role=SERVED,
                outcome=name,
                unit=unit,
                label=label_levels(_kind(own[0], study), study),
                case=own[0].trial.case.levels,
                value=fmean(values),
                blocks=len(values),
                more={GROUP.name: subject},
            )


def _service(record: TrialRecord) -> dict[str, float]:
    """When operations were begun and answered, how many were, and how busy both sides were with that."""
    done, server = record.done, record.window.server if record.window is not None else None
    if done is None:
        return {}
    found: dict[str, float] = {
        "operations_due": done.scheduled,
        "operations_done": done.operations,
        "operations_never_begun": done.skipped,
        "operations_failed": sum(error.count for error in done.errors),
    }
    if server is not None and server.threads is not None:
        found["server_threads"] = server.threads
    for name in ("client_cpu_share", "server_cpu_share"):
        if (share := outcome(record, name)) is not None:
            found[name] = share
    for phase, stem in (("start_delay", "start_delay"), ("operation", "latency")):
        if phase in done.histograms_ns:
            count, values = histograms.summary(done.histograms_ns[phase], (50.0, 99.0, 100.0))
            if count:
                found |= {f"{stem}_{place}_us": us for place, us in zip(PLACES, values, strict=True)}
    return found


def sentences(shown: Sequence[Row]) -> Iterator[str]:
    """What a connection of the baseline's kind costs each server and its client, and what other kinds add."""
    for subject, rows_of in grouped(shown, lambda row: row.word(GROUP.name)).items():
        kinds = dict.fromkeys(row.label for row in rows_of)
        for kind in kinds:
            cost, added = (_amounts(rows_of, kind, role) for role in (COST, ADDED))
            if RSS in added:
                client = (
                    f" and of the client's {_kib_words(added[CLIENT_RSS])}" if CLIENT_RSS in added else ""
                )
                yield f"{subject}: {kind} adds {_kib_words(added[RSS])} of the server's memory{client}"
            elif RSS in cost:
                client = f" and {_kib_words(cost[CLIENT_RSS])} of the client's" if CLIENT_RSS in cost else ""
                yield (
                    f"{subject}: a connection that is kept takes {_kib_words(cost[RSS])} of the server's "
                    f"memory{client} ({kind})"
                )
    for row in shown:
        if row.role == SERVED and row.outcome.endswith("cpu_share") and row.amount > BUSY_SHARE:
            side = row.outcome.partition("_")[0]
            yield (
                f"{row.word(GROUP.name)}, {row.label}: the {side}'s CPU was busy {percent(row.amount)} "
                "of the time, with little to spare for the schedule"
            )


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """A table for each server, how held connections were served there, and what was left out."""
    design = document.design
    costs_of = told.of(role=COST)
    blocks = max((row.blocks or 0 for row in costs_of), default=0)
    sizes = [int(level) for level in design.levels_of()[LADDER]]
    reading = READING.format(
        sizes=enumerated(f"{size:,}" for size in sizes),
        blocks=counted(blocks, "block"),
        confidence=percent(design.confidence),
    )
    few = f" With fewer than {MANY:,} connections the client's is known to some KiB only."
    several = OF_PROCESSES if told.of(PROCESSES, role=COST) else ""
    yield Section(
        (
            *cost_tables(told, label_levels(design.baseline, design)),
            Words(reading + several + (few if max(sizes) < MANY else ""), aside=True),
            *_served_tables(told),
            Items(tuple(_left_out(design)), "Left out", all_of_them=True),
        ),
        told.title,
    )


def cost_tables(told: Told, baseline: str) -> Iterator[Table]:
    """Of each subject what a connection of each kind costs, and what it adds to one of the first.

    The client's memory has a column where it was read.
    """
    client = (CLIENT_RSS,) if told.of(CLIENT_RSS, role=COST) else ()
    for subject, rows_of in grouped(told.rows, lambda row: row.word(GROUP.name)).items():
        server_has = PROCESSES if any(row.outcome == PROCESSES for row in rows_of) else THREADS
        heads = (*HEADS[: 4 if client else 3], SERVED_BY[server_has])
        lines: list[tuple[Cell, ...]] = []
        for kind in dict.fromkeys(row.label for row in rows_of if row.role == COST):
            cost, added, times = (_amounts(rows_of, kind, role) for role in (COST, ADDED, TIMES))
            sizes, more = ([_kib(own.get(amount)) for amount in (RSS, PSS, *client)] for own in (cost, added))
            served_by = cost.get(server_has)
            more_of = Number(served_by.point if served_by else None, said=_with_two_decimals)
            lines.append((kind, *sizes[:2], _times(times.get(RSS)), *sizes[2:], more_of))
            if added:
                lines.append((f"{INDENT}adds", *more[:2], "", *more[2:], ""))
        if lines:
            filled = tuple(head.format(baseline=baseline) for head in heads)
            yield Table(f"On {subject}", filled, lines, (), of="connection")


def _amounts(rows_of: Sequence[Row], kind: str, role: str) -> dict[str, Interval]:
    return {row.outcome: row.known for row in rows_of if row.label == kind and row.role == role}


def _kib(known: Interval | None) -> Number:
    """Bytes as KiB, with their ends."""
    return number(known and known.each(lambda size: size / KIB), _with_a_decimal, is_whole=True)


def _with_a_decimal(value: float) -> str:
    return f"{value:,.1f}".replace("-", MINUS)


def _kib_words(known: Interval) -> str:
    return f"{_kib(known).text(roomy=True)} KiB"


def _with_two_decimals(value: float) -> str:
    return f"{round(value, 2) + 0.0:,.2f}".replace("-", MINUS)


def _times(known: Interval | None) -> Cell:
    if known is None:
        return ""
    between = figures.ends(known, _with_two_decimals)
    said = f"{figures.TIMES}{_with_two_decimals(known.point)}"
    return Number(known.point, known.low, known.high, lambda _: said, is_whole=True, between=between)


def _served_tables(told: Told) -> Iterator[Table]:
    """Of each subject how its most connections were served, a column for each kind of them."""
    for subject, own in grouped(told.of(role=SERVED), lambda row: row.word(GROUP.name)).items():
        kinds = tuple(dict.fromkeys(row.label for row in own))
        by_place = {(row.label, row.outcome): row for row in own}
        most = own[0].case[LADDER]
        lines = [
            (title, *(_together([by_place.get((kind, name)) for name in names]) for kind in kinds))
            for title, names in LINES.items()
        ]
        yield Table(f"{most:,} connections held on {subject}", kinds, lines, (), of="figure")


def _together(rows: Sequence[Row | None]) -> str:
    """The values of these rows beside each other, each in the unit that suits it."""
    known = [row for row in rows if row is not None and row.value is not None]
    said = (
        percent(row.amount) if row.outcome.endswith("_share") else _quantity(row.amount, row.unit)
        for row in known
    )
    return ", ".join(said) or figures.NOTHING


def _quantity(value: float, unit: str) -> str:
    return f"{value:,.0f}" if unit == "1" else figures.quantity(value, unit)


def _left_out(design: Study) -> Iterator[str]:
    """What the study has of kinds of connection that a server cannot have, and why not."""
    said: dict[str, None] = {}
    for levels, exclusion in design.excluded():
        if not exclusion.keeps_connections:
            kind = label_levels({name: levels[name] for name in design.baseline}, design)
            said[f"{kind}: {exclusion.why}"] = None
    yield from said


COLUMNS = (
    GROUP,
    Column(SIZES, "TEXT", "the numbers of connections that a slope is over"),
)

TOPIC = Topic(
    "memory",
    "Memory of a connection that is kept",
    rows,
    sections,
    lambda _, shown: sentences(shown),
    COLUMNS,
)
