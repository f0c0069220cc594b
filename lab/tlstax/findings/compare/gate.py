"""Whether a run keeps to limits beside an earlier one: passed, failed, or untold. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.compare.compare import Measured, case_change, measured
from tlstax.findings.compare.headers import different, is_same_machine
from tlstax.findings.compare.two_runs import confidence_of_each
from tlstax.records.trial import StoredRun
from tlstax.results.comparison import CaseChange, GatedCase, GateResult, GateVerdict, Limit, Measure
from tlstax.results.interval import Interval
from tlstax.support.errors import UserMistake

CONFIDENCE = 0.95
"""That no case of a check fails by chance alone."""


def gated(
    run: StoredRun, against: StoredRun, limits: Sequence[Limit], *, measure: Measure = "to the baseline"
) -> GateResult:
    """Every case that both runs have beside each limit.

    UserMistake where nothing can be compared, or the values themselves are asked for of two machines.
    """
    old, new = measured(against, run)
    same_machine = is_same_machine(old.header.machine, new.header.machine)
    if measure == "itself" and not same_machine:
        raise UserMistake(
            f"runs {old.header.run} and {new.header.run} are of different machines, whose times are no "
            "measure of each other",
            remedy="leave --absolute out: then each is compared with its own baseline",
        )
    found = [(limit, list(_changes(old, new, limit, measure, CONFIDENCE))) for limit in limits]
    number = sum(len(changes) for _, changes in found)
    each = confidence_of_each(CONFIDENCE, number)
    cases = tuple(
        GatedCase(limit=limit, change=change, verdict=verdict_of(change.change, limit.most))
        for limit in limits
        for change in _changes(old, new, limit, measure, each)
    )
    if not cases:
        names = ", ".join(dict.fromkeys(limit.outcome for limit in limits))
        raise UserMistake(
            f"neither run has a case beside its baseline that has {names} in both",
            remedy="`tlstax runs export --format json` has the names of all that a run yields",
        )
    return GateResult(
        run=new.header.run,
        against=old.header.run,
        same_machine=same_machine,
        confidence=CONFIDENCE,
        different=different(old.header, new.header),
        cases=cases,
        verdict=worst(case.verdict for case in cases),
    )


def _changes(
    old: Measured, new: Measured, limit: Limit, measure: Measure, confidence: float
) -> Iterator[CaseChange]:
    for key, case in old.cases.items():
        if key in new.cases and (measure == "itself" or case.role != "baseline"):
            yield from case_change((old, new), key, limit.outcome, measure, confidence)


def verdict_of(change: Interval, most: float) -> GateVerdict:
    """PASS where all of the interval is at or below the limit, FAIL where all of it is above."""
    if change.low is None or change.high is None:
        return "UNTOLD"
    if change.high <= 1 + most:
        return "PASS"
    return "FAIL" if change.low > 1 + most else "UNTOLD"


def worst(verdicts: Iterator[GateVerdict]) -> GateVerdict:
    """One verdict for all: a failure weighs more than what is untold."""
    found = set(verdicts)
    return "FAIL" if "FAIL" in found else "UNTOLD" if "UNTOLD" in found else "PASS"
