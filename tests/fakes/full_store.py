"""A store whose disk gets full while trials are added."""

from __future__ import annotations

from tlstax.records.trial import TrialRecord
from tlstax.store import Store
from tlstax.support.errors import MachineFault


def until_full(store: Store, run: str, trials: tuple[TrialRecord, ...]) -> tuple[int, MachineFault]:
    """Adds the trials to the run until the disk is full; how many were kept, and the fault then."""
    for kept, record in enumerate(trials):
        try:
            store.add_trials(run, (record,))
        except MachineFault as fault:
            return kept, fault
    raise AssertionError("the disk never became full")
