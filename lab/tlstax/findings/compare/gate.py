"""Whether a run keeps to limits beside an earlier one: passed, failed, or inconclusive. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.compare.compare import Again, Measured, Shared, case_change, measured, shared
from tlstax.findings.compare.headers import different, is_same_machine
from tlstax.findings.core.limits import CONFIDENCE, Limits, confidence_of_each, verdict_of, worst
from tlstax.records.trial import StoredRun
from tlstax.results.comparison import GatedCase, GateResult, Limit, Measure
from tlstax.support.errors import UserMistake


def gated(
    run: StoredRun,
    against: StoredRun,
    limits: Limits,
    *,
    others: Sequence[StoredRun] = (),
    measure: Measure = "to the baseline",
) -> GateResult:
    """Every case that both runs have beside each limit; `others` as of `compared`.

    UserMistake where nothing can be compared, a limit has no case that it is for, or the values themselves
    are asked for of two machines.
    """
    old, new = measured(against, run)
    same_machine = is_same_machine(old.header.machine, new.header.machine)
    if measure == "itself" and not same_machine:
        raise UserMistake(
            f"runs {old.header.run} and {new.header.run} are of different machines, whose times are no "
            "measure of each other",
            remedy="leave --absolute out: then each is compared with its own baseline",
        )
    every = limits.of(new.header.study.deciding_outcome)
    found = [(limit, figures) for limit in every for figures in _figures(old, new, limit, measure)]
    limits.check_each_has_a_case(
        [limit for limit, _ in found],
        "case that both runs have beside their baselines",
        old.series.outcomes & new.series.outcomes,
    )
    each = confidence_of_each(CONFIDENCE, len(found))
    again = Again.of(old, new, others)
    changes = [(limit, case_change(old, figures, each, again.scatter(figures))) for limit, figures in found]
    cases = tuple(
        GatedCase(limit=limit, change=change, verdict=verdict_of(change.change, limit))
        for limit, change in changes
    )
    return GateResult(
        run=new.header.run,
        against=old.header.run,
        same_machine=same_machine,
        confidence=CONFIDENCE,
        different=different(old.header, new.header),
        same_again=again.names,
        cases=cases,
        verdict=worst(case.verdict for case in cases),
    )


def _figures(old: Measured, new: Measured, limit: Limit, measure: Measure) -> Iterator[Shared]:
    """What the limit is for: of ratios to the baseline all but the baselines'."""
    for key, case in old.cases.items():
        if measure == "itself" or case.role != "baseline":
            figures = shared(old, new, key, limit.outcome, measure)
            if figures is not None:
                yield figures
