"""What was predicted of mixes beside what they cost when they were measured. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from tlstax.findings.core.stats import geometric_mean
from tlstax.findings.model.calibration import (
    CLIENT_CPU,
    PATH_CPU,
    RECEIVED,
    SENT,
    SERVER_CPU,
    TIME,
    Calibrated,
    MeasuredMix,
    mixes_of,
)
from tlstax.findings.model.parts import parts_of
from tlstax.findings.model.predict import costs
from tlstax.records.trial import StoredRun
from tlstax.results.interval import Interval
from tlstax.results.validation import Speed, Status, ValidatedCost, ValidatedOutcome, Validation
from tlstax.study.mixes import Mix
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.grouping import grouped

COUNTED = (SENT, RECEIVED)
"""Outcomes that are counts: no machine is faster at them."""


def validation(model: Calibrated, stored: StoredRun) -> Validation:
    """Every mix of the run that the model can predict, with its costs as predicted and as measured."""
    measured = [_as_far_as_it_was(own, stored) for own in mixes_of(stored)]
    return validation_of(model, measured, run=stored.header.run, status=stored.status)


def _as_far_as_it_was(own: MeasuredMix, stored: StoredRun) -> MeasuredMix:
    """The mix with the round trip time that was measured, somewhat longer than what was asked for."""
    distances = [
        record.distance
        for record in stored.measured
        if record.distance is not None and Mix.of(record.trial.case.typed) == own.mix
    ]
    seen = [each for found in distances for each in (found.before, found.after) if each is not None]
    seen_ms = [each.median_ms for each in seen]
    return own if not own.rtt_ms or not seen_ms else replace(own, rtt_ms=round(fmean(seen_ms), 3))


def validation_of(
    model: Calibrated, measured: Sequence[MeasuredMix], *, run: str, status: Status
) -> Validation:
    """The same of mixes that were measured in this run, which ended so.

    Mixes that the model knows show how fast the machine is now, and new ones are expected at that speed: a
    virtual machine is some per cent faster or slower an hour later.
    """
    known = set(model.mixes)
    again = [own for own in measured if own.mix in known and not own.rtt_ms]
    new = [own for own in measured if own not in again and model.carrying(own.mix).knows(parts_of(own.mix))]
    then = {
        name: [cost.measured / cost.predicted.point for cost in found] for name, found in _named(model, again)
    }
    speeds = {name: geometric_mean(ratios) for name, ratios in then.items()}
    found = tuple(cost for own in new for cost in _costs_of(model, own, speeds))
    names = dict.fromkeys(cost.outcome for cost in found)
    return Validation(
        calibration_run=model.origin.run,
        validation_run=run,
        server=model.origin.server,
        confidence=model.origin.study.confidence,
        speeds=tuple(
            Speed(outcome=name, words=OUTCOMES[name].words, factor=factor, mixes=len(then[name]))
            for name, factor in speeds.items()
        ),
        outcomes=tuple(_outcome(name, [cost for cost in found if cost.outcome == name]) for name in names),
        costs=found,
        status=status,
        scaling=model.scaling,
    )


def _named(model: Calibrated, measured: Sequence[MeasuredMix]) -> Iterator[tuple[str, list[ValidatedCost]]]:
    """The costs of these mixes by their outcome; counts have no speed."""
    costs = [cost for own in measured for cost in _costs_of(model, own) if cost.outcome not in COUNTED]
    yield from grouped(costs, lambda cost: cost.outcome).items()


def _costs_of(
    model: Calibrated, own: MeasuredMix, speeds: Mapping[str, float] | None = None
) -> Iterator[ValidatedCost]:
    """Times of what was measured with one connection at a time, CPU times of what was with several.

    CPU times at a distance are left out, and those through a path on which the server waits as long: it uses
    some by itself then, and more to wake up, and that is no part of a connection. `speeds` say how much more
    is expected of an outcome; a distance is as long at any speed.
    """
    predicted = costs(model, own.mix, own.rtt_ms)
    counted = {SENT: predicted.sent_bytes, RECEIVED: predicted.received_bytes}
    found: dict[str, Interval] = {}
    if own.connections == min(model.fits):
        found[TIME] = predicted.time_us
        for name, point in counted.items():
            found[name] = Interval(
                point=point,
                low=None,
                high=None,
                confidence=predicted.time_us.confidence,
                blocks=own.blocks,
            )
    if own.connections == max(model.fits) and not own.rtt_ms and not model.carrying(own.mix).mostly_waits:
        found |= {SERVER_CPU: predicted.server_cpu_us, CLIENT_CPU: predicted.client_cpu_us}
        if predicted.path_cpu_us is not None:
            found[PATH_CPU] = predicted.path_cpu_us
    for name, expected in found.items():
        if name in own.values:
            factor = 1.0 if own.rtt_ms else (speeds or {}).get(name, 1.0)
            yield _compared(own, name, _times(expected, factor))


def _times(expected: Interval, factor: float) -> Interval:
    return expected.each(lambda value: value * factor)


def _compared(own: MeasuredMix, name: str, predicted: Interval) -> ValidatedCost:
    low, high = predicted.low or predicted.point, predicted.high or predicted.point
    measured = own.values[name]
    return ValidatedCost(
        outcome=name,
        mix=own.mix,
        rtt_ms=own.rtt_ms,
        connections=own.connections,
        predicted=predicted,
        measured=measured,
        error=measured / predicted.point - 1,
        is_within=low <= measured <= high,
    )


def _outcome(name: str, found: Sequence[ValidatedCost]) -> ValidatedOutcome:
    errors = np.abs([cost.error for cost in found])
    return ValidatedOutcome(
        outcome=name,
        words=OUTCOMES[name].words,
        mixes=len(found),
        median_error=float(np.median(errors)),
        ninth_decile_error=float(np.quantile(errors, 0.9)),
        within_share=sum(cost.is_within for cost in found) / len(found),
        has_interval=any(cost.predicted.low is not None for cost in found),
    )
