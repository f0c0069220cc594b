"""Flame graphs: what each is drawn of, as folded lines with CPU time per operation. Drawing is another's.

A graph is drawn by whoever runs a program (`tlstax.cli.flames_command`); what reports is given a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tlstax.plan.order import baseline_of, cases
from tlstax.records.profiles.stacks import Side
from tlstax.records.trial import StoredRun
from tlstax.stats.contrasts import group_counterpart
from tlstax.stats.stack_costs import Stacks, mean_costs, stack_costs
from tlstax.study import Case, Study
from tlstax.study.labels import full_label, group_label, label
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted
from tlstax.support.untrusted import printable
from tlstax.topics.core import figures

NS_PER_US = 1000
COUNT_NAME = "ns per operation"


@dataclass(frozen=True)
class FlameGraph:
    """What one graph is drawn of: a case by itself, or the difference from another case to it.

    `lines` are folded stacks, each with its cost in nanoseconds per operation: of the case, or of the other
    case and then of this one (the columns of difffolded.pl and inferno-diff-folded). Means over `blocks`.
    """

    title: str
    subtitle: str
    lines: tuple[str, ...]
    differential: bool
    cost_us: float
    blocks: int

    def text(self) -> str:
        """The folded stacks as a file."""
        return "".join(f"{line}\n" for line in self.lines)


LONGEST_TITLE = 110
"""The letters of a title that fit into a picture; of a longer one, what both cases share is told below it."""

Draw = Callable[[FlameGraph], str]
"""Draws a graph: its SVG, as text. Raises MachineFault."""


def flame_graph(stored: StoredRun, case: Case, side: Side, against: Case | None = None) -> FlameGraph | None:
    """The graph of a case, or of what it costs more or less than another; None where it cannot be had.

    Both cases of a difference are taken from the blocks in which both were sampled.
    """
    found = [stack_costs(stored, which, side) for which in (case, against) if which is not None]
    blocks = set.intersection(*(set(costs) for costs in found))
    if not blocks:
        return None
    after, *before = (mean_costs(costs[block] for block in sorted(blocks)) for costs in found)
    lines = _lines(after, before[0] if before else None)
    if not lines:
        return None
    used = [
        [
            record.profile
            for record in stored.profiled
            if record.trial.case == which and record.trial.block in blocks and record.profile is not None
        ]
        for which in (case, against)
        if which is not None
    ]
    sampled = ([profile.side(side) for profile in profiles] for profiles in used)
    samples = " and ".join(f"{sum(s.samples for s in found if s is not None):,}" for found in sampled)
    seen = f"{samples} samples in {counted(len(blocks), 'block')}"
    costs = [figures.quantity(sum(stacks.values()), "us") for stacks in (after, *before)]
    time = "CPU time" if all(profile.kernel for profiles in used for profile in profiles) else "user CPU time"
    title = f"{side.capitalize()}: {graph_label(stored.header.study, case, against)}"
    subtitle = f"{' instead of '.join(costs)} of {time} per operation; {seen}"
    group = group_label(case.levels, stored.header.study)
    if len(title) > LONGEST_TITLE and group and title.endswith(f", {group}"):
        title, subtitle = title.removesuffix(f", {group}"), f"{group}: {subtitle}"
    return FlameGraph(
        title=printable(title),
        subtitle=printable(subtitle),
        lines=lines,
        differential=against is not None,
        cost_us=sum(after.values()),
        blocks=len(blocks),
    )


def graph_label(study: Study, case: Case, against: Case | None) -> str:
    """What a graph shows, in words: "TLS 1.3 against plaintext, reconnecting for every point select"."""
    if against is None:
        return full_label(case, study)
    if study.group_of(case.levels) != study.group_of(against.levels):
        return f"{full_label(case, study)}, against {full_label(against, study)}"
    group = group_label(case.levels, study)
    both = f"{label(case, study)} against {label(against, study)}"
    return f"{both}, {group}" if group else both


def costliest(stored: StoredRun, side: Side) -> Case:
    """The treatment that costs most beyond its baseline, per operation on that side.

    Where a study has no treatments it is a baseline beside that of another group. Raises UserMistake where no
    two were sampled together.
    """
    study = stored.header.study
    every = cases(study)
    treatments = {case.key(): case for case in every if case.role == "treatment"}
    treatments = treatments or {case.key(): case for case in every if case.role == "baseline"}
    extra: dict[str, float] = {}
    for key, case in treatments.items():
        compared = (case, compared_with(case, every, study))
        if compared[0] == compared[1]:
            continue
        own, baseline = (flame_graph(stored, which, side) for which in compared)
        if own is not None and baseline is not None:
            extra[key] = own.cost_us - baseline.cost_us
    if not extra:
        raise UserMistake(why_none(stored, side), remedy="see `tlstax report` for what became of its trials")
    return treatments[max(extra, key=extra.__getitem__)]


def compared_with(case: Case, every: Sequence[Case], study: Study) -> Case:
    """The case that another is drawn against: its baseline; of a group's baseline, that of another group."""
    found = group_counterpart if case.role == "baseline" else baseline_of
    return found(case, every, study)


def why_none(stored: StoredRun, side: Side, *wanted: Case) -> str:
    """Why there is no graph of that side."""
    study, run = stored.header.study, stored.header.run
    if not stored.profiled:
        return f"run {run} was not profiled"
    profiles = [record.profile for record in stored.profiled if record.profile is not None]
    if profiles and all(profile.side(side) is None for profile in profiles):
        return f"the {side}'s process was out of reach in run {run}, so it was not sampled"
    named = " and ".join(full_label(case, study) for case in wanted) or "a treatment and its baseline"
    return f"no block of run {run} has valid samples of {named} on the {side}'s side"


def _lines(after: Stacks, before: Stacks | None) -> tuple[str, ...]:
    """Folded stacks in their order; a stack that rounds to nothing is left out."""
    columns = (after,) if before is None else (before, after)
    rows: dict[str, list[int]] = {}
    for place, stacks in enumerate(columns):
        for stack, us in stacks.items():
            row = rows.setdefault(printable(stack), [0] * len(columns))
            row[place] += round(us * NS_PER_US)
    return tuple(f"{stack} {' '.join(map(str, row))}" for stack, row in sorted(rows.items()) if any(row))
