"""Runs of which only what topics are computed from is there: a series of exact numbers, and a header."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tlstax.findings.core.series import Series
from tlstax.results.document import RunDocument
from tlstax.results.rows import Told
from tlstax.topics.core.section import Block, OnPage, Roomy, Section
from tlstax.topics.core.topic import Run, Topic


def run_of(series: Series, **header: Any) -> Run:
    """A run with this series; its header has the series' study and what else is named."""
    known = SimpleNamespace(header=SimpleNamespace(**{"study": series.study, "trust": None, **header}))
    run = Run(known)  # type: ignore[arg-type]
    run.__dict__["series"] = series
    return run


def shown(topic: Topic, told: Told, series: Series) -> tuple[Section, ...]:
    """The topic's sections, as formats ask for them."""
    return tuple(topic.sections(told, RunDocument.model_construct(design=series.study)))


def blocks_of(section: Section, *, roomy: bool) -> list[Block]:
    """The blocks that a format has, one with room (Markdown) or without (a terminal)."""
    blocks: list[Block] = []
    left = list(section.blocks)
    while left:
        block = left.pop(0)
        if isinstance(block, Roomy) and roomy:
            left[:0] = block.blocks
        elif isinstance(block, Roomy | OnPage):
            left[:0] = block.otherwise
        else:
            blocks.append(block)
    return blocks
