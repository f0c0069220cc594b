"""`tlstax flames` and `explain`: where the time goes, function by function, and the extra cost of a case."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shlex import quote

from tlstax.cli.streams import (
    check_writable,
    format_of_name,
    show,
    show_found,
    show_page,
    tell,
    write_text,
)
from tlstax.clients.engine import tool_command
from tlstax.plan.order import cases
from tlstax.records.profiles.stacks import SIDES, Side
from tlstax.records.trial import StoredRun
from tlstax.report.formats.terminal import printed_sections
from tlstax.results.explanation import Explanation
from tlstax.results.rows import ToldOfRun
from tlstax.stats.contrasts import group_counterpart
from tlstax.store import open_store
from tlstax.study import Case, Role, Study
from tlstax.study.labels import without_mark
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.plain_words import reason
from tlstax.topics import locks
from tlstax.topics.answer.case_choice import choice_text, chosen_case
from tlstax.topics.core.topic import Run
from tlstax.topics.explain.explanation import by_rank, explain, explanations, rows
from tlstax.topics.explain.sections import explanation_text
from tlstax.topics.flames import COUNT_NAME, FlameGraph, compared_with, costliest, flame_graph, why_none

BASELINE = "baseline"
BY_SUFFIX = {".svg": "picture", ".txt": "folded", ".folded": "folded"}
"""What is written by the name of its file; --folded overrules a picture's."""


def flames_command(
    run_name: str,
    case_text: str | None,
    against_text: str | None,
    side_name: str,
    *,
    folded: bool,
    output: Path | None,
) -> int:
    """Write a flame graph of a stored run, or its folded stacks; the exit status."""
    side = next((known for known in SIDES if known == side_name), None)
    if side is None:
        raise UserMistake(f"--side: {side_name!r} is not a side", remedy=f"choose one of {', '.join(SIDES)}")
    if output is None and not folded and sys.stdout.isatty():
        raise UserMistake("a picture cannot be shown here", remedy="name a file, such as -o flames.svg")
    if output is not None:
        check_writable(output)
        folded = folded or format_of_name(output, BY_SUFFIX, "picture", what="a flame graph") == "folded"
    with open_store() as store:
        stored = store.load(run_name)
    graph = _graph(stored, side, case_text, against_text)
    text = graph.text() if folded else draw(graph)
    if output is None:
        (show if folded else show_page)(text)
    else:
        write_text(output, text)
        tell(f"{graph.title}: {graph.subtitle}")
    return 0


def _graph(stored: StoredRun, side: Side, case_text: str | None, against_text: str | None) -> FlameGraph:
    if not stored.profiled:
        raise UserMistake(why_none(stored, side), remedy="measure it again with --profile")
    study = stored.header.study
    case = costliest(stored, side) if case_text is None else chosen_case(study, case_text)
    against: Case | None = None
    if against_text == BASELINE or (against_text is None and case_text is None):
        against = compared_with(case, cases(study), study)
    elif against_text is not None:
        against = chosen_case(study, against_text, option="--against")
    if case == against:
        raise UserMistake("--against: a case does not differ from itself", remedy="name another case")
    graph = flame_graph(stored, case, side, against)
    if graph is None:
        wanted = (case,) if against is None else (case, against)
        other = next(known for known in SIDES if known != side)
        raise UserMistake(why_none(stored, side, *wanted), remedy=f"try --side {other}")
    return graph


NAME = "tlstax-tools flames"

LEAST_PERCENT = 0.1
"""Narrower frames are left out: on a screen they are less than a pixel, and they are most of the file."""

DRAWING_TIMEOUT_S = 60


def draw(graph: FlameGraph) -> str:
    """The graph's SVG. Raises MachineFault where the program is missing or fails."""
    command = [
        *tool_command("flames"),
        f"--title={graph.title}",
        f"--subtitle={graph.subtitle}",
        f"--count-name={COUNT_NAME}",
        f"--min-width={LEAST_PERCENT}",
        *(["--differential"] if graph.differential else []),
    ]
    try:
        done = subprocess.run(
            command, input=graph.text().encode(), capture_output=True, check=False, timeout=DRAWING_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFault(f"{NAME} could not draw a flame graph ({reason(error)})") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().removeprefix(f"{NAME}: ")
        raise MachineFault(f"{NAME} could not draw a flame graph ({said or f'status {done.returncode}'})")
    return done.stdout.decode()


def explain_command(run_name: str, case: str | None, against: str | None, *, as_json: bool) -> int:
    """Explain a case of a stored run, or the foremost one and the others in a line each; the exit status.

    A run that was not sampled may have counted locks: then it is those that are explained. Raises UserMistake
    where the run has no such case, or neither.
    """
    with open_store() as store:
        stored = store.load(run_name)
    study = stored.header.study
    other = chosen_case(study, against, option="--against") if against is not None else None
    if not stored.profiled and any(record.locks is not None for record in stored.trials):
        own = chosen_case(study, case) if case is not None else None
        told = locks.explained(Run(stored), own, other)
        text_of = partial(printed_sections, list(locks.explained_sections(told)))
        show_found(ToldOfRun(run=stored.header.run, told=told), text_of, as_json=as_json)
        return 0
    others: Sequence[Explanation] = ()
    if case is not None:
        explanation = explain(stored, chosen_case(study, case), other)
    else:
        found = rows(Run(stored)) if other is None else ()
        ranked = by_rank(explanations(found, study, stored.header.run))
        if ranked:
            explanation, *others = ranked
        else:
            explanation = explain(stored, _first_asked(study, other), other)
    named = [(one.sentences[0], _command(stored, one)) for one in others]
    show_found(explanation, partial(explanation_text, explanation, others=named), as_json=as_json)
    return 0


def _first_asked(study: Study, against: Case | None) -> Case:
    """The case to explain, or to say of why it cannot be: a treatment, else another than what is compared."""
    every = cases(study)
    others = [one for one in every if one != against]
    treatments = [one for one in others if one.role == "treatment"]
    apart = [one for one in others if one.role == "baseline" and group_counterpart(one, every, study) != one]
    controls = [one for one in others if one.role == "control"]
    return next(iter((*treatments, *apart, *controls, *every)))


def _command(stored: StoredRun, explanation: Explanation) -> str:
    """How to ask for an explanation of this case."""
    role: Role = "control" if explanation.is_control else "treatment"
    text = choice_text(Case(levels=without_mark(explanation.whole.case), role=role), stored.header.study)
    return f"tlstax explain {stored.header.run} --case {quote(text)}"
