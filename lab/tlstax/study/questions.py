"""What a study asks once options have changed its levels: nobody is told of what was not measured. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tlstax.contract import OpenLoop
from tlstax.study.design import Study
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import group_label, label_levels, schedule_label
from tlstax.support.text import counted, enumerated

MOST_NAMED, MOST_GROUPS = 4, 2
"""More cases, or groups of them, than this are counted."""

WORK = "work"


def asking_what_is_there(study: Study, before: Study) -> Study:
    """The study with a question made of its cases, where it has other ones than `before` it was changed.

    Its title stays as long as the factors by which its cases are compared differ as they did, and there is
    TLS where there was.
    """
    cases, cases_before = list(study.included()), list(before.included())
    if cases == cases_before and study.schedule == before.schedule:
        return study
    compared = _compared(cases_before, before) - _compared(cases, study)
    had_tls, has_tls = (any(one.is_encrypted for one in own) for own in (cases_before, cases))
    changes = {"question": _question(study, cases)}
    if compared or (had_tls and not has_tls):
        changes["title"] = _title(study, cases)
    return study.model_copy(update=changes)


def _compared(cases: Sequence[CaseLevels], study: Study) -> set[str]:
    """The factors of the baseline that differ among cases; resumption goes with TLS."""
    of_tls = {"resumption": "tls"}
    return {of_tls.get(name, name) for name in study.baseline if len({case.get(name) for case in cases}) > 1}


def _title(study: Study, cases: Sequence[CaseLevels]) -> str:
    subjects, baseline = _compared_words(study, cases)
    title = f"{subjects}, compared with {baseline}" if subjects else f"{baseline}, by itself"
    return title[:1].upper() + title[1:]


def _question(study: Study, cases: Sequence[CaseLevels]) -> str:
    """Such as "How do TLS 1.3 and TLS 1.2 compare with plaintext (point selects on kept connections)?"."""
    subjects, baseline = _compared_words(study, cases)
    groups = list(dict.fromkeys(group_label(study.group_of(case), study) for case in cases))
    few = "; ".join(filter(None, groups)) if len(groups) <= MOST_GROUPS else counted(len(groups), "group")
    rate = f"at {schedule_label(study.schedule)}" if isinstance(study.schedule, OpenLoop) else ""
    where = ", ".join(filter(None, (few, rate)))
    several = " and " in subjects or re.match("[0-9]", subjects)
    does = "do" if several and not subjects.startswith(WORK) else "does"
    asked = f"How {does} {subjects} compare with {baseline}" if subjects else f"What does {baseline} come to"
    return f"{asked} ({where})?" if where else f"{asked}?"


def _compared_words(study: Study, cases: Sequence[CaseLevels]) -> tuple[str, str]:
    """What is compared, and with what; of clients it is the work by them."""
    subjects, baseline = _subjects(study, cases), label_levels(study.baseline, study)
    if not baseline.startswith("by "):
        return subjects, baseline
    return f"{WORK} {subjects}" if subjects.startswith("by ") else subjects, f"{WORK} {baseline}"


def _subjects(study: Study, cases: Sequence[CaseLevels]) -> str:
    """What is compared with the baseline, in words; empty where there is nothing else."""
    others = (case for case in cases if not study.is_baseline(case))
    compared = ({name: case[name] for name in study.baseline} for case in others)
    labels = list(dict.fromkeys(label_levels(levels, study) for levels in compared))
    return enumerated(labels) if len(labels) <= MOST_NAMED else counted(len(labels), "case")
