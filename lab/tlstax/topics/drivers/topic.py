"""Drivers as a topic: what they do by default, what an upgrade costs, how they warmed up before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from tlstax.contract import Ready
from tlstax.plan.order import cases
from tlstax.records.trial import TrialRecord
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told
from tlstax.study import Case, Study
from tlstax.study.labels import driver_label, driver_words, full_label
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core import charts as parts
from tlstax.topics.core import figures, palette
from tlstax.topics.core.charts import Line, Panel, Point, Spec, Style, at_both_widths, quantitative
from tlstax.topics.core.columns import Column
from tlstax.topics.core.figures import TIMES
from tlstax.topics.core.section import Charts, OnPage, Section
from tlstax.topics.core.table import Number, Table
from tlstax.topics.core.topic import Run, Topic
from tlstax.topics.drivers import defaults, splits
from tlstax.topics.drivers.defaults import TRIALS

WARM_UP, SLICE = "warm-up", "warm-up slice"
"""Roles of rows."""

STEADY_TRIALS, STEADY_AFTER, TIMES_SLOWER = "steady_trials", "steady_after_s", "cold_times_slower"
ELAPSED = "elapsed_s"

WARM_UP_COLUMNS = (
    Column(STEADY_TRIALS, "INTEGER", "in how many of them the driver's CPU per operation no longer fell"),
    Column(STEADY_AFTER, "REAL", "how long a driver took to become steady, the median over those", "s"),
    Column(TIMES_SLOWER, "REAL", "how much slower a cold driver is than a warm one, the median", "1"),
    Column(ELAPSED, "REAL", "how long a driver had warmed up when this slice ended", "s"),
)

LAST_SLICES = 5
"""The slices that show a warm client: those that the rule for being steady looks at last."""

MOST_LINES = len(palette.LEVELS)
"""More lines than colours cannot be told apart."""

HEIGHT = 240


def rows(run: Run) -> Iterator[Row]:
    """What drivers did by default, what each part of an upgrade costs, how they warmed up."""
    observations = defaults.observed(run.stored.measured)
    yield from defaults.rows(run.series, observations)
    yield from splits.rows(run.series, observations)
    yield from warmups(run.study, run.stored.measured)


def sentences(run: Run, shown: Sequence[Row]) -> Iterator[str]:
    """What each upgrade is made of, what drivers do without TLS options, then what else costs what."""
    own = splits.splits_of(shown)
    yield from (splits.sentence(split, run.study) for split in own if split.together is not None)
    yield from defaults.sentences(shown, run.study)
    yield from (splits.sentence(split, run.study) for split in own if split.together is None)


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """A table of each kind for which there is something; on the page warm-ups are drawn too."""
    blocks = [*defaults.tables(told)]
    if own := splits.splits_of(told.rows):
        blocks.append(splits.table(own, document.design))
    if warm := told.of(role=WARM_UP):
        blocks += [_table(warm), OnPage(lambda: _chart(told))]
    yield Section(tuple(blocks), told.title)


def warmups(study: Study, records: Iterable[TrialRecord]) -> Iterator[Row]:
    """Every case (controls left out) whose valid trials reported their warm-up, in the plan's order.

    Medians over trials of the driver's CPU per operation: in the first slice (the value) and in the middle of
    the last five (`baseline_value`), and slice by slice, as long as half of the trials still warmed up.
    """
    trials: dict[str, list[Ready]] = {}
    for record in records:
        ready = record.ready
        if record.verdict.value == "valid" and ready and _us_per_op(ready):
            trials.setdefault(record.trial.case.key(), []).append(ready)
    for case in cases(study):
        if case.role != "control" and case.key() in trials:
            yield from _warmup(case, trials[case.key()], study)


def _warmup(case: Case, trials: Sequence[Ready], study: Study) -> Iterator[Row]:
    steady = [ready.warmup[-1].elapsed_s for ready in trials if ready.steady]
    curves = [_us_per_op(ready) for ready in trials]
    cold = [curve[0][1] for curve in curves]
    warm = [median(us for _, us in curve[-LAST_SLICES:]) for curve in curves]
    common: dict[str, Any] = {"unit": "us", "label": _named(case, study), "case": dict(case.levels)}
    yield Row(
        **common,
        role=WARM_UP,
        outcome="cold_us_per_op",
        value=median(cold),
        baseline_value=median(warm),
        more={
            TRIALS: len(trials),
            STEADY_TRIALS: len(steady),
            STEADY_AFTER: median(steady) if steady else None,
            TIMES_SLOWER: median(first / last for first, last in zip(cold, warm, strict=True)),
        },
    )
    for place in range(max(map(len, curves))):
        slices = [curve[place] for curve in curves if place < len(curve)]
        if 2 * len(slices) >= len(curves):
            yield Row(
                **common,
                role=SLICE,
                outcome="client_cpu_us_per_op",
                value=median(us for _, us in slices),
                more={ELAPSED: median(elapsed_s for elapsed_s, _ in slices), TRIALS: len(slices)},
            )


def _named(case: Case, study: Study) -> str:
    """The case with its driver, by which cases need not be called where clients stand beside one another."""
    driver, words = driver_words(case.levels, study), driver_label(case, study)
    return words if driver in words else f"{driver}, {words}"


def _us_per_op(ready: Ready) -> list[tuple[float, float]]:
    """When each slice ended, and what an operation took in it; slices without any are left out."""
    return [
        (slice_.elapsed_s, slice_.cpu_us / slice_.operations)
        for slice_ in ready.warmup
        if slice_.operations and slice_.cpu_us
    ]


def restless(study: Study, shown: Iterable[Row]) -> Iterator[str]:
    """A caveat for each case of which some trial was measured before it was steady."""
    for row in shown:
        trials, steady = row.number(TRIALS), row.number(STEADY_TRIALS)
        if row.role == WARM_UP and trials is not None and steady is not None and steady < trials:
            name = full_label(Case(levels=row.case, role="treatment"), study)
            yield (
                f"{name}: in {trials - steady:.0f} of {counted(round(trials), 'trial')} the driver was "
                "measured before it was steady: its CPU per operation was still falling when the time for "
                "warming up was over"
            )


def _table(of_cases: Sequence[Row]) -> Table:
    """How long each took, and how much slower it was before."""
    return Table(
        title="How drivers warmed up",
        heads=("cold", "warm", "times\nslower", "steady\nafter", "steady"),
        rows=[
            (
                row.label,
                *(figures.quantity(us or 0.0, "us") for us in (row.value, row.baseline_value)),
                Number(row.number(TIMES_SLOWER), said=lambda times: f"{times:.1f}{TIMES}"),
                Number(row.number(STEADY_AFTER), said="{:.1f} s".format),
                f"{row.word(STEADY_TRIALS)} of {row.word(TRIALS)}",
            )
            for row in of_cases
        ],
        notes=(
            "The driver's own CPU time per operation before it was measured, in its first slice of a tenth "
            "of a second and in its last five: medians over trials. Steady: trials in which it fell no more.",
        ),
        of="driver",
    )


def _chart(told: Told) -> Iterator[Charts]:
    """A line for each driver with two points at least; nothing where there is nothing to draw.

    With more than can be told apart, the first ones are drawn; the table has all.
    """
    by_case = grouped(told.of(role=SLICE), lambda row: row.case)
    drawable = [row for row in told.of(role=WARM_UP) if len(by_case[row.case]) > 1]
    drawn = drawable[:MOST_LINES]
    if not drawn:
        return
    lines = []
    for place, row in enumerate(drawn):
        points = [
            Point(
                own.number(ELAPSED) or 0.0,
                own.value or 0.0,
                f"{row.label}, after {own.number(ELAPSED) or 0.0:.1f} s: "
                f"{figures.quantity(own.value or 0.0, 'us')} "
                f"({counted(round(own.number(TRIALS) or 0), 'trial')})",
            )
            for own in by_case[row.case]
        ]
        style = Style(row.label, palette.level_ink(place).light, palette.level_shape(place))
        lines.append(Line(style, tuple(points)))
    said = "; ".join(
        f"{row.label}: from {figures.quantity(row.value or 0.0, 'us')} to "
        f"{figures.quantity(row.baseline_value or 0.0, 'us')}"
        for row in drawn
    )
    words = f"CPU per operation over the warm-up. {said}"
    left = len(drawable) - len(drawn)
    more = f" {left} more are in the table." if left else ""
    reading = f"The driver\N{RIGHT SINGLE QUOTATION MARK}s own, in slices of a tenth of a second.{more}"
    drawings = at_both_widths(words, lambda width: _drawn(lines, width))
    yield Charts(
        (Panel("CPU per operation before measuring", reading, drawings),),
        styles=tuple(line.style for line in lines),
    )


def _drawn(lines: Sequence[Line], width: int) -> Spec:
    values = parts.points_of(lines)
    x = quantitative(
        "x",
        {"domain": [0, max(value["x"] for value in values)]},
        labelExpr="format(datum.value, '~g') + ' s'",
        tickCount=5,
    )
    y = quantitative(
        "y",
        {"type": "log"},
        values=parts.duration_ticks_us([value["y"] for value in values]),
        labelExpr=parts.DURATION_LABEL,
    )
    return parts.finished(parts.lines_and_dots(values, x, y, size=22), width, HEIGHT)


TOPIC = Topic(
    "drivers",
    "Drivers",
    rows,
    sections,
    sentences,
    (*defaults.COLUMNS, *splits.COLUMNS, *WARM_UP_COLUMNS),
)
