"""What a study would do, in words for a person: short for a big study, case by case where asked for."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator

from tlstax.cli.progress import time_left
from tlstax.plan.budget import no_room, what_fits
from tlstax.plan.order import Plan
from tlstax.stats.wording import capitalised
from tlstax.study import Level, Study, listed
from tlstax.study.labels import full_label, group_label, label_levels
from tlstax.support.text import counted

FEW_CASES = 30
"""How many cases are listed without being asked for."""


def plan_words(planned: Plan, study: Study, *, every_case: bool, width: int) -> str:
    """The plan as lines no wider than `width`."""
    paragraphs = [_question(study), *_factors(study), *_cases(planned, study, every_case=every_case)]
    paragraphs += [
        *_left_out(planned, study, every_case=every_case),
        *_servers(planned),
        _time(planned, study),
    ]
    lines = (textwrap.fill(text, width, subsequent_indent=_indent(text)) for text in paragraphs)
    return "\n".join(lines) + "\n"


def _indent(text: str) -> str:
    return " " * (len(text) - len(text.lstrip()) + 2)


def _question(study: Study) -> str:
    return f"{study.name}: {study.question}"


def _factors(study: Study) -> Iterator[str]:
    """The factors with their levels; those that are bundled, bundle by bundle."""
    bundled = set(study.treatments[0]) if study.treatments else set()
    for name, levels in study.levels_of().items():
        if name not in bundled:
            yield f"  {name}: {listed(levels)}"
    if study.treatments:
        bundles = "; ".join(_bundle(treatment) for treatment in study.treatments)
        yield f"  {' + '.join(study.treatments[0])}: {bundles}"
    yield f"  compared with: {_bundle(study.baseline)}"


def _bundle(levels: dict[str, Level]) -> str:
    if set(levels) <= {"tls", "resumption"}:
        return label_levels(levels)
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def _cases(planned: Plan, study: Study, *, every_case: bool) -> Iterator[str]:
    roles = Counter(case.role for case in planned.cases)
    yield (
        f"{counted(len(planned.cases), 'case')}, each once in a block, in random order: "
        f"{counted(roles['baseline'], 'baseline')}, {counted(roles['control'], 'control')}, "
        f"{counted(roles['treatment'], 'treatment')}"
    )
    if planned.counted:
        yield f"First {counted(planned.counted, 'trial')} on servers whose locks are counted."
    if planned.captured:
        yield f"First {counted(planned.captured, 'case')} once through a tap: what crosses the wire."
    if study.profile:
        yield "Each is run once more in a block, sampled by perf: where its CPU time goes."
    if every_case or len(planned.cases) <= FEW_CASES:
        for case in planned.cases:
            yield f"  {full_label(case, study)}"
    else:
        yield "  (--cases lists them)"


def _left_out(planned: Plan, study: Study, *, every_case: bool) -> Iterator[str]:
    reasons = Counter(excluded.why for excluded in planned.excluded)
    if reasons and not every_case and len(planned.excluded) > FEW_CASES:
        yield f"{counted(len(planned.excluded), 'case')} left out:"
        for why, count in reasons.items():
            yield f"  {count}: {why}"
        return
    for excluded in planned.excluded:
        levels = excluded.case
        name = ", ".join(filter(None, (label_levels(levels, study), group_label(levels, study))))
        yield f"  left out: {name}: {excluded.why}"


def _servers(planned: Plan) -> Iterator[str]:
    if len(planned.servers) > 1:
        yield f"{counted(len(planned.servers), 'server')}, started once, paused while others are measured:"
        for server in planned.servers:
            yield f"  {server}"
    if planned.specimens:
        yield f"Specimens, fetched first where they are not there: {', '.join(planned.specimens)}"


def _time(planned: Plan, study: Study) -> str:
    per_block = planned.trials // planned.blocks
    if message := no_room(study, planned.block_s):
        fits = " or ".join(what_fits(study))
        return (
            f"{capitalised(message)}. `study run` refuses that without --over-budget"
            f"{f'; it fits with {fits}' if fits else ''}."
        )
    return (
        f"A block of {counted(per_block, 'trial')} of {planned.trial_duration_s:g} s and more takes "
        f"about {time_left(planned.block_s)}. At most {counted(planned.blocks, 'block')}, "
        f"{counted(planned.trials, 'trial')}"
        f"{f' ({planned.profiled} of them profiled)' if planned.profiled else ''}, about "
        f"{time_left(planned.estimated_s)} with the start of the servers; fewer if every ratio is known "
        f"to ±{study.precision:.1%}."
    )
