"""Connections a second in storms: mean and standard deviation over rounds, and the ratio over blocks.

Others publish the mean and the standard deviation of their runs, so both are reported that way: every round
of every valid trial is a run. What may be concluded rests on the ratio to the baseline, block by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean, stdev

from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, RowSet, Told, by_case
from tlstax.stats.contrasts import judge
from tlstax.stats.estimates import Estimate
from tlstax.stats.outcomes import storm_rates
from tlstax.study import within
from tlstax.study.labels import finding_levels, group_label, label
from tlstax.study.level_names import STORM
from tlstax.topics.core import columns, figures
from tlstax.topics.core.columns import GROUP, TRIALS, Column
from tlstax.topics.core.section import Section, tabulated
from tlstax.topics.core.table import MOST_ROWS, Columns, Lines, Number
from tlstax.topics.core.topic import Run, Topic

RATE = "connections_per_s"
_RATES = frozenset({RATE, "ops_per_s"})
"""Outcomes that a published figure of a storm may name: of a storm they are nearly the same."""

OF_STORM, PUBLISHED = "storm", "published storm"
READING = (
    "Mean and standard deviation (SD) are over all rounds of all valid trials, as such figures are "
    "published. What can be told of a difference is in the ratio: it is taken block by block, between trials."
)


def rows(run: Run) -> Iterator[Row]:
    """A row for each case of the run that is a storm and has a valid trial, in the study's order.

    The value is the arithmetic mean over all rounds, `sd_per_s` their standard deviation (of a sample; None
    with one round alone); the ratio is to the baseline, over blocks. Published rates that the case stands in
    for have a row each behind it.
    """
    for estimate in run.estimates:
        if estimate.outcome == RATE and estimate.comparison.case.levels.workload == STORM:
            yield from _storm(estimate, run)


def _storm(estimate: Estimate, run: Run) -> Iterator[Row]:
    case, study = estimate.comparison.case, run.study
    done = [
        record.done for record in run.stored.valid if record.trial.case == case and record.done is not None
    ]
    rates = [rate for one in done for rate in storm_rates(one)]
    if not rates:
        return
    is_baseline = case.role == "baseline"
    ratio = None if is_baseline else estimate.ratio
    judgement = "" if ratio is None else judge(ratio, estimate.noise_floor, study.alike_within)
    of_case = {GROUP.name: group_label(case.levels, study)}
    storm = Row(
        role=OF_STORM,
        outcome=RATE,
        unit="1/s",
        label=label(case, study),
        case=finding_levels(case),
        baseline={} if ratio is None else estimate.comparison.baseline.levels,
        value=fmean(rates),
        interval=ratio,
        of="ratio",
        blocks=len(done) if ratio is None else ratio.blocks,
        noise_floor=None if ratio is None else estimate.noise_floor,
        judgement="baseline" if is_baseline else judgement,
        more={
            **of_case,
            TRIALS.name: len(done),
            "rounds": len(rates),
            "sd_per_s": stdev(rates) if len(rates) > 1 else None,
        },
    )
    yield storm
    for figure in study.published if case.role != "control" else ():
        if figure.outcome in _RATES and figure.beside and within(case.levels, figure.beside):
            yield Row(
                role=PUBLISHED,
                outcome=RATE,
                unit="1/s",
                label=figure.label,
                case=storm.case,
                value=figure.value,
                more={**of_case, "source": figure.source},
            )


def sections(told: Told, _: RunDocument) -> Iterator[Section]:
    """A line for each storm; what others published beside it."""
    published = told.of(role=PUBLISHED)
    sources = sorted({row.word("source") for row in published})
    columns_shown: Columns = (
        ("mean", lambda case: Number(case.rows[0].value)),
        ("SD", lambda case: Number(case.rows[0].number("sd_per_s"))),
        ("rounds", lambda case: f"{case.rows[0].more['rounds']:,}"),
        ("against the baseline", lambda case: _against(case.rows[0])),
        *((("published", _published),) if published else ()),
    )
    notes = (READING, *((f"Published in {' and '.join(sources)}.",) if sources else ()))
    lines = Lines.of(TOPIC.title, columns_shown, by_case(told.rows), *notes)
    yield Section((tabulated(lines, MOST_ROWS),), TOPIC.title)


def _published(case: RowSet) -> str:
    others = (figures.significant(row.amount) for row in case.rows if row.role == PUBLISHED)
    return ", ".join(others) or figures.NOTHING


def _against(storm: Row) -> str:
    if storm.interval is None:
        return ""
    return f"{figures.change_with_interval(storm.interval)} {figures.mark(storm.judgement)}".strip()


COLUMNS = (
    GROUP,
    TRIALS,
    Column("rounds", "INTEGER", "how many rounds the mean is over"),
    Column("sd_per_s", "REAL", "the standard deviation over these rounds", "connections a second"),
    columns.SOURCE,
)

TOPIC = Topic("storms", "Storms: connections opened a second", rows, sections, columns=COLUMNS)
