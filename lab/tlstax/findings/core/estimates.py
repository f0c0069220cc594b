"""Every outcome of every case against its baseline, as an interval: what findings are worded from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp
from statistics import fmean

from tlstax.findings.core import stats
from tlstax.findings.core.comparisons import Comparison, compare
from tlstax.findings.core.controls import nearest
from tlstax.findings.core.outcomes import OUTCOMES, UNITS
from tlstax.findings.core.series import Frozen, Values, frozen, valid_values
from tlstax.findings.core.slices import Sides, log_ratio, log_ratio_of_totals
from tlstax.records.trial import TrialRecord
from tlstax.results.interval import Interval
from tlstax.study import Study


@dataclass(frozen=True)
class Estimate:
    """One outcome of one case, block by block.

    `pairs` holds (value, baseline's value) of the blocks where both are above zero, `ratio` the interval of
    their ratio, None without any; in blocks where the two took turns that is the ratio of neighbouring slices
    (the mean of those to the baseline and to its control) and not of the two values. `totals` holds, for
    those blocks, ln of the ratio of all slices together and ln of that of neighbours. `alone` holds the
    case's values where the baseline never has the outcome.
    `control` is the ratio of the group's control, or of the nearest group's that has one; None where none
    ran under this workload.
    """

    comparison: Comparison
    outcome: str
    pairs: tuple[tuple[float, float], ...]
    alone: tuple[float, ...]
    ratio: Interval | None
    control: Interval | None = None
    totals: tuple[tuple[float, float], ...] = ()

    @property
    def ratio_of_totals(self) -> float | None:
        """The geometric mean over blocks of the ratio of all slices together; None where none took turns."""
        return exp(fmean(total for total, _ in self.totals)) if self.totals else None

    @property
    def is_disturbed(self) -> bool:
        """Whether all slices together tell of another ratio than neighbours do, beyond chance.

        Beyond chance is what the scatter of the difference of the two over blocks does not explain, and what
        lies outside the ratio's interval. Bursts that hit all cases alike widen that scatter, and do neither.
        """
        ratio, of_totals = self.ratio, self.ratio_of_totals
        if of_totals is None or ratio is None or ratio.low is None or ratio.high is None:
            return False
        apart = [total - neighbours for total, neighbours in self.totals]
        is_clear = stats.difference_interval(apart, ratio.confidence).excludes_zero
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
    found = [
        estimate
        for comparison in compare(study, records)
        for estimate in _estimates(study, comparison, known)
        if estimate.pairs or estimate.alone
    ]
    controls: dict[str, dict[Frozen, Interval]] = {}
    for e in found:
        if e.comparison.case.role == "control" and e.ratio is not None:
            controls.setdefault(e.outcome, {})[frozen(e.comparison.baseline.levels)] = e.ratio
    borrowed: dict[tuple[str, str], Interval | None] = {}
    for e in found:
        place = (e.comparison.baseline_key, e.outcome)
        if place not in borrowed:
            borrowed[place] = nearest(e.comparison.baseline.levels, controls.get(e.outcome, {}))
    return [replace(e, control=borrowed[e.comparison.baseline_key, e.outcome]) for e in found]


def _estimates(study: Study, comparison: Comparison, values: Values) -> Iterator[Estimate]:
    sides = [pair.sides for pair in comparison.pairs]
    own = [values[pair.record.trial.place] for pair in comparison.pairs]
    others = [values[pair.baseline.trial.place] for pair in comparison.pairs]
    yielded = {name for known in own for name in known}
    for name in OUTCOMES:
        if name in yielded:
            both = [(a.get(name, 0.0), b.get(name, 0.0)) for a, b in zip(own, others, strict=True)]
            yield _estimate(study, comparison, name, both, sides)


def _estimate(
    study: Study,
    comparison: Comparison,
    name: str,
    both: Sequence[tuple[float, float]],
    sides: Sequence[Sides],
) -> Estimate:
    blocks = [(*pair, taken) for pair, taken in zip(both, sides, strict=True) if min(pair) > 0]
    if UNITS[name] == "%" and len(blocks) < len(both):
        # What is often nothing at all has no ratio: that of the other blocks alone would be their luck.
        blocks = []
    found = [(log_ratio(name, *block), log_ratio_of_totals(name, block[2])) for block in blocks]
    logs = [ratio for ratio, _ in found if ratio is not None]
    never = not any(baseline for _, baseline in both)
    return Estimate(
        comparison=comparison,
        outcome=name,
        pairs=tuple((value, baseline) for value, baseline, _ in blocks),
        alone=tuple(value for value, _ in both if value > 0) if never else (),
        ratio=stats.interval(logs, study.confidence) if logs else None,
        totals=tuple((total, ratio) for ratio, total in found if ratio is not None and total is not None),
    )
