"""Storms as rows of text: connections a second as they are published, and the ratio beside it."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.results.connect import JudgedRatio, StormResult
from tlstax.results.document import (
    RunDocument,
)
from tlstax.topics.core import figures
from tlstax.topics.core.lines import MOST_ROWS, Line, Lines
from tlstax.topics.core.table import Table

TITLE = "Storms: connections opened a second"
READING = (
    "Mean and standard deviation (SD) are over all rounds of all valid trials, as such figures are "
    "published. What can be told of a difference is in the ratio: it is taken block by block, between trials."
)


def short_storm_tables(document: RunDocument) -> Iterator[Table]:
    """As they are shown beside other results."""
    for lines in storm_lines(document):
        yield from lines.by_group(MOST_ROWS)


def storm_lines(document: RunDocument) -> Iterator[Lines]:
    """A line for each storm; nothing where the run has none."""
    if not document.storms:
        return
    published = any(storm.published for storm in document.storms)
    sources = sorted({rate.source for storm in document.storms for rate in storm.published})
    yield Lines(
        title=TITLE,
        heads=("mean", "SD", "rounds", "against the baseline", *(("published",) if published else ())),
        lines=tuple(
            Line(storm.group, storm.label, _cells(storm, published=published)) for storm in document.storms
        ),
        notes=(READING, *((f"Published in {' and '.join(sources)}.",) if sources else ())),
    )


def _cells(storm: StormResult, *, published: bool) -> tuple[str, ...]:
    return (
        figures.significant(storm.mean_per_s),
        figures.NOTHING if storm.sd_per_s is None else figures.significant(storm.sd_per_s),
        f"{storm.rounds:,}",
        _against(storm.against_baseline),
        *((_published(storm),) if published else ()),
    )


def _against(found: JudgedRatio | None) -> str:
    if found is None:
        return ""
    return f"{figures.change_with_interval(found)} {figures.mark(found.judgement)}".strip()


def _published(storm: StormResult) -> str:
    return ", ".join(figures.significant(rate.value) for rate in storm.published) or figures.NOTHING
