"""What was predicted of mixes beside what they cost when they were measured. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tlstax.findings.core.blocks import block_rows
from tlstax.findings.model.calibration import (
    CLIENT_CPU,
    READ,
    RECEIVED,
    SENT,
    SERVER_CPU,
    TIME,
    Calibrated,
    MeasuredMix,
    measured_mixes,
)
from tlstax.findings.model.predict import costs, server_of
from tlstax.records.trial import StoredRun
from tlstax.results.interval import Interval
from tlstax.results.validation import Status, ValidatedCost, ValidatedOutcome, Validation
from tlstax.study.outcomes import OUTCOMES


def validation(model: Calibrated, stored: StoredRun) -> Validation:
    """Every mix of the run that the model can predict, with its costs as predicted and as measured."""
    measured = measured_mixes(block_rows(stored, READ))
    return validation_of(model, measured, run=stored.header.run, status=stored.status)


def validation_of(
    model: Calibrated, measured: Sequence[MeasuredMix], *, run: str, status: Status
) -> Validation:
    """The same of mixes that were measured in this run, which ended so."""
    found = tuple(cost for own in measured for cost in _costs_of(model, own))
    names = dict.fromkeys(cost.outcome for cost in found)
    return Validation(
        calibration_run=model.header.run,
        validation_run=run,
        server=server_of(model),
        confidence=model.header.study.confidence,
        outcomes=tuple(_outcome(name, [cost for cost in found if cost.outcome == name]) for name in names),
        costs=found,
        status=status,
    )


def _costs_of(model: Calibrated, own: MeasuredMix) -> Iterator[ValidatedCost]:
    """Times of what was measured with one connection at a time, CPU times of what was with several."""
    predicted = costs(model, own.mix, own.rtt_ms)
    exact = {SENT: predicted.sent_bytes, RECEIVED: predicted.received_bytes}
    if own.connections == min(model.fits):
        yield from _cost(own, TIME, predicted.time_us)
        for name, point in exact.items():
            confidence = predicted.time_us.confidence
            alone = Interval(point=point, low=None, high=None, confidence=confidence, blocks=own.blocks)
            yield from _cost(own, name, alone)
    if own.connections == max(model.fits):
        yield from _cost(own, SERVER_CPU, predicted.server_cpu_us)
        yield from _cost(own, CLIENT_CPU, predicted.client_cpu_us)


def _cost(own: MeasuredMix, name: str, predicted: Interval) -> Iterator[ValidatedCost]:
    measured = own.values.get(name)
    if measured is None:
        return
    low, high = predicted.low or predicted.point, predicted.high or predicted.point
    yield ValidatedCost(
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
