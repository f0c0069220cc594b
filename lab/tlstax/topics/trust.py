"""Files of many authorities: how often each client reads them, and what that costs a connect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp
from statistics import fmean

from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told, by_label
from tlstax.stats.contrasts import judge_difference
from tlstax.stats.series import Series
from tlstax.stats.wording import MINUS, capitalised, each, with_ends
from tlstax.study.client_kinds import client_words
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import group_label
from tlstax.support.text import counted, with_commas
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Items, Roomy, Section, reading
from tlstax.topics.core.table import Number, number, pivot
from tlstax.topics.core.topic import Run, Topic

TRUST, CLIENT = "trust", "client"
TIME, CLIENT_CPU, READ = "latency_mean_us", "client_cpu_us_per_op", "client_read_bytes_per_op"
READS = "reads_per_connect"

AUTHORITY_BYTES = 1_160
"""How long each authority is in the files that the laboratory makes, as PEM (`specimens/certificates.py`)."""

FEWEST_BLOCKS = 3
"""With fewer, intervals are so wide that they say nothing of what there is."""

ONCE = 0.5
"""Read for fewer than half of all connects, a file is not read for each."""

READING = (
    "More than with one authority in the file, for a connect with one statement; means over blocks, with "
    "{confidence} intervals. How often the file is read is counted by the kernel."
)


def rows(run: Run) -> Iterator[Row]:
    """What each client with more authorities than those needed takes more, in the plan's order.

    A row is a difference of means over the blocks that both cases have: of the time of an operation, a
    connect with one statement, or of the client's CPU time. `reads_per_connect` is how often the file was
    read, from the bytes that the client read from files; there is none where the kernel did not count them.
    """
    series, file = run.series, run.stored.header.trust
    needed = 1 if file is None else file.needed
    for several in series.families(TRUST):
        by_size = {int(levels[TRUST]): levels for levels in several}
        few = by_size.pop(needed, None)
        if few is None:
            continue
        for size, many in sorted(by_size.items()):
            more_bytes = (size - 1) * AUTHORITY_BYTES if file is None else file.more_bytes
            yield from _costs(series, many, few, more_bytes)


def _costs(series: Series, many: CaseLevels, few: CaseLevels, more_bytes: int) -> Iterator[Row]:
    """A connect's time may be longer by the margin, and still count as alike."""
    reads = _differences(series, many, few, READ)
    for outcome in (TIME, CLIENT_CPU):
        differences = _differences(series, many, few, outcome)
        if not differences:
            continue
        more_us, judgement = series.pooling.difference(differences), ""
        if outcome == TIME:
            few_us = fmean(exp(log) for log in series.logs(few, TIME).values())
            judgement = judge_difference(more_us, None, (series.study.alike_within - 1) * few_us)
        yield Row(
            outcome=outcome,
            unit="us",
            label=_label(series, many),
            case=many,
            baseline=few,
            interval=more_us,
            of="difference",
            judgement=judgement,
            more={
                "authorities": int(many[TRUST]),
                "authorities_needed": int(few[TRUST]),
                READS: max(0.0, fmean(reads.values()) / more_bytes) if reads else None,
            },
        )


def _label(series: Series, levels: CaseLevels) -> str:
    """The client, and what else tells its cases apart."""
    others = levels.only(*series.study.varied - {TRUST, CLIENT})
    return with_commas(client_words(levels.client), group_label(others, series.study))


def _differences(series: Series, many: CaseLevels, few: CaseLevels, outcome: str) -> Mapping[int, float]:
    more, less = series.logs(many, outcome), series.logs(few, outcome)
    return {block: exp(more[block]) - exp(less[block]) for block in sorted(more.keys() & less.keys())}


def sentences(run: Run, shown: Sequence[Row]) -> Iterator[str]:
    """What the user's own file is, where there is one; for each client what its largest file costs."""
    file = run.stored.header.trust
    if file is not None:
        own = "" if file.needed_bytes else ", to which a private server's own came"
        odd = f"; {odd}" if (odd := file.peculiarities()) else ""
        authorities = "one authority" if file.authorities == 1 else f"{file.authorities:,} authorities"
        size = f"{file.size_bytes:,} bytes{own} (SHA-256 {file.sha256[:16]}…)"
        yield f"The file has {authorities} in {size}{odd}"
    for several in by_label(shown).values():
        largest = max(several, key=lambda row: row.number("authorities") or 0)
        yield capitalised(_sentence(largest))


def _sentence(row: Row) -> str:
    how = _how_often(row.number(READS), costs=row.judgement == "higher")
    if row.outcome != TIME or row.interval is None:
        return f"{row.label} {how}"
    many, needed = f"{row.word('authorities')} of them", row.more["authorities_needed"]
    few = "one" if needed == 1 else f"the {needed} that are needed"
    if row.judgement == "alike":
        return f"{row.label} {how}: a connect with {many} takes as long as with {few}"
    ms = row.interval.each(lambda us: us / 1000)
    more = f"{with_ends(ms, each('{:.3g}'.format), ' ms')} more".replace("-", MINUS)
    if row.judgement == "higher":
        return f"{row.label} {how}: {many} take {more} than a file with {few}"
    blocks = f" by {counted(ms.blocks, 'block')}" if ms.blocks < FEWEST_BLOCKS else ""
    return f"{row.label} {how}: what {many} take is inconclusive{blocks}, {more}"


def _how_often(reads: float | None, *, costs: bool) -> str:
    """Who reads the file once may take in what it read for each connect all the same, and that costs."""
    if reads is None:
        return "was given files of authorities"
    if reads < ONCE:
        again = " and takes them in anew on every connect" if costs else ""
        return f"reads its authorities once{again}"
    times = "" if reads < 1 + ONCE else f" {reads:.0f} times"
    return f"reads its authorities{times} on every connect"


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """A sentence for each client; where there is room, tables of time, of CPU time, of how often it reads."""

    def ms(row: Row) -> Number:
        return number(row.interval, lambda us: f"{us / 1000:.2f}")

    def reads(row: Row) -> Number:
        return Number(row.number(READS), said="{:.1f}".format)

    tables = (
        pivot(title, told.of(outcome), "authorities", cell)
        for title, outcome, cell in (
            ("Time of a connect, ms more", TIME, ms),
            ("The client's CPU time, ms more", CLIENT_CPU, ms),
            ("How often the file is read for a connect", TIME, reads),
        )
    )
    note = reading(READING, document.design.confidence)
    yield Section((Items(told.sentences), Roomy((*tables, note))), told.title)


COLUMNS = (
    Column("authorities", "INTEGER", "how many authorities the client's file has"),
    Column("authorities_needed", "INTEGER", "how many the file that it is compared with has"),
    Column(READS, "REAL", "how often the file was read for a connect, from the bytes read", "1"),
)

TOPIC = Topic("trust", "Files of many authorities", rows, sections, sentences, COLUMNS)
