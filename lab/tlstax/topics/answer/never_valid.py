"""Cases of a run of which no trial was valid: nothing can be told of them, and that is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.document import NeverValid
from tlstax.study.labels import full_label
from tlstax.support.grouping import grouped
from tlstax.support.text import counted


def never_valid(stored: StoredRun) -> tuple[NeverValid, ...]:
    """Each such case, in the order of its first trial; a control is left out where its baseline is there."""
    by_case = grouped(stored.measured, lambda record: record.trial.case.key())
    lost = [records for records in by_case.values() if _none_is_valid(records)]
    baselines = [records[0].trial.case.levels for records in lost if records[0].trial.case.role == "baseline"]
    return tuple(
        _told(stored, records)
        for records in lost
        if records[0].trial.case.role != "control" or records[0].trial.case.levels not in baselines
    )


def never_valid_words(found: Sequence[NeverValid]) -> Iterator[str]:
    """A sentence for each reason, with the first of the cases that it is the reason of."""
    for reason in dict.fromkeys(case.reason for case in found):
        first, *others = [case for case in found if case.reason == reason]
        label = f"{first.label} (and {counted(len(others), 'more case')})" if others else first.label
        none = f"none of {first.trials:,} trials was valid" if first.trials > 1 else "its trial was not valid"
        yield f"{label}: nothing can be told, as {none}: {reason}"


def _none_is_valid(records: Sequence[TrialRecord]) -> bool:
    return all(record.verdict.value != "valid" for record in records)


def _told(stored: StoredRun, records: Sequence[TrialRecord]) -> NeverValid:
    case = records[0].trial.case
    first = Counter(record.verdict.reasons[0] for record in records if record.verdict.reasons)
    return NeverValid(
        case=dict(case.levels),
        label=full_label(case, stored.header.study),
        trials=len(records),
        reason=first.most_common(1)[0][0] if first else "their evidence is missing",
    )
