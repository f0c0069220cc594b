"""Which case of a study is meant by what a user typed: "tls=1.3,workload=reconnect", or "control"."""

from __future__ import annotations

from tlstax.plan.order import cases
from tlstax.study import Case, Study
from tlstax.study.factor import check_level
from tlstax.study.factors import check_factor
from tlstax.study.labels import full_label
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest, some_of

CONTROL = "control"
MOST_LISTED = 6

LAST_TO_GO = ("instance", "tls_library", "connections", "resumption", "server", "workload", "fault", "tls")
"""The factors that a case is best known by come last; one that is not among them says less than any."""


def chosen_case(study: Study, text: str, *, option: str = "--case") -> Case:
    """The one case of the study that has all these levels; UserMistake where it is none or several.

    `text` is `factor=level`, several with commas, and `control` for a control; a case that is not a control
    is preferred where both would do.
    """
    wanted: dict[str, object] = {}
    control = False
    for part in filter(None, (part.strip() for part in text.split(","))):
        factor, equals, level = (word.strip() for word in part.partition("="))
        if part == CONTROL:
            control = True
        elif not equals:
            raise UserMistake(f"{option}: {part!r} is not factor=level", remedy="such as tls=1.3, or control")
        else:
            known = check_factor(factor, where=option)
            varied = study.levels_of()
            if factor not in varied:
                raise UserMistake(
                    f"{option}: study {study.name} does not vary {factor}{closest(factor, varied)}",
                    remedy=f"its factors are {', '.join(varied)}",
                )
            also = study.workloads if factor == "workload" else ()
            wanted[factor] = check_level(known, level, where=option, also=also)
    found = [
        case
        for case in cases(study)
        if wanted.items() <= case.levels.items() and (case.role == "control") == control
    ]
    if len(found) == 1:
        return found[0]
    listed = "; ".join(some_of([full_label(case, study) for case in found], MOST_LISTED))
    if not found:
        raise UserMistake(f"{option} {text!r}: the run has no such case", remedy="`tlstax report` shows all")
    raise UserMistake(
        f"{option} {text!r} may be {len(found)} cases ({listed})", remedy="name more of its levels"
    )


def choice_text(case: Case, study: Study) -> str:
    """What a user types to choose this case: "tls=1.3,workload=reconnect"; no more levels than it takes."""
    is_control = case.role == CONTROL
    alike = [other.levels for other in cases(study) if (other.role == CONTROL) == is_control]
    kept = {name: case.levels[name] for name in study.levels_of() if name in study.varied}
    for name in sorted(kept, key=_dispensable):
        fewer = {other: level for other, level in kept.items() if other != name}
        if sum(fewer.items() <= levels.items() for levels in alike) == 1:
            kept = fewer
    named = [f"{name}={level}" for name, level in kept.items()]
    return ",".join([*named, *([CONTROL] if is_control else [])])


def _dispensable(factor: str) -> int:
    """Factors that say little go first."""
    return LAST_TO_GO.index(factor) if factor in LAST_TO_GO else -1
