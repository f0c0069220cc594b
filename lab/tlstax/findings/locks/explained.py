"""Whose locks a case takes more than its baseline: function by function. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.findings.core.series import Frozen, frozen
from tlstax.findings.core.wording import FAULT, MINUS
from tlstax.findings.locks.takers import case_locks
from tlstax.records.trial import StoredRun
from tlstax.results.locks import CaseLocks, LockExplanation, TakerChange
from tlstax.study import Case, Levels
from tlstax.support.errors import UserMistake

LEAST = 0.005
"""Fewer calls in an operation than one in two hundred are not told from none."""


def locks_explained(
    stored: StoredRun, case: Case | None = None, baseline: Case | None = None
) -> LockExplanation:
    """The case against another one, or its own baseline; without a case, that with the most more.

    UserMistake where the locks of one of them were not counted.
    """
    study = stored.header.study
    counted = {frozen(one.case, FAULT): one for one in case_locks(study, stored.trials)}
    if case is not None:
        levels = case.levels
        return _between(stored, _of(counted, levels), _of(counted, _other(stored, levels, baseline)))
    pairs = [
        (one, counted[other])
        for one in counted.values()
        if (other := frozen(_other(stored, one.case, baseline), FAULT)) in counted
    ]
    if not pairs:
        raise UserMistake(
            f"no locks were counted in run {stored.header.run}", remedy="measure again with --count locks"
        )
    return _between(stored, *max(pairs, key=lambda pair: pair[0].per_op - pair[1].per_op))


def _other(stored: StoredRun, levels: Levels, baseline: Case | None) -> Levels:
    return baseline.levels if baseline is not None else {**levels, **stored.header.study.baseline}


def _of(counted: dict[Frozen, CaseLocks], levels: Levels) -> CaseLocks:
    found = counted.get(frozen(levels, FAULT))
    if found is None:
        raise UserMistake(
            "the locks of that case were not counted", remedy="measure again with --count locks"
        )
    return found


def _between(stored: StoredRun, case: CaseLocks, baseline: CaseLocks) -> LockExplanation:
    changes = _changes(case, baseline)
    return LockExplanation(
        run=stored.header.run,
        labels=(case.label, baseline.label),
        per_op=case.per_op,
        baseline_per_op=baseline.per_op,
        changes=changes,
        sentence=_sentence(case, baseline, changes),
    )


def _changes(case: CaseLocks, baseline: CaseLocks) -> tuple[TakerChange, ...]:
    own, other = (
        {(one.kind, one.library, one.function): one.per_op for one in side.takers}
        for side in (case, baseline)
    )
    changes = [
        TakerChange(
            kind=kind,
            library=library,
            function=function,
            per_op=own.get((kind, library, function), 0.0),
            baseline_per_op=other.get((kind, library, function), 0.0),
        )
        for kind, library, function in {**own, **other}
    ]
    told = [one for one in changes if abs(one.per_op - one.baseline_per_op) >= LEAST]
    return tuple(
        sorted(told, key=lambda one: (-abs(one.per_op - one.baseline_per_op), one.library, one.function))
    )


def _sentence(case: CaseLocks, baseline: CaseLocks, changes: Sequence[TakerChange]) -> str:
    more = case.per_op - baseline.per_op
    said = (
        f"{case.label} takes {case.per_op:.1f} locks for each operation, {baseline.label} "
        f"{baseline.per_op:.1f}"
    )
    if abs(more) < LEAST or not changes:
        return f"{said}: no more and no fewer"
    first = changes[0]
    signed = f"{first.per_op - first.baseline_per_op:+.1f}".replace("-", MINUS)
    who = f"{first.function or 'a function without a name'} of {first.library}"
    return f"{said}: {abs(more):.1f} {'more' if more > 0 else 'fewer'}, {signed} in {who}"
