"""Runs whose client counted what crossed the wire, and storms: exact counts, on top of fake trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fake_trials import fake_run, reconnecting, whole_tax
from tlstax.contract import PhaseWire
from tlstax.records.trial import DistanceObservation, RoundTripTime, StoredRun, TrialRecord
from tlstax.study import Study, override

Crossings = Mapping[str, tuple[int, int, int]]
"""Of each phase: round trips, bytes sent and bytes received, each time."""

PLAIN: Crossings = {
    "tcp_connect": (1, 0, 0),
    "greeting": (1, 0, 78),
    "authentication": (1, 190, 11),
    "connect": (3, 190, 89),
    "first_query": (1, 40, 210),
    "query": (1, 40, 210),
}
FULL: Crossings = {
    **PLAIN,
    "tls_handshake": (2, 700, 1900),
    "connect": (5, 930, 2050),
}
"""A handshake of TLS 1.3 with a HelloRetryRequest."""

TIMES = 50


def counted_run(
    crossings: Callable[[TrialRecord], Crossings] | None = None, study: Study | None = None
) -> StoredRun:
    """A run of reconnects in which every connection counted the same, unless told otherwise."""
    study = study or override(whole_tax(), "workload", ["reconnect"])
    told = crossings or (lambda record: PLAIN if record.trial.case.levels["tls"] == "off" else FULL)
    stored = fake_run(study, truth=lambda _: reconnecting(5_000, 190.0, 74.0, handshake=0.0), invalid=False)
    return _with_done(stored, lambda record: {"phase_wire": phase_wire(told(record))})


def phase_wire(crossings: Crossings, times: int = TIMES) -> dict[str, PhaseWire]:
    """What the client counted when each of these phases occurred N times."""
    return {
        phase: PhaseWire(
            times=times, round_trips=times * turns, bytes_sent=times * sent, bytes_received=times * received
        )
        for phase, (turns, sent, received) in crossings.items()
    }


def far(stored: StoredRun, rtt_ms: float) -> StoredRun:
    """The same run over a distance."""
    time = RoundTripTime(median_ms=rtt_ms, lowest_ms=rtt_ms, highest_ms=rtt_ms, samples=9)
    seen = DistanceObservation(
        rtt_ms=rtt_ms, jitter_ms=0, rate_mbit=0, made_by="tlstax-link", before=time, after=time
    )
    trials = tuple(record.model_copy(update={"distance": seen}) for record in stored.trials)
    return stored.model_copy(update={"trials": trials})


def storm_run(rounds_s: Callable[[TrialRecord], Sequence[float]], study: Study | None = None) -> StoredRun:
    """A run of storms of 100 connections whose rounds took so long."""
    if study is None:
        study = override(override(whole_tax(), "workload", ["storm"]), "connections", ["100"])
    stored = fake_run(study, truth=lambda _: reconnecting(5_000, 190.0, 74.0, handshake=0.0), invalid=False)

    def changes(record: TrialRecord) -> dict[str, object]:
        times = tuple(rounds_s(record))
        operations = 100 * len(times)
        # Closing takes time too, and is in no round.
        return {"rounds_s": times, "operations": operations, "elapsed_s": 2 * sum(times)}

    return _with_done(stored, changes)


def _with_done(stored: StoredRun, changes: Callable[[TrialRecord], Mapping[str, object]]) -> StoredRun:
    trials = []
    for record in stored.trials:
        assert record.done is not None
        done = record.done.model_copy(update=changes(record))
        trials.append(record.model_copy(update={"done": done}))
    return stored.model_copy(update={"trials": tuple(trials)})
