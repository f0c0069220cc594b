"""Runs of which only what topics are computed from is there: a series of exact numbers, and a header."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.document import RunDocument
from tlstax.results.explanation import Explanation
from tlstax.results.rows import Told
from tlstax.stats.series import Series
from tlstax.topics.core.section import Block, Section, opened
from tlstax.topics.core.topic import Run, Topic
from tlstax.topics.explain import explanation


def run_of(series: Series, measured: Sequence[TrialRecord] = (), **header: Any) -> Run:
    """A run with this series and these trials; its header has the series' study and what else is named."""
    known = SimpleNamespace(
        header=SimpleNamespace(**{"study": series.study, "trust": None, **header}),
        measured=measured,
        valid=tuple(record for record in measured if record.is_valid),
    )
    run = Run(known)  # type: ignore[arg-type]
    run.__dict__["series"] = series
    return run


def explained(stored: StoredRun) -> tuple[Explanation, ...]:
    """The explanation of each case of a run, in the plan's order."""
    found = explanation.rows(Run(stored))
    return explanation.explanations(found, stored.header.study, stored.header.run)


def removals(found: Explanation) -> tuple[float | None, float | None]:
    """What taking the culprit out is predicted to give, and what it gave."""
    known = {row.role: row.interval.point for row in found.rows if row.interval is not None}
    return known.get("removal predicted"), known.get("removal measured")


def shown(topic: Topic, told: Told, series: Series) -> tuple[Section, ...]:
    """The topic's sections, as formats ask for them."""
    return tuple(topic.sections(told, RunDocument.model_construct(design=series.study)))


def blocks_of(section: Section, *, roomy: bool) -> list[Block]:
    """The blocks that a format has, one with room (Markdown) or without (a terminal)."""
    return list(opened(section.blocks, roomy=roomy))
