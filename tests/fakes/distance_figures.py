"""What a run shows of distances, figure by figure, for tests that know each of them."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.findings.core.series import Series
from tlstax.records.trial import TrialRecord
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, RowSet, Told
from tlstax.topics.distance.curves import CLAIM, LIMIT, TOPIC, Figure
from told_runs import run_of


def told_of(series: Series, records: Iterable[TrialRecord] = ()) -> Told:
    """All that the run shows whose trials measured this series."""
    run = run_of(series)
    run.stored.measured = tuple(records)  # type: ignore[misc] # A stand-in has no such property.
    return TOPIC.told(run)


def of(known: RowSet, figure: Figure) -> Interval:
    """A figure that must be there."""
    found = known.interval(*figure)
    assert found is not None
    return found


def judged(known: RowSet, figure: Figure) -> str:
    """What is said of a figure that must be there."""
    row = known.row(*figure)
    assert row is not None
    return row.judgement


def limit(known: RowSet) -> float | None:
    """What round trips alone would make of the loss."""
    row = known.row(*LIMIT)
    return None if row is None else row.value


def claims_of(told: Told) -> list[tuple[Row, Row]]:
    """Each claim in its two meanings: in time, in proportion."""
    rows = told.of(role=CLAIM)
    return list(zip(rows[::2], rows[1::2], strict=True))
