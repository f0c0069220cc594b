"""Which trials are compared with which: each case's valid trials beside its baseline's of the same block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tlstax.plan.order import cases
from tlstax.records.trial import TrialRecord
from tlstax.results.document import TrialCounts
from tlstax.study import Case, Study


@dataclass(frozen=True)
class Pair:
    """A trial and the baseline's trial of the same block and group, both valid."""

    block: int
    record: TrialRecord
    baseline: TrialRecord


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


def compare(study: Study, records: Iterable[TrialRecord]) -> tuple[Comparison, ...]:
    """Every case of the study beside its baseline, in the plan's order; a baseline beside itself."""
    by_case: dict[str, dict[int, TrialRecord]] = {}
    for record in records:
        by_case.setdefault(record.trial.case.key(), {})[record.trial.block] = record
    comparisons = []
    baseline = None
    for case in cases(study):
        baseline = case if case.role == "baseline" else baseline
        if baseline is not None:
            own, others = by_case.get(case.key(), {}), by_case.get(baseline.key(), {})
            comparisons.append(_comparison(case, baseline, own, others))
    return tuple(comparisons)


def counts_of(records: Iterable[TrialRecord]) -> TrialCounts:
    """How these trials came out."""
    counted = Counter(record.verdict.value for record in records)
    return TrialCounts(valid=counted["valid"], invalid=counted["invalid"], unknown=counted["unknown"])


def _comparison(
    case: Case, baseline: Case, own: dict[int, TrialRecord], others: dict[int, TrialRecord]
) -> Comparison:
    tried = sorted(own.keys() & others.keys())
    pairs = [Pair(block, own[block], others[block]) for block in tried]
    both = {"own": own, "baseline": others} if case != baseline else {"own": own}
    lost = [run[block] for block in tried for run in both.values() if run[block].verdict.value != "valid"]
    return Comparison(
        case=case,
        baseline=baseline,
        pairs=tuple(p for p in pairs if p.record.verdict.value == p.baseline.verdict.value == "valid"),
        lost=tuple(lost),
        tried_blocks=len(tried),
    )
