"""Copies of a whole server: how fast they come, what each MiB costs, and what TLS adds to it.

A MiB is one of what the program had in the end: of a dump its text, of a base backup its archive, of a log
its files. What connecting and logging in costs is in it, as it is for who makes such a copy. A copy that is
compressed on the wire has as many MiB as one that is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import Any

from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, RowSet, Told, by_case
from tlstax.stats.series import Logs, Series, difference
from tlstax.stats.wording import signed_percent
from tlstax.study.client_kinds import client_words
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import group_label, label_levels
from tlstax.study.level_names import STREAM
from tlstax.support.grouping import grouped
from tlstax.support.text import with_commas
from tlstax.topics.core import figures
from tlstax.topics.core.columns import Column
from tlstax.topics.core.outcome_names import MIB, MIB_PER_S, OF_A_MIB
from tlstax.topics.core.section import INTERVALS, Items, Roomy, Section, Words, reading
from tlstax.topics.core.table import Cell, Table, number
from tlstax.topics.core.topic import Run, Topic

LAST_BYTE = "time to the last byte"
BESIDE = "{} CPU beside plaintext"
UNPACKED = "{} beside not compressed"
COPY, ON_THE_WIRE = "copy_bytes", "copy_wire_bytes"
RATE = "ops_per_s"
CPU = {"server": "server_cpu_us_per_op", "client": "client_cpu_us_per_op"}


def rows(run: Run) -> Iterator[Row]:
    """What is known of each case that copies a server, in the plan's order.

    MiB a second, the seconds from the start of the program to its end, and the CPU time of a MiB on both
    sides; then the CPU times of a copy beside the same in the clear, and of a compressed one these and the
    time beside the same that is not.
    """
    series = run.series
    for case in series.cases.values():
        if case.levels.workload == STREAM:
            yield from _of_case(series, case.levels)


def _of_case(series: Series, levels: CaseLevels) -> Iterator[Row]:
    lengths, rates = series.logs(levels, COPY), series.logs(levels, RATE)
    mebibytes = {at: length - log(MIB) for at, length in lengths.items() if at in rates}
    whole = series.interval(lengths)
    if whole is None:
        return
    crossed = series.interval(series.logs(levels, ON_THE_WIRE))
    on_the_wire = {} if crossed is None else {ON_THE_WIRE: round(crossed.point)}
    # All are whole copies on one connection.
    named = levels.without("workload", "connections")
    common: dict[str, Any] = {
        "case": levels,
        "label": with_commas(label_levels(named, series.study), group_label(named, series.study)),
        "more": {COPY: round(whole.point), **on_the_wire},
    }
    copied = {at: rates[at] + mib for at, mib in mebibytes.items()}
    yield from series.rows(copied, outcome=MIB_PER_S, unit="MiB/s", **common)
    yield from series.rows({at: -rates[at] for at in mebibytes}, outcome=LAST_BYTE, unit="s", **common)
    for side, outcome in CPU.items():
        each = difference(series.logs(levels, outcome), mebibytes)
        yield from series.rows(each, outcome=OF_A_MIB.format(side), unit="us", **common)
    for outcome, ratios, other in _ratios(series, levels):
        yield from series.rows(ratios, outcome=outcome, unit="1", of="ratio", baseline=other, **common)


def _ratios(series: Series, levels: CaseLevels) -> Iterator[tuple[str, Logs, CaseLevels]]:
    """What the case takes beside plaintext, and beside what is not compressed: logarithms by block."""
    plain = series.own_baseline(levels)
    if plain != levels and plain.tls == "off":
        for side, outcome in CPU.items():
            yield BESIDE.format(side), series.log_ratios(levels, plain, outcome), plain
    unpacked = levels | {"compression": "off"}
    if levels.is_compressed and unpacked in series.cases:
        rates = series.log_ratios(levels, unpacked, RATE)
        yield UNPACKED.format(LAST_BYTE), {at: -ratio for at, ratio in rates.items()}, unpacked
        for side, outcome in CPU.items():
            ratios = series.log_ratios(levels, unpacked, outcome)
            yield UNPACKED.format(f"{side} CPU"), ratios, unpacked


SENTENCE = "{label}: {rate} MiB/s; a MiB takes the server {server} and the client {client}{more}"
COMPRESSED = "{label}: {share} of its bytes cross the wire{more}"


def sentences(_: Run, shown: Sequence[Row]) -> Iterator[str]:
    """How fast each copy came under TLS and what it cost beside plaintext; what compression did."""
    for copy in by_case(shown):
        yield from _compression(copy)
        beside = [text for side in CPU if (text := _beside(copy, side))]
        rate = copy.interval(MIB_PER_S)
        costs = {side: cost for side in CPU if (cost := copy.interval(OF_A_MIB.format(side)))}
        if beside and rate is not None and len(costs) == len(CPU):
            said = {side: f"{figures.significant(cost.point / 1000)} ms" for side, cost in costs.items()}
            yield SENTENCE.format(
                label=copy.rows[0].label,
                rate=figures.significant(rate.point),
                more=f": {', '.join(beside)}",
                **said,
            )


def _compression(copy: RowSet) -> Iterator[str]:
    names = {"time": LAST_BYTE, "server's CPU": "server CPU", "client's CPU": "client CPU"}
    changes = {words: copy.interval(UNPACKED.format(name)) for words, name in names.items()}
    told = [_of(words, ratio) for words, ratio in changes.items() if ratio is not None]
    length, crossed = copy.rows[0].number(COPY), copy.rows[0].number(ON_THE_WIRE)
    if told and length and crossed is not None:
        more = f"; beside not compressed: {', '.join(told)}"
        share = figures.significant(crossed / length)
        yield COMPRESSED.format(label=copy.rows[0].label, share=share, more=more)


def _of(what: str, ratio: Interval) -> str:
    """By how much that is more or less: "+12 % [+10 … +14] of the time"."""
    ends = figures.ends(ratio, lambda value: signed_percent(value - 1))
    return " ".join(f"{signed_percent(ratio.point - 1)} {ends} of the {what}".split())


def _beside(copy: RowSet, side: str) -> str:
    ratio = copy.interval(BESIDE.format(side))
    what = f"{side}'s CPU"
    return "" if ratio is None else f"{_of(what, ratio)} beside plaintext"


SENT = "MiB on\nthe wire"
HEADS = ("MiB", "MiB/s", "s to the\nlast byte", "server, µs\na MiB", "client, µs\na MiB")
READING = (
    "An operation is one run of the program, from its start to its end: what connecting costs is in it. One "
    "run before each window was looked through and held what the server had; those of the window were as "
    "long."
)


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """A table of all cases of each program."""
    by_program = grouped(by_case(told.rows), lambda copy: client_words(copy.rows[0].case.client))
    tables = [_table(program, own) for program, own in by_program.items()]
    said = (Items(told.sentences, all_of_them=True),) if told.sentences else ()
    yield Section(
        (
            *said,
            *tables,
            Words(READING, aside=True),
            Roomy((reading(INTERVALS, document.design.confidence),)),
        ),
        told.title,
    )


def _table(program: str, copies: Sequence[RowSet]) -> Table:
    is_packed = any(copy.rows[0].case.is_compressed for copy in copies)
    outcomes = (MIB_PER_S, LAST_BYTE, *(OF_A_MIB.format(side) for side in CPU))
    lines: list[tuple[Cell, ...]] = [
        (
            copy.rows[0].label,
            *(_mebibytes(copy.rows[0].number(length)) for length in (COPY, *[ON_THE_WIRE] * is_packed)),
            *(number(copy.interval(outcome)) for outcome in outcomes),
        )
        for copy in copies
    ]
    heads = (HEADS[0], SENT, *HEADS[1:]) if is_packed else HEADS
    return Table(program, heads, lines, ())


def _mebibytes(length: float | None) -> Cell:
    return "" if length is None else figures.significant(length / MIB)


COLUMNS = (
    Column(COPY, "INTEGER", "how long a whole copy is", "bytes"),
    Column(ON_THE_WIRE, "INTEGER", "what the server sent for a whole copy, on the wire", "bytes"),
)

TOPIC = Topic("streams", "Dumps, base backups and logs of changes", rows, sections, sentences, COLUMNS)
