"""Whose locks a case takes more, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from tlstax.findings.core.wording import capitalised
from tlstax.report.locks.section import UNNAMED
from tlstax.results.locks import LockExplanation
from tlstax.topics.core import figures
from tlstax.topics.core.printed import grid, printed, styled

NARROWEST, SHOWN = 60, 20


def lock_text(found: LockExplanation, *, width: int = 80, colour: bool = False) -> str:
    """The text, at most `width` columns wide (from 60 on)."""
    return printed(_parts(found), width=max(width, NARROWEST), colour=colour)


def _parts(found: LockExplanation) -> Iterable[RenderableType]:
    yield styled(f"{capitalised(found.sentence)}.", style="bold")
    yield styled(f"{found.labels[0]} against {found.labels[1]}, run {found.run}", style="dim")
    yield ""
    table = grid()
    table.add_column(overflow="fold")
    for _ in range(4):
        table.add_column(justify="right", no_wrap=True)
    heads = ("", "a call that", "more", "here", "baseline")
    table.add_row(*(styled(head, style="bold") for head in heads))
    for change in found.changes[:SHOWN]:
        name = f"{change.library}: {change.function or UNNAMED}"
        more = figures.significant(change.per_op - change.baseline_per_op)
        cells = (change.kind, more, _figure(change.per_op), _figure(change.baseline_per_op))
        table.add_row(styled(name), *map(styled, cells))
    yield table if found.changes else Text("No function takes more or fewer.")
    left = len(found.changes) - SHOWN
    if left > 0:
        yield styled(f"{left} more functions; --json has all of them.", style="dim")


def _figure(per_op: float) -> str:
    return figures.NOTHING if not per_op else f"{per_op:.2f}"
