"""How drivers warmed up before they were measured: from cold to steady, as they reported it themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from tlstax.contract import Ready
from tlstax.plan.order import cases
from tlstax.records.trial import TrialRecord
from tlstax.results.drivers import DriverWarmup, WarmupPoint
from tlstax.study import Case, Study
from tlstax.study.labels import driver_label, full_label
from tlstax.support.text import counted

LAST_SLICES = 5
"""The slices that show a warm client: those that the rule for being steady looks at last."""


def driver_warmups(study: Study, records: Iterable[TrialRecord]) -> tuple[DriverWarmup, ...]:
    """Every case (controls left out) whose valid trials reported their warm-up, in the plan's order."""
    by_case: dict[str, tuple[Case, list[Ready]]] = {}
    for record in records:
        case, ready = record.trial.case, record.ready
        if record.verdict.value == "valid" and case.role != "control" and ready and _us_per_op(ready):
            by_case.setdefault(case.key(), (case, []))[1].append(ready)
    planned = [case.key() for case in cases(study)]
    in_order = sorted(by_case.values(), key=lambda warmup: planned.index(warmup[0].key()))
    return tuple(_warmup(case, trials, study) for case, trials in in_order)


def restless(study: Study, warmups: Iterable[DriverWarmup]) -> Iterator[str]:
    """A caveat for each case of which some trial was measured before it was steady."""
    for warmup in warmups:
        missed = warmup.trials - warmup.steady_trials
        if missed:
            name = full_label(Case(levels=warmup.case, role="treatment"), study)
            yield (
                f"{name}: in {missed} of {counted(warmup.trials, 'trial')} the driver was measured before it "
                "was steady: its CPU per operation was still falling when the time for warming up was over"
            )


def _warmup(case: Case, trials: Sequence[Ready], study: Study) -> DriverWarmup:
    steady = [ready.warmup[-1].elapsed_s for ready in trials if ready.steady]
    curves = [_us_per_op(ready) for ready in trials]
    cold = [curve[0][1] for curve in curves]
    warm = [median(us for _, us in curve[-LAST_SLICES:]) for curve in curves]
    return DriverWarmup(
        case=dict(case.levels),
        label=driver_label(case, study),
        trials=len(trials),
        steady_trials=len(steady),
        steady_after_s=median(steady) if steady else None,
        cold_us_per_op=median(cold),
        warm_us_per_op=median(warm),
        times_slower=median(first / last for first, last in zip(cold, warm, strict=True)),
        points=tuple(_points(curves)),
    )


def _us_per_op(ready: Ready) -> list[tuple[float, float]]:
    """When each slice ended, and what an operation took in it; slices without any are left out."""
    return [
        (slice_.elapsed_s, slice_.cpu_us / slice_.operations)
        for slice_ in ready.warmup
        if slice_.operations and slice_.cpu_us
    ]


def _points(curves: Sequence[Sequence[tuple[float, float]]]) -> Iterator[WarmupPoint]:
    """Slice by slice the medians, as long as half of the trials still warmed up; only slow ones go on."""
    for place in range(max(map(len, curves))):
        slices = [curve[place] for curve in curves if place < len(curve)]
        if 2 * len(slices) >= len(curves):
            yield WarmupPoint(
                elapsed_s=median(elapsed_s for elapsed_s, _ in slices),
                us_per_op=median(us for _, us in slices),
                trials=len(slices),
            )
