"""Every outcome of every case against its baseline, as an interval: what findings are worded from.

Each case's valid trials are compared with its baseline's of the same block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, log
from statistics import fmean

from tlstax.plan.order import cases
from tlstax.records.trial import TrialRecord
from tlstax.results.document import TrialCounts
from tlstax.results.interval import Interval
from tlstax.stats import stats
from tlstax.stats.contrasts import nearest
from tlstax.stats.outcomes import OUTCOMES, UNITS
from tlstax.stats.pooling import Pooling, machines_of
from tlstax.stats.series import Values, valid_values
from tlstax.stats.slices import Sides, log_ratio, log_ratio_of_totals, turns
from tlstax.stats.wording import always_hello_retry, negotiated
from tlstax.study import Case, Study
from tlstax.study.factors import CaseLevels

ByBlock = dict[int, list[TrialRecord]]
"""A case's trials of each block: one, or one of each sitting of a baseline that sat in several."""


@dataclass(frozen=True)
class Pair:
    """A trial and the baseline's trial of the same block and group, both valid.

    `control` is the control's of that block, where it is valid: a treatment is compared with it as well. None
    for the baseline and the control themselves.
    """

    block: int
    record: TrialRecord
    baseline: TrialRecord
    control: TrialRecord | None = None

    @property
    def sides(self) -> Sides:
        """The turns of both, as ratios are taken of them."""
        return turns(self.record), turns(self.baseline, self.control)


@dataclass(frozen=True)
class Comparison:
    """A case and its baseline, block by block.

    `lost` holds the trials that are not valid, the baseline's among them: each costs its block's pair.
    A block in which one of the two was not run (yet) is neither a pair nor lost.
    """

    case: Case
    baseline: Case
    pairs: tuple[Pair, ...]
    lost: tuple[TrialRecord, ...]
    tried_blocks: int

    @property
    def lost_blocks(self) -> int:
        """How many blocks both were run in without giving a pair."""
        return self.tried_blocks - len(self.pairs)

    @cached_property
    def key(self) -> str:
        """The case's key."""
        return self.case.key()

    @cached_property
    def baseline_key(self) -> str:
        """The baseline's key, which all cases of a group share."""
        return self.baseline.key()

    @cached_property
    def records(self) -> tuple[TrialRecord, ...]:
        """The case's own trials of all pairs. What is said of them is worked out once, for all outcomes."""
        return tuple(pair.record for pair in self.pairs)

    @cached_property
    def negotiated(self) -> str:
        """What these trials negotiated, in words."""
        return negotiated(self.records)

    @cached_property
    def always_hello_retry(self) -> bool:
        """Whether these trials made handshakes that all met a HelloRetryRequest."""
        return always_hello_retry(self.records)

    @cached_property
    def notes(self) -> Counter[str]:
        """What the checks noted of these trials, each note with the number of trials that have it."""
        return Counter(note for record in self.records for note in record.verdict.notes)


def compare(study: Study, records: Iterable[TrialRecord]) -> tuple[Comparison, ...]:
    """Every case of the study beside its baseline, in the plan's order; a baseline beside itself."""
    by_case: dict[str, ByBlock] = {}
    for record in records:
        of_case = by_case.setdefault(record.trial.case.key(), {})
        of_case.setdefault(record.trial.block, []).append(record)
    comparisons = []
    baseline = None
    controls: ByBlock = {}
    for case in cases(study):
        own = by_case.get(case.key(), {})
        if case.role == "baseline":
            baseline, controls = case, {}
        elif case.role == "control":
            controls = own
        if baseline is not None:
            again = controls if case.role == "treatment" else {}
            comparisons.append(_comparison(case, baseline, own, by_case.get(baseline.key(), {}), again))
    return tuple(comparisons)


def _beside(record: TrialRecord, others: Sequence[TrialRecord]) -> TrialRecord:
    """Of a case's trials of a block the one that took turns with this record's; the first where none did."""
    slices = record.slices
    if slices is not None:
        for other in others:
            if other.slices is not None and other.slices.sitting == slices.sitting:
                return other
    return others[0]


def counts_of(records: Iterable[TrialRecord]) -> TrialCounts:
    """How these trials came out."""
    counted = Counter(record.verdict.value for record in records)
    return TrialCounts(valid=counted["valid"], invalid=counted["invalid"], unknown=counted["unknown"])


def first_reason(records: Iterable[TrialRecord]) -> str:
    """The most frequent reason why trials are not valid, of the first of each; empty where none has any."""
    reasons = Counter(reason for record in records for reason in record.verdict.reasons[:1])
    return reasons.most_common(1)[0][0] if reasons else ""


def _comparison(
    case: Case,
    baseline: Case,
    own: ByBlock,
    others: ByBlock,
    controls: ByBlock,
) -> Comparison:
    tried = sorted(own.keys() & others.keys())
    pairs = []
    for block in tried:
        record = own[block][0]
        control = _beside(record, controls[block]) if block in controls else None
        again = control if control is not None and control.is_valid else None
        pairs.append(Pair(block, record, _beside(record, others[block]), again))
    lost = [
        record
        for pair in pairs
        for record in ([pair.record, pair.baseline] if case != baseline else [pair.record])
        if not record.is_valid
    ]
    return Comparison(
        case=case,
        baseline=baseline,
        pairs=tuple(p for p in pairs if p.record.is_valid and p.baseline.is_valid),
        lost=tuple(lost),
        tried_blocks=len(tried),
    )


@dataclass(frozen=True)
class Estimate:
    """One outcome of one case, block by block.

    `pairs` holds (value, baseline's value) of the blocks where both are above zero, `ratio` the interval of
    their ratio, None without any; in blocks where the two took turns that is the ratio of neighbouring slices
    (the mean of those to the baseline and to its control) and not of the two values. `logs` has ln of it by
    block, `pooling` how blocks are pooled. `totals` holds, by block, ln of the ratio of all slices together
    and ln of that of neighbours. `alone` holds the case's values where the baseline never has the outcome,
    and `alone_mean` their interval.
    `control` is the ratio of the group's control, or of the nearest group's that has one; None where none
    ran under this workload.
    """

    comparison: Comparison
    outcome: str
    pairs: tuple[tuple[float, float], ...]
    alone: tuple[float, ...]
    ratio: Interval | None
    control: Interval | None = None
    totals: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    logs: Mapping[int, float] = field(default_factory=dict)
    alone_mean: Interval | None = None
    pooling: Pooling = field(kw_only=True)

    @property
    def ratio_of_totals(self) -> float | None:
        """The geometric mean over blocks of the ratio of all slices together; None where none took turns."""
        return exp(fmean(total for total, _ in self.totals.values())) if self.totals else None

    @property
    def is_disturbed(self) -> bool:
        """Whether all slices together tell of another ratio than neighbours do, beyond chance.

        Beyond chance is what the scatter of the difference of the two over blocks does not explain, and what
        lies outside the ratio's interval. Bursts that hit all cases alike widen that scatter, and do neither.
        """
        ratio, of_totals = self.ratio, self.ratio_of_totals
        if of_totals is None or ratio is None or ratio.low is None or ratio.high is None:
            return False
        apart = {block: total - neighbours for block, (total, neighbours) in self.totals.items()}
        is_clear = self.pooling.difference(apart).excludes_zero
        return is_clear and not ratio.low <= of_totals <= ratio.high

    @property
    def noise_floor(self) -> float | None:
        """Below which relative difference nothing can be told here; None where the control is missing."""
        return stats.noise_floor(self.control) if self.control else None


def estimates(study: Study, records: Iterable[TrialRecord], values: Values | None = None) -> list[Estimate]:
    """All there is to estimate, in the plan's order of cases and the report's order of outcomes.

    `values` are those of the valid trials, where the caller has them already. Raises MachineFault where a
    histogram cannot be decoded.
    """
    records = tuple(records)
    known = valid_values(study, records) if values is None else values
    pooling = Pooling(study.confidence, machines_of(records))
    found = [
        estimate
        for comparison in compare(study, records)
        for estimate in _estimates(pooling, comparison, known)
        if estimate.pairs or estimate.alone
    ]
    controls: dict[str, dict[CaseLevels, Interval]] = {}
    for e in found:
        if e.comparison.case.role == "control" and e.ratio is not None:
            controls.setdefault(e.outcome, {})[e.comparison.baseline.levels] = e.ratio
    borrowed: dict[tuple[str, str], Interval | None] = {}
    for e in found:
        place = (e.comparison.baseline_key, e.outcome)
        if place not in borrowed:
            borrowed[place] = nearest(e.comparison.baseline.levels, controls.get(e.outcome, {}))
    return [replace(e, control=borrowed[e.comparison.baseline_key, e.outcome]) for e in found]


def _estimates(pooling: Pooling, comparison: Comparison, values: Values) -> Iterator[Estimate]:
    sides = [pair.sides for pair in comparison.pairs]
    own = [values[pair.record.trial.place] for pair in comparison.pairs]
    others = [values[pair.baseline.trial.place] for pair in comparison.pairs]
    yielded = {name for known in own for name in known}
    for name in OUTCOMES:
        if name in yielded:
            both = {
                pair.block: (a.get(name, 0.0), b.get(name, 0.0))
                for pair, a, b in zip(comparison.pairs, own, others, strict=True)
            }
            yield _estimate(pooling, comparison, name, both, sides)


def _estimate(
    pooling: Pooling,
    comparison: Comparison,
    name: str,
    both: Mapping[int, tuple[float, float]],
    sides: Sequence[Sides],
) -> Estimate:
    taken = dict(zip(both, sides, strict=True))
    pairs = {block: pair for block, pair in both.items() if min(pair) > 0}
    if UNITS[name] == "%" and len(pairs) < len(both):
        # What is often nothing at all has no ratio: that of the other blocks alone would be their luck.
        pairs = {}
    found = {block: log_ratio(name, *pair, taken[block]) for block, pair in pairs.items()}
    logs = {block: ratio for block, ratio in found.items() if ratio is not None}
    of_totals = {block: log_ratio_of_totals(name, taken[block]) for block in logs}
    totals = {block: (total, logs[block]) for block, total in of_totals.items() if total is not None}
    never = not any(baseline for _, baseline in both.values())
    alone = {block: value for block, (value, _) in both.items() if value > 0} if never else {}
    return Estimate(
        comparison=comparison,
        outcome=name,
        pairs=tuple(pairs.values()),
        alone=tuple(alone.values()),
        ratio=pooling.interval(logs) if logs else None,
        totals=totals,
        logs=logs,
        alone_mean=pooling.interval({b: log(value) for b, value in alone.items()}) if alone else None,
        pooling=pooling,
    )
