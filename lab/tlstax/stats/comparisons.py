"""Which trials are compared with which: each case's valid trials beside its baseline's of the same block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tlstax.plan.order import cases
from tlstax.records.trial import TrialRecord
from tlstax.results.document import TrialCounts
from tlstax.stats.slices import Sides, turns
from tlstax.stats.wording import always_hello_retry, negotiated
from tlstax.study import Case, Study

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
        is_valid = control is not None and control.verdict.value == "valid"
        pairs.append(Pair(block, record, _beside(record, others[block]), control if is_valid else None))
    lost = [
        record
        for pair in pairs
        for record in ([pair.record, pair.baseline] if case != baseline else [pair.record])
        if record.verdict.value != "valid"
    ]
    return Comparison(
        case=case,
        baseline=baseline,
        pairs=tuple(p for p in pairs if p.record.verdict.value == p.baseline.verdict.value == "valid"),
        lost=tuple(lost),
        tried_blocks=len(tried),
    )
