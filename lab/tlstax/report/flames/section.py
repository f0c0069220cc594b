"""Which flame graphs the page has: treatments against their baselines, then each case by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tlstax.findings.core.outcomes import is_large
from tlstax.plan.order import cases
from tlstax.profiles.stacks import SIDES, Side
from tlstax.records.trial import StoredRun
from tlstax.report.flames.frame import Framed, framed
from tlstax.report.flames.graphs import Draw, baseline_of, capital, flame_graph, why_none
from tlstax.study import Case, Study
from tlstax.study.labels import group_label, label
from tlstax.support.errors import MachineFault
from tlstax.topics.answer.case_choice import choice_text

MOST_BYTES = 4_000_000
"""So much of the page may be flame graphs; what is left out is said, with the command that draws it."""


@dataclass(frozen=True)
class Shown:
    """One graph of the page: what it is called, what it rests on, its frame."""

    name: str
    group: str
    reading: str
    differential: bool
    frame: Framed


@dataclass(frozen=True)
class FlameGroup:
    """The graphs of the cases that are compared with one baseline."""

    title: str
    differences: tuple[Shown, ...]
    alone: tuple[Shown, ...]


@dataclass(frozen=True)
class FlameSection:
    """All graphs of the page; `command` draws any other pair, `fault` is why some, or all, are missing."""

    groups: tuple[FlameGroup, ...]
    command: str
    left_out: int
    fault: str

    @property
    def policy(self) -> str:
        """What the page's policy allows to run in the frames, and so at all: scripts with these hashes."""
        frames = (shown.frame for group in self.groups for shown in (*group.differences, *group.alone))
        return " ".join(sorted({frame.policy for frame in frames}))


@dataclass
class _Budget:
    """What was drawn so far, and whether there was room for it all."""

    shown: list[Shown] = field(default_factory=list)
    left_out: int = 0
    bytes: int = 0
    fault: str = ""


def flame_section(stored: StoredRun, draw: Draw | None) -> FlameSection | None:
    """The page's flame graphs; None where nothing was sampled, or nobody can draw.

    A study of very many groups shows treatments against their baselines alone.
    """
    if draw is None or not stored.profiled:
        return None
    study = stored.header.study
    budget = _Budget()
    for case, against, side in _wanted(study):
        _add(budget, stored, draw, case, against, side)
    groups = {shown.group: None for shown in budget.shown}
    return FlameSection(
        groups=tuple(_group(title, budget.shown) for title in groups),
        command=_command(stored),
        left_out=budget.left_out,
        fault=budget.fault or ("" if budget.shown else why_none(stored, SIDES[0])),
    )


def _wanted(study: Study) -> Iterator[tuple[Case, Case | None, Side]]:
    """What is to be drawn, the most telling first: what there is no room for is at the end."""
    every = [case for case in cases(study) if case.role != "control"]
    for side in SIDES:
        for case in every:
            if case.role == "treatment":
                yield case, baseline_of(study, case), side
    for side in () if is_large(study) else SIDES:
        for case in every:
            yield case, None, side


def _add(  # noqa: PLR0913, PLR0917 (a graph is named by three of them)
    budget: _Budget, stored: StoredRun, draw: Draw, case: Case, against: Case | None, side: Side
) -> None:
    if budget.fault:
        return
    graph = flame_graph(stored, case, side, against)
    if graph is None:
        return
    if budget.bytes > MOST_BYTES:
        budget.left_out += 1
        return
    try:
        frame = framed(draw(replace(graph, title="", subtitle="")))
    except MachineFault as fault:
        budget.fault = fault.sentence()
        return
    budget.bytes += len(frame.document)
    study = stored.header.study
    versus = f" against {label(against, study)}" if against is not None else ""
    budget.shown.append(
        Shown(
            name=f"{capital(side)}: {label(case, study)}{versus}",
            group=group_label(case.levels, study),
            reading=graph.subtitle,
            differential=graph.differential,
            frame=frame,
        )
    )


def _group(title: str, every: list[Shown]) -> FlameGroup:
    own = [shown for shown in every if shown.group == title]
    return FlameGroup(
        title=title,
        differences=tuple(shown for shown in own if shown.differential),
        alone=tuple(shown for shown in own if not shown.differential),
    )


def _command(stored: StoredRun) -> str:
    """How any two cases are drawn: the first and the last treatment, which the page does not compare."""
    study = stored.header.study
    treatments = [case for case in cases(study) if case.role == "treatment"] or list(cases(study))
    case, against = (choice_text(found, study) for found in (treatments[-1], treatments[0]))
    options = f"--case {case}" + (f" --against {against}" if against != case else "")
    return f"tlstax flames {stored.header.run} {options} --side server -o flames.svg"
