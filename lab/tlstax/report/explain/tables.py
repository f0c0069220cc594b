"""What each component costs in the cases of a group, side by side: for terminal, Markdown and page alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tlstax.findings.core.wording import capitalised, number, signed
from tlstax.findings.explain.words import ends
from tlstax.profiles.components import component_order
from tlstax.profiles.stacks import SIDES, Side
from tlstax.results.document import RunDocument
from tlstax.results.explanation import ComponentCost, Explanation
from tlstax.study import Level
from tlstax.study.labels import CONTROL_MARK, group_label, label_levels
from tlstax.support.grouping import grouped
from tlstax.topics.core.table import INDENT, Table

LEAST_PART = 0.005
"""A component that is nowhere this part of its side's cost is left out of the table."""

TITLE = "Where the CPU time of a {operation} goes"
NOTE = (
    "CPU time in µs per {operation}, shared out by samples; in brackets the difference to the baseline (with "
    "a planted fault: to the same case without it). What no rule knows is unattributed."
)
SHORT_NOTE = "CPU time in µs per {operation}, shared out by samples. What no rule knows is unattributed."


@dataclass(frozen=True)
class CaseCosts:
    """One case: its costs by side and component, and each one's difference where it is not the baseline."""

    label: str
    us: dict[tuple[Side, str], float]
    parts: dict[tuple[Side, str], ComponentCost]

    def total(self, side: Side) -> float:
        """All components of a side, what is unattributed among them."""
        return sum(us for (of, _), us in self.us.items() if of == side)

    def costs(self, side: Side, name: str, *, changes: bool, interval: bool) -> str:
        """A component's cost, and its difference with the interval: "31.2 (+12.0) [+10.9 … +13.1]"."""
        us, part = number(self.us.get((side, name), 0.0)), self.parts.get((side, name))
        if part is None or not changes:
            return us
        extra = part.extra_us_per_op
        return f"{us} ({signed(extra.point)}){f' {ends(extra)}' if interval else ''}".strip()


@dataclass(frozen=True)
class ComponentGroup:
    """The sampled cases of one group: the baseline first, then the others in the plan's order."""

    title: str
    operation: str
    cases: tuple[CaseCosts, ...]
    explanations: tuple[Explanation, ...]

    def sides(self) -> tuple[Side, ...]:
        """The sides of which anything is known."""
        return tuple(side for side in SIDES if any(case.total(side) for case in self.cases))

    def components(self, side: Side) -> tuple[str, ...]:
        """The components that are worth a row, in the order of the rules."""
        return tuple(
            name
            for name in component_order()
            if any(case.us.get((side, name), 0.0) >= LEAST_PART * case.total(side) > 0 for case in self.cases)
        )


def component_groups(document: RunDocument) -> tuple[ComponentGroup, ...]:
    """Every group of which a case is explained."""
    study = document.design
    groups = grouped(document.explanations, lambda found: tuple(study.group_of(_levels(found.case)).items()))
    return tuple(
        ComponentGroup(
            title=group_label(_levels(members[0].case), study),
            operation=members[0].operation,
            cases=tuple(_cases(members, document)),
            explanations=tuple(members),
        )
        for members in groups.values()
    )


def component_text(group: ComponentGroup, *, changes: bool = True, intervals: bool = False) -> Table:
    """The table of a group as rows of text; without `changes` a narrow one, of costs alone."""
    rows: list[tuple[str, ...]] = []
    for side in group.sides():
        totals = (f"{number(case.total(side))}" for case in group.cases)
        rows.append((f"{capitalised(side)}, all", *totals))
        for name in group.components(side):
            shown = (case.costs(side, name, changes=changes, interval=intervals) for case in group.cases)
            rows.append((f"{INDENT}{name}", *shown))
    title = TITLE.format(operation=group.operation)
    return Table(
        title=f"{title}: {group.title}" if group.title else title,
        heads=tuple(case.label if changes else _folded(case.label) for case in group.cases),
        rows=tuple(rows),
        notes=((NOTE if changes else SHORT_NOTE).format(operation=group.operation),),
    )


def _folded(label: str) -> str:
    """A label on several short lines."""
    return label.replace(", ", ",\n").replace(" again", "\nagain")


def _cases(members: list[Explanation], document: RunDocument) -> Iterator[CaseCosts]:
    """The group's baseline from what the others were held against, then the others."""
    study = document.design
    own = next((found for found in members if study.is_baseline(found.baseline)), None)
    if own is not None:
        costs = {(part.side, part.name): part.baseline_us_per_op for part in own.components}
        yield CaseCosts(label=label_levels(own.baseline, study), us=costs, parts={})
    for found in members:
        yield CaseCosts(
            label=label_levels(found.case, study),
            us={(part.side, part.name): part.us_per_op for part in found.components},
            parts={(part.side, part.name): part for part in found.components},
        )


def _levels(levels: dict[str, Level]) -> dict[str, Level]:
    return {name: level for name, level in levels.items() if name not in CONTROL_MARK}
