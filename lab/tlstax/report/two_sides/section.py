"""B beside A, as a section: a table for each group of cases, and what nothing changes below it."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.wording import percent
from tlstax.findings.two_sides.words import side_words, twin_label
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.two_sides import SideEffect
from tlstax.study import Sides, Study
from tlstax.support.grouping import grouped
from tlstax.topics.core import figures, outcome_names
from tlstax.topics.core.section import Block, Detail, Pairs, Section, Words
from tlstax.topics.core.table import Table

TITLE = "B beside A"
AGAIN = "A’s first process beside itself"
READING = (
    "In brackets is the {confidence} interval over blocks{processes}. {twins}"
    "What differs beside itself{or_twins} was changed by nothing."
)
WITH_TWINS = "Each side is the mean of two processes, which share all but the luck of a process. "


def sections(document: RunDocument, _: Detail) -> Iterator[Section]:
    """A table for each group of cases; nothing where no sides are set against each other."""
    found, sides = document.two_sides, document.design.sides
    if not found or sides is None:
        return
    a, b = side_words(document.design, sides)
    blocks: list[Block] = [Pairs("", (("A", a), ("B", b)))]
    blocks += [_table(own) for own in grouped(found, lambda one: one.label).values()]
    has_twins = bool(found[0].twins)
    reading = READING.format(
        confidence=percent(document.design.confidence),
        processes=_processes(document.design, sides, has_twins=has_twins),
        twins=WITH_TWINS if has_twins else "",
        or_twins=" or its twin" if has_twins else "",
    )
    yield Section((*blocks, Words(reading, aside=True)), TITLE)


def _processes(design: Study, sides: Sides, *, has_twins: bool) -> str:
    """Which servers have new processes in each block: an external one goes on as it is.

    Sides that are servers have twins, unless one is external.
    """
    if not design.new_processes:
        return ""
    has_external = "server" in sides.a and not has_twins
    return f", each with new processes of every {'private server' if has_external else 'server'}"


def _table(own: list[SideEffect]) -> Table:
    """A column for each outcome: both values, the change, and what nothing changes."""
    heads = tuple(outcome_names.title(effect.outcome) for effect in own)
    rows = [
        ("A", *(figures.quantity(effect.a, effect.unit) for effect in own)),
        ("B", *(figures.quantity(effect.b, effect.unit) for effect in own)),
        ("B beside A", *(_change(effect.change) for effect in own)),
    ]
    rows += [
        (twin_label(place), *(_change(effect.twins[place]) for effect in own))
        for place in range(len(own[0].twins))
    ]
    rows.append((AGAIN, *(_change(effect.control) for effect in own)))
    return Table(f"{own[0].label}, {own[0].change.blocks} blocks", heads, tuple(rows), (), of="side")


def _change(found: Interval | None) -> str:
    return figures.NOTHING if found is None else figures.change_with_interval(found)
