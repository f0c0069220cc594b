"""Several machines beside each other, as a section: where they differ, and each machine's own ratios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.core.outcomes import is_large
from tlstax.findings.core.wording import capitalised, percent
from tlstax.results.document import RunDocument
from tlstax.results.machines import MachineRatios, Machines
from tlstax.study.outcomes import OUTCOMES
from tlstax.topics.core import figures
from tlstax.topics.core.section import Detail, Items, Pairs, Section, Words
from tlstax.topics.core.table import Table

TITLE = "Each machine by itself"
ALIKE = "No difference between the machines was seen beyond chance."
INCONCLUSIVE = "Whether the machines differ beyond chance cannot be told yet: each needs more blocks."
READING = (
    "Ratios to the baselines over each machine's own blocks, with {confidence} intervals. All together is as "
    "in the rest of the report: {reading}. *: the machines differ beyond chance."
)
TOGETHER = "all together"


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Where machines differ, then what each shows: in a terminal of what decides alone, else a table each."""
    found = document.machines
    if found is None:
        return
    said = Items(tuple(map(capitalised, found.sentences))) if found.sentences else Words(_none_differ(found))
    if detail == "short":
        outcome = document.design.deciding_outcome
        shown = () if is_large(document.design) else tuple(_below_each_other(found, outcome))
        yield Section((said, *shown), TITLE)
        return
    note = READING.format(confidence=percent(document.design.confidence), reading=found.reading)
    yield Section((said, *_tables(found), Words(note, aside=True)), TITLE)


def _none_differ(found: Machines) -> str:
    return ALIKE if any(one.by_chance is not None for one in found.ratios) else INCONCLUSIVE


def _below_each_other(found: Machines, outcome: str) -> Iterator[Pairs]:
    for one in found.ratios:
        if one.outcome == outcome:
            rows = ((own.machine, figures.change_with_interval(own.ratio)) for own in one.own)
            together = (TOGETHER, figures.change_with_interval(one.ratio))
            yield Pairs(f"{capitalised(OUTCOMES[outcome].words)}, {one.label}", (*rows, together))


def _tables(found: Machines) -> Iterator[Table]:
    names = tuple(one.name for one in found.machines if one.blocks)
    for outcome in dict.fromkeys(one.outcome for one in found.ratios):
        rows = tuple(_row(one, names) for one in found.ratios if one.outcome == outcome)
        title = capitalised(OUTCOMES[outcome].words)
        yield Table(title, (TOGETHER, *names), rows, ())


def _row(found: MachineRatios, names: Sequence[str]) -> tuple[str, ...]:
    own = {one.machine: figures.change_with_interval(one.ratio) for one in found.own}
    label = f"{found.label} *" if found.differ else found.label
    return (
        label,
        figures.change_with_interval(found.ratio),
        *(own.get(name, figures.NOTHING) for name in names),
    )
