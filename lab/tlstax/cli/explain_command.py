"""`tlstax explain`: where the extra cost of a case goes, from a run that was sampled; or its locks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from shlex import quote

from pydantic import BaseModel

from tlstax.cli.streams import colourful, show, show_json, terminal_width
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun
from tlstax.report.formats.terminal import printed_sections
from tlstax.results.explanation import Explanation
from tlstax.results.rows import ToldOfRun
from tlstax.store import open_store
from tlstax.study import Case, Role
from tlstax.study.labels import without_mark
from tlstax.topics import locks
from tlstax.topics.answer.case_choice import choice_text, chosen_case
from tlstax.topics.core.topic import Run
from tlstax.topics.explain.explanation import by_rank, explain, explanations, rows
from tlstax.topics.explain.sections import explanation_text


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
        text_of = partial(printed_sections, [locks.explained_section(told)])
        return _shown(ToldOfRun(run=stored.header.run, told=told), text_of, as_json=as_json)
    others: Sequence[Explanation] = ()
    if case is not None:
        explanation = explain(stored, chosen_case(study, case), other)
    else:
        found = rows(Run(stored)) if other is None else ()
        ranked = by_rank(explanations(found, study, stored.header.run))
        if ranked:
            explanation, *others = ranked
        else:
            all_cases = cases(study)
            treatments = (one for one in all_cases if one != other and one.role != "baseline")
            explanation = explain(stored, next(treatments, all_cases[0]), other)
    named = [(one.sentences[0], _command(stored, one)) for one in others]
    return _shown(explanation, partial(explanation_text, explanation, others=named), as_json=as_json)


def _shown(found: BaseModel, text_of: Callable[..., str], *, as_json: bool) -> int:
    """Show what was found, as a document or as text for this terminal; the exit status."""
    if as_json:
        show_json(found.model_dump_json(by_alias=True, indent=2) + "\n")
        return 0
    colour = colourful()
    text = text_of(width=terminal_width(), colour=colour)
    show(text if text.endswith("\n") else text + "\n", coloured=colour)
    return 0


def _command(stored: StoredRun, explanation: Explanation) -> str:
    """How to ask for an explanation of this case."""
    role: Role = "control" if explanation.is_control else "treatment"
    text = choice_text(Case(levels=without_mark(explanation.whole.case), role=role), stored.header.study)
    return f"tlstax explain {stored.header.run} --case {quote(text)}"
