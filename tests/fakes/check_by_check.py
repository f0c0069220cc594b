"""What a single check says of a trial, apart from what all others say."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.records.trial import TrialRecord
from tlstax.study import Level
from tlstax.study.factors import CaseLevels


def doubts(
    check: Callable[[Complete], Iterator[Doubt]], record: TrialRecord, levels: dict[str, Level] | None = None
) -> list[tuple[str, str]]:
    """The weight and the sentence of each doubt; of a case with other levels than its own, where given."""
    assert record.ready is not None
    assert record.done is not None
    assert record.server is not None
    own = record.trial.case.levels if levels is None else CaseLevels.of(levels)
    found = check(Complete(own, record.ready, record.done, record.server, record))
    return [(doubt.weight, doubt.reason) for doubt in found]
