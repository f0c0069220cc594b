"""Whether what B changes beside A keeps to limits, in one run. Pure."""

from __future__ import annotations

from tlstax.findings.core.limits import CONFIDENCE, Limits, confidence_of_each, worst
from tlstax.findings.core.series import series_of
from tlstax.findings.two_sides.effects import side_effects
from tlstax.records.trial import StoredRun
from tlstax.results.comparison import GateResult
from tlstax.results.rows import Row
from tlstax.results.two_sides import SideEffect
from tlstax.support.errors import UserMistake


def gated_sides(run: StoredRun, limits: Limits) -> GateResult:
    """What B changes beside A in one run, beside each limit: the run is compared with itself alone.

    UserMistake where no sides are set against each other in it, or a limit has no case that it is for.
    """
    if run.header.study.sides is None:
        raise UserMistake(
            f"run {run.header.run} has no two sides of its own",
            remedy="name the run that it is checked against with --against, or measure both with `tlstax ab`",
        )
    series = series_of(run)
    every = limits.of(run.header.study.deciding_outcome)
    outcomes = [limit.outcome for limit in every]
    each = confidence_of_each(CONFIDENCE, len(side_effects(series, outcomes)))
    cases = tuple(
        (limit, limit.judged(_change(found)))
        for limit in every
        for found in side_effects(series, [limit.outcome], confidence=each)
    )
    limits.check_each_has_a_case(
        [limit for limit, _ in cases],
        f"block of run {run.header.run} with both sides",
        series.outcomes,
    )
    return GateResult(
        run=run.header.run,
        against=run.header.run,
        same_machine=True,
        confidence=CONFIDENCE,
        changes=tuple(case for _, case in cases),
        verdict=worst(case for _, case in cases),
    )


def _change(found: SideEffect) -> Row:
    return Row(
        outcome=found.outcome,
        unit=found.unit,
        role="itself",
        label=found.label,
        case=found.case,
        value=found.b,
        baseline_value=found.a,
        interval=found.change,
        of="ratio",
        judgement=found.judgement,
    )
