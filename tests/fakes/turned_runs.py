"""A run whose cases took turns and were watched, so that it has rows in every table."""

from __future__ import annotations

from fake_slices import slices_of
from observed_windows import seconds, ticks, window
from report_runs import changed, exact_run
from tlstax.records.trial import StoredRun, TrialRecord


def in_turns_and_watched() -> StoredRun:
    """The exact run with three slices in each trial and two seconds of a window; one trial has neither."""
    run = changed(exact_run(), _turned)
    first, *others = run.trials
    return run.model_copy(
        update={"trials": (first.model_copy(update={"slices": None, "window": None}), *others)}
    )


def _turned(record: TrialRecord) -> TrialRecord:
    place = record.trial.position + 1
    turns = [(10 * place, 1.0), (11 * place, 1.5), (12 * place, 1.1)]
    watched = window(*seconds(ticks(user=5 * place, idle=95), ticks(system=3, idle=97)))
    return record.model_copy(update={"slices": slices_of(turns, path=bool(place % 2)), "window": watched})
