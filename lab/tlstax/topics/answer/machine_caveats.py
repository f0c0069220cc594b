"""What the machine did to a run: time that others took, segments that were sent again."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.findings.core.processors import shares, together, window_slices
from tlstax.findings.core.wording import percent
from tlstax.records.trial import TrialRecord
from tlstax.support.text import counted

MUCH_STEAL = 0.01
"""Share of the processors' time, taken by the host during the windows, above which it is said."""

MUCH_RETRANSMITTED = 0.01
"""Share of the TCP segments sent, above which it is said that some were sent again. Below it they are mostly
probes of the sender, whose answer takes longer than a round trip (RFC 8985, tail loss probe)."""

BESIDE_ANOTHER = (
    "another run was measuring on the same processors at the same time: each took time from the other, and "
    "times scatter"
)


def of_machine(trials: Sequence[TrialRecord]) -> list[str]:
    """What bears on all results of these trials."""
    return [*_beside_another(trials), *_stolen(trials), *_retransmitted(trials)]


def _beside_another(trials: Sequence[TrialRecord]) -> list[str]:
    disturbed = sum(record.beside_another for record in trials)
    if not disturbed:
        return []
    return [f"{BESIDE_ANOTHER} ({disturbed} of {counted(len(trials), 'trial')})"]


def _stolen(trials: Sequence[TrialRecord]) -> list[str]:
    everything = together(window_slices(trials))
    all_trials = shares(everything) if everything is not None else None
    if all_trials is None or all_trials.steal / 100 <= MUCH_STEAL:
        return []
    return [
        f"the host took {percent(all_trials.steal / 100)} of the processors' time for others while trials "
        "ran: times are longer than they need be, and scatter"
    ]


def _retransmitted(trials: Sequence[TrialRecord]) -> list[str]:
    seen = [record.window.wire for record in trials if record.window is not None and record.window.wire]
    bad = [
        wire
        for wire in seen
        if wire.tcp_segments_retransmitted > MUCH_RETRANSMITTED * _sent(wire.tcp_segments_sent)
    ]
    if not bad:
        return []
    again, sent = (
        sum(wire.tcp_segments_retransmitted for wire in bad),
        sum(wire.tcp_segments_sent for wire in bad),
    )
    return [
        f"in {len(bad)} of {counted(len(seen), 'trial')} more than {percent(MUCH_RETRANSMITTED)} of the TCP "
        f"segments were sent again ({again:,} of {sent:,}, on the whole machine): lost, or answered late"
    ]


def _sent(segments: int) -> int:
    """At least one, so that retransmissions alone are many."""
    return max(1, segments)
