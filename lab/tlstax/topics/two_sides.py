"""What B changes beside A, block by block, and whether that keeps to limits.

Where the sides are servers, each has two processes in a block. The luck of a process (its memory layout, its
hash seeds) is in all that it does, so a side is the mean of its two, and the next block has new ones: the
scatter of blocks holds the luck of processes as well as that of trials, and an interval over blocks needs no
allowance for either. Twins show the same scatter where nothing was changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp
from statistics import fmean
from typing import Any

from tlstax.records.trial import StoredRun
from tlstax.results.document import GateResult, RunDocument
from tlstax.results.interval import DIFFERENCES
from tlstax.results.rows import Row, Told, by_label
from tlstax.stats.contrasts import judge
from tlstax.stats.limits import CONFIDENCE, Limits, confidence_of_each, worst
from tlstax.stats.series import Logs, Series, series_of
from tlstax.stats.wording import capitalised, change_words, percent, verdict_words
from tlstax.study import Sides, Study
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import group_label, label_levels
from tlstax.study.outcomes import OUTCOMES
from tlstax.study.two_sides import INSTANCE, OF_A, OF_B
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted
from tlstax.topics.core import figures, outcome_names
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Pairs, Section, Words
from tlstax.topics.core.table import Table
from tlstax.topics.core.topic import Run, Topic

SHOWN = ("server_cpu_us_per_op", "client_cpu_us_per_op", "ops_per_s", "latency_p50_us")
"""The outcomes that are shown, in their order."""

SIDES, TWIN, CONTROL = "sides", "twin", "sides control"
SIDE = "a_or_b"

READING = (
    "In brackets is the {confidence} interval over blocks{processes}. {twins}"
    "What differs beside itself{or_twins} was changed by nothing."
)
WITH_TWINS = "Each side is the mean of two processes, which share all but the luck of a process. "


def rows(run: Run) -> Iterator[Row]:
    """What B changes beside A in every group of cases; nothing where no sides are set against each other."""
    return effects(run.series)


def effects(
    series: Series, outcomes: Sequence[str] = SHOWN, *, confidence: float | None = None
) -> Iterator[Row]:
    """A row for each outcome of each group that any block has; then its twins and its control.

    The ratio of a row is B's to A's, of sides with twins that of the means of both processes. A `twin` is the
    second process of a side to its first, the control A's first process to itself: what differs there was
    changed by nothing. Without `confidence` intervals have the study's.
    """
    sides = series.study.sides
    if sides is None:
        return
    sure = series.study.confidence if confidence is None else confidence
    for levels in [case.levels for case in series.cases.values() if case.role == "baseline"]:
        for outcome in outcomes:
            yield from _effect(series, sides, levels, outcome, sure)


def _effect(
    series: Series, sides: Sides, first: CaseLevels, outcome: str, confidence: float
) -> Iterator[Row]:
    """One outcome of the group whose first process of A has these levels."""
    has_twins = INSTANCE in series.study.baseline
    of_a = [first | {INSTANCE: number} for number in OF_A] if has_twins else [first]
    other = first | sides.b
    of_b = [other | {INSTANCE: number} for number in OF_B] if has_twins else [other]
    logs = _mean_difference(
        [series.log_ratios(own, first, outcome) for own in of_b],
        [series.log_ratios(own, first, outcome) for own in of_a[1:]],
    )
    if not logs:
        return
    pooling = series.pooling.at(confidence)
    change, a = pooling.interval(logs), exp(fmean(series.logs(first, outcome).values()))
    common: dict[str, Any] = {
        "outcome": outcome,
        "unit": OUTCOMES[outcome].unit,
        "case": series.study.group_of(first),
        "label": group_label(first, series.study),
        "of": "ratio",
    }
    judgement = judge(change, None, series.study.alike_within)
    yield Row(
        **common, role=SIDES, value=a * change.point, baseline_value=a, interval=change, judgement=judgement
    )
    for side, (one, second) in {"A": of_a, "B": of_b}.items() if has_twins else ():
        if twins := series.log_ratios(second, one, outcome):
            yield Row(**common, role=TWIN, interval=pooling.interval(twins), more={SIDE: side})
    if control := series.control_logs(first, outcome):
        yield Row(**common, role=CONTROL, interval=pooling.interval(control), more={SIDE: "A"})


def _mean_difference(of_b: Sequence[Logs], others_of_a: Sequence[Logs]) -> dict[int, float]:
    """Ln of B to A in each block that has all of them, from ratios to A's first, whose own is nothing."""
    blocks = sorted(set.intersection(*(set(logs) for logs in (*of_b, *others_of_a))))
    return {
        block: fmean(logs[block] for logs in of_b) - fmean([0.0, *(logs[block] for logs in others_of_a)])
        for block in blocks
    }


def sentences(run: Run, shown: Sequence[Row]) -> Iterator[str]:
    """For each group what B changes of the outcome that decides, and whether that is proved to be nothing."""
    for row in shown:
        if row.role == SIDES and row.outcome == run.study.deciding_outcome and row.interval is not None:
            of = f"{OUTCOMES[row.outcome].words} of B beside A"
            words = f"{capitalised(row.label)}: {of} {change_words(row.interval)}"
            is_seen = row.judgement in DIFFERENCES
            yield words if is_seen else f"{words}: {verdict_words(row.judgement, run.study.alike_within)}"


def gated_sides(stored: StoredRun, limits: Limits) -> GateResult:
    """What B changes beside A in one run, beside each limit: the run is compared with itself alone.

    UserMistake where no sides are set against each other in it, or a limit has no case that it is for.
    """
    header = stored.header
    if header.study.sides is None:
        raise UserMistake(
            f"run {header.run} has no two sides of its own",
            remedy="name the run that it is checked against with --against, or measure both with `tlstax ab`",
        )
    series = series_of(stored)
    every = limits.of(header.study.deciding_outcome)
    number = sum(row.role == SIDES for row in effects(series, [limit.outcome for limit in every]))
    each = confidence_of_each(CONFIDENCE, number)
    limited = [
        (limit, row.model_copy(update={"role": "itself"}))
        for limit in every
        for row in effects(series, [limit.outcome], confidence=each)
        if row.role == SIDES
    ]
    limits.check_each_has_a_case(
        [limit for limit, _ in limited], f"block of run {header.run} with both sides", series.outcomes
    )
    cases = tuple(limit.judged(row) for limit, row in limited)
    return GateResult(
        run=header.run,
        against=header.run,
        same_machine=True,
        confidence=CONFIDENCE,
        changes=cases,
        verdict=worst(cases),
    )


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """A table for each group of cases, and what nothing changes below it."""
    design, sides = document.design, document.design.sides
    if sides is None:
        return
    has_twins = INSTANCE in design.baseline
    names = [(name, label_levels(own, design)) for name, own in (("A", sides.a), ("B", sides.b))]
    reading = READING.format(
        confidence=percent(design.confidence),
        processes=_processes(design, sides, has_twins=has_twins),
        twins=WITH_TWINS if has_twins else "",
        or_twins=" or its twin" if has_twins else "",
    )
    tables = (_table(own, has_twins=has_twins) for own in by_label(told.rows).values())
    yield Section((Pairs("", tuple(names)), *tables, Words(reading, aside=True)), told.title)


def _processes(design: Study, sides: Sides, *, has_twins: bool) -> str:
    """Which servers have new processes in each block: an external one goes on as it is.

    Sides that are servers have twins, unless one is external.
    """
    if not design.new_processes:
        return ""
    has_external = "server" in sides.a and not has_twins
    return f", each with new processes of every {'private server' if has_external else 'server'}"


def _table(own: Sequence[Row], *, has_twins: bool) -> Table:
    """A column for each outcome: both values, the change, and what nothing changes."""
    sides = [row for row in own if row.role == SIDES]
    changes = {
        (row.role, row.word(SIDE), row.outcome): figures.change_with_interval(row.known) for row in own
    }
    twins = [(f"{side}’s second process beside its first", TWIN, side) for side in ("A", "B")]
    lines = [
        ("B beside A", SIDES, ""),
        *(twins if has_twins else ()),
        ("A’s first process beside itself", CONTROL, "A"),
    ]
    table = [
        ("A", *(figures.quantity(row.baseline_amount, row.unit) for row in sides)),
        ("B", *(figures.quantity(row.amount, row.unit) for row in sides)),
        *(
            (name, *(changes.get((*place, row.outcome), figures.NOTHING) for row in sides))
            for name, *place in lines
        ),
    ]
    heads = tuple(outcome_names.title(row.outcome) for row in sides)
    return Table(f"{own[0].label}, {counted(own[0].blocks or 0, 'block')}", heads, table, (), of="side")


COLUMNS = (Column(SIDE, "TEXT", "A or B, of a figure that is of one side alone"),)

TOPIC = Topic("two_sides", "B beside A", rows, sections, sentences, COLUMNS)
