"""What measuring took of a server that is not ours: connections made there, and for how long. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.support.text import counted, duration


def connections_made(stored: StoredRun) -> int:
    """How many connections the trials of a run made: each operation's own, or those that were kept."""
    return sum(_made(record) for record in stored.trials)


def _made(record: TrialRecord) -> int:
    done, case = record.done, record.trial.case.typed
    if done is None:
        return 0
    return done.operations if case.reconnects else case.connections


def spent_words(runs: Sequence[StoredRun]) -> str:
    """The same in words; empty where nothing was measured there."""
    made = sum(connections_made(stored) for stored in runs)
    spent_s = sum(record.done.elapsed_s for stored in runs for record in stored.trials if record.done)
    if not made:
        return ""
    times = f"{duration(spent_s)} of work for one processor at the most"
    return f"{counted(f'{made:,}', 'connection')} were made there, two at once at the most: {times}"
