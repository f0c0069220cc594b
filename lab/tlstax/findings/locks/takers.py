"""Which functions take locks in an operation of each case, summed up over its valid trials. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tlstax.findings.core.outcomes import outcome
from tlstax.findings.core.series import Frozen, frozen
from tlstax.findings.core.stats import geometric_mean
from tlstax.findings.core.wording import FAULT, case_label
from tlstax.plan import order as plan_order
from tlstax.records.locks import LOCKS, LockCounts
from tlstax.records.trial import TrialRecord
from tlstax.results.locks import CaseLocks, Taker
from tlstax.study import Study
from tlstax.support.grouping import grouped

RATE = "ops_per_s"


def case_locks(study: Study, records: Iterable[TrialRecord]) -> tuple[CaseLocks, ...]:
    """What was counted of each case, in the plan's order; nothing of those not counted.

    A control is counted with the case that it repeats.
    """
    valid = [record for record in records if record.verdict.value == "valid"]
    cases = grouped((one for one in valid if one.locks is not None), lambda one: _named(one, study))
    others = grouped((one for one in valid if one.locks is None), lambda one: _named(one, study))
    planned = {frozen(case.levels, FAULT): place for place, case in enumerate(plan_order.cases(study))}
    order = sorted(cases, key=lambda named: planned.get(frozen(dict(named), FAULT), len(planned)))
    return tuple(_of(study, cases[named], others.get(named, [])) for named in order)


def _named(record: TrialRecord, study: Study) -> Frozen:
    """The levels by which the study knows the case: that its locks are counted may be none of its factors."""
    return frozen(study.known(record.trial.case.levels))


def _of(study: Study, records: Sequence[TrialRecord], not_counted: Sequence[TrialRecord]) -> CaseLocks:
    levels = dict(_named(records[0], study))
    counts = [record.locks for record in records if record.locks is not None and record.locks.operations]
    operations = sum(one.operations for one in counts)
    each = [_locks(one) / one.operations for one in counts]
    return CaseLocks(
        case=levels,
        label=case_label({name: level for name, level in levels.items() if name != FAULT}, study),
        trials=len(counts),
        operations=operations,
        per_op=sum(map(_locks, counts)) / operations if operations else 0.0,
        least_per_op=min(each, default=0.0),
        most_per_op=max(each, default=0.0),
        times_slower=_times_slower(records, not_counted),
        takers=_takers(counts, operations),
    )


def _times_slower(records: Sequence[TrialRecord], not_counted: Sequence[TrialRecord]) -> float | None:
    """Of the geometric means of operations a second."""
    own, other = ([rate for one in some if (rate := outcome(one, RATE))] for some in (records, not_counted))
    return geometric_mean(other) / geometric_mean(own) if own and other else None


def _locks(counts: LockCounts) -> int:
    return sum(site.calls for site in counts.of_kinds(*LOCKS))


def _takers(counts: Sequence[LockCounts], operations: int) -> tuple[Taker, ...]:
    calls: defaultdict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for one in counts:
        for site in one.sites:
            own = calls[site.kind, site.library, site.function]
            own[:] = [a + b for a, b in zip(own, (site.calls, site.moved, site.contended), strict=True)]
    takers = (
        Taker(
            kind=kind,
            library=library,
            function=function,
            per_op=all_ / operations,
            moved_per_op=moved / operations,
            contended_per_op=contended / operations,
        )
        for (kind, library, function), (all_, moved, contended) in calls.items()
    )
    return tuple(sorted(takers, key=lambda one: (-one.per_op, one.library, one.function, one.kind)))
