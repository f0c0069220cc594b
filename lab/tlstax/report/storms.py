"""Storms as rows of text: connections a second as they are published, and the ratio beside it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tlstax.connecting import StormInterval, StormResult
from tlstax.report import figures
from tlstax.report.overview_text import INDENT, TextTable
from tlstax.results import Ratio, RunDocument

TITLE = "Storms: connections opened a second"
READING = (
    "Mean and standard deviation (SD) are over all rounds of all valid trials, as such figures are "
    "published. What can be told of a difference is in the ratio: it is taken block by block, between trials."
)


def storm_table(document: RunDocument) -> TextTable | None:
    """A line for each storm; None where the run has none."""
    if not document.storms:
        return None
    published = any(storm.published for storm in document.storms)
    heads = ("mean", "SD", "rounds", "against the baseline", *(("published",) if published else ()))
    sources = sorted({rate.source for storm in document.storms for rate in storm.published})
    notes = (READING, *((f"Published in {' and '.join(sources)}.",) if sources else ()))
    rows = tuple(_rows(document.storms, published=published))
    return TextTable(title=TITLE, heads=heads, rows=rows, notes=notes)


def _rows(storms: Iterable[StormResult], *, published: bool) -> Iterator[tuple[str, ...]]:
    """A line with the group's name before the cases of each."""
    columns, last = 4 + published, ""
    for storm in storms:
        if storm.group != last:
            yield (storm.group, *[""] * columns)
        last = storm.group
        yield (
            f"{INDENT}{storm.label}",
            figures.significant(storm.mean_per_s),
            figures.NOTHING if storm.sd_per_s is None else figures.significant(storm.sd_per_s),
            f"{storm.rounds:,}",
            _against(storm.against_baseline),
            *((_published(storm),) if published else ()),
        )


def _against(found: StormInterval | None) -> str:
    if found is None:
        return ""
    ratio = Ratio(
        point=found.point, low=found.low, high=found.high, confidence=found.confidence, blocks=found.blocks
    )
    alike = f" {figures.ALIKE}" if found.judgement == "no difference seen" else ""
    return f"{figures.change_with_interval(ratio)}{alike}"


def _published(storm: StormResult) -> str:
    return ", ".join(figures.significant(rate.value) for rate in storm.published) or figures.NOTHING
