"""How well predictions hold: what a run's header says that its cases would cost, beside what they cost. Pure.

Mixes that the parts were fitted to are measured again with the new ones: they show how fast the machine is
now, and new ones are expected at that speed. A virtual machine is some per cent faster or slower an hour
later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from tlstax.plan.prediction_studies import DrawnMix
from tlstax.records.beforehand import PredictedCase, PredictedOutcome, Predictions
from tlstax.records.trial import StoredRun
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import More, Row, Told
from tlstax.stats.outcomes import UNITS
from tlstax.stats.stats import geometric_mean
from tlstax.stats.wording import each, percent, signed_percent, with_ends
from tlstax.study.mixes import Mix
from tlstax.study.product import Family, family_of
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core import figures
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Items, OnPage, Section, Words
from tlstax.topics.core.table import Line, Lines, Number, Table
from tlstax.topics.core.topic import Run, Topic
from tlstax.topics.prediction.model import (
    CLIENT_CPU,
    COUNTS,
    PATH_CPU,
    RECEIVED,
    ROUND_TRIPS,
    SENT,
    SERVER_CPU,
    TIME,
    VERSION,
    Calibrated,
    MeasuredMix,
    mixes_of,
)
from tlstax.topics.prediction.parts import parts_of
from tlstax.topics.prediction.prediction import AROUND_A_ROUND_TRIP, costs, mix_words

SHORT = {
    TIME: "Time of a connection",
    SERVER_CPU: "Server CPU",
    CLIENT_CPU: "Client CPU",
    PATH_CPU: "CPU of paths",
    SENT: "Bytes sent",
    RECEIVED: "Bytes received",
}

FURTHEST = 5
"""How many of the costs that were furthest off are named where room is short."""

PARTS, SPEED, OUTCOME, COST = "parts", "speed", "outcome", "cost"
NOT_MEASURED, NOT_PREDICTED = "not measured", "not predicted"
"""The roles of rows."""

MODEL, PARTS_RUN, SCALED_BY = "model_version", "parts_run", "scaled_by_run"
PREDICTED, LOW, HIGH = "predicted", "predicted_low", "predicted_high"
IS_WITHIN, MIXES, DECILE, SHARE = "is_within", "mixes", "ninth_decile_error", "within_share"
COLUMNS = (
    Column(
        PREDICTED,
        "REAL",
        "what was predicted before anything was measured; baseline_value is this at the machine's speed and "
        "the distance that there were when it was measured",
        "that of `unit`",
    ),
    Column(LOW, "REAL", "the low end of the prediction's interval; empty: a count", "that of `unit`"),
    Column(HIGH, "REAL", "the high end of it", "that of `unit`"),
    Column(IS_WITHIN, "INTEGER", "1 where the prediction's interval holds what was measured"),
    Column(MIXES, "INTEGER", "how many mixes the row is from"),
    Column(DECILE, "REAL", "the relative error within which nine in ten predictions are", "1"),
    Column(SHARE, "REAL", "of what share of the predictions the interval holds what was measured", "1"),
    Column(MODEL, "INTEGER", "the version of the model that predicted"),
    Column(PARTS_RUN, "TEXT", "the run in which the parts of connections were measured"),
    Column(
        SCALED_BY,
        "TEXT",
        "the run that scaled them to this machine; empty: they are its own, or as they were",
    ),
)


def predictions(model: Calibrated, mixes: Iterable[DrawnMix]) -> Predictions:
    """What each mix will cost with the fewest connections at once and with the most, for a run to keep.

    Times and bytes are of one connection at a time, CPU times of several. CPU times at a distance are left
    out, and those through a path on which the server waits as long: it uses some by itself then, and more to
    wake up, and that is no part of a connection.
    """
    known, at_once = set(model.mixes), dict.fromkeys((min(model.fits), max(model.fits)))
    return Predictions(
        model=VERSION,
        run=model.origin.run,
        at=model.origin.at,
        server=model.origin.server,
        processor=model.origin.processor,
        scaling=model.scaling,
        cases=tuple(
            _predicted(model, own, connections, is_known=own.mix in known and not own.rtt_ms)
            for own, connections in product(mixes, at_once)
        ),
    )


def _predicted(model: Calibrated, own: DrawnMix, connections: int, *, is_known: bool) -> PredictedCase:
    levels = {**own.levels(), "connections": connections}
    carrying = model.carrying(own.mix)
    if not carrying.knows(parts_of(own.mix)):
        return PredictedCase(levels=levels)
    names: list[str] = []
    if connections == min(model.fits):
        names += [TIME, SENT, RECEIVED]
    if connections == max(model.fits) and not own.rtt_ms and not carrying.mostly_waits:
        names += [SERVER_CPU, CLIENT_CPU, PATH_CPU]
    here = costs(model, own.mix, own.rtt_ms)
    return PredictedCase(
        levels=levels,
        is_known=is_known,
        round_trips=here[ROUND_TRIPS].point,
        outcomes={name: _outcome(name, here[name]) for name in names if name in here},
    )


def _outcome(name: str, cost: Interval) -> PredictedOutcome:
    if name in COUNTS:
        return PredictedOutcome(value=cost.point)
    return PredictedOutcome(value=cost.point, low=cost.low, high=cost.high)


class _Case(NamedTuple):
    """A case as it was predicted, and as it was measured; None where none of its trials counts."""

    predicted: PredictedCase
    mix: Mix | None
    measured: MeasuredMix | None

    @property
    def label(self) -> str:
        """Such as "TLS 1.3, RSA 2048, P-256, 3 statements of 900 bytes, 5 ms away, 4 connections at once"."""
        case = self.predicted.levels
        away = f", {case.rtt_ms:g} ms away" if case.rtt_ms else ""
        of_mix = mix_words(self.mix) if self.mix is not None else ""
        return f"{of_mix}{away}, {counted(case.connections, 'connection')} at once"


def rows(run: Run) -> Iterator[Row]:
    """What was predicted beside what was measured; nothing of a run that nothing was predicted of.

    A row of the role `cost` has one cost of one mix as measured, beside what was expected of it: as
    predicted, at the speed that the machine had meanwhile and the distance that was measured. Its ratio has
    the prediction's interval. `not measured` has what was predicted alone, `not predicted` a case of which
    the parts do not know one. An `outcome` is how far off the predictions of it were: the median of the
    absolute errors. A `speed` is what known mixes cost when they were measured again, over what they had cost
    at first.
    """
    found = run.stored.header.predictions
    if found is None:
        return
    cases = list(_cases(found, run.stored))
    then = [cost for case in cases if case.predicted.is_known for cost in _costs(case, run, {})]
    speeds = {
        name: geometric_mean([cost.ratio.point for cost in own])
        for name, own in grouped(then, lambda cost: cost.outcome).items()
        if name not in COUNTS
    }
    new = [case for case in cases if not case.predicted.is_known]
    beside = [cost for case in new for cost in _costs(case, run, speeds)]
    scaled_by = found.scaling.run if found.scaling is not None else None
    yield Row(
        role=PARTS,
        label=found.server,
        more=_known({MODEL: found.model, PARTS_RUN: found.run, SCALED_BY: scaled_by}),
    )
    for name, speed in speeds.items():
        again = sum(cost.outcome == name for cost in then)
        yield Row(outcome=name, unit="1", role=SPEED, value=speed, more={MIXES: again})
    yield from (_summary(name, own) for name, own in grouped(beside, lambda cost: cost.outcome).items())
    yield from beside
    for case in new:
        seen = case.measured.values if case.measured is not None else {}
        for name, own in case.predicted.outcomes.items():
            if name not in seen:
                yield _row(case, name, role=NOT_MEASURED, more=_figures(own))
        if case.predicted.round_trips is None:
            yield Row(role=NOT_PREDICTED, label=case.label, case=case.predicted.levels)


def _cases(found: Predictions, stored: StoredRun) -> Iterator[_Case]:
    measured = {(own.mix, own.connections, own.rtt_ms): own for own in mixes_of(stored)}
    product = _product(stored)
    for predicted in found.cases:
        case = predicted.levels
        mix = Mix.of(case, product)
        own = measured.get((mix, case.connections, case.rtt_ms)) if mix is not None else None
        yield _Case(predicted, mix, None if own is None else _as_far_as_it_was(own, stored))


def _product(stored: StoredRun) -> Family:
    """Whose protocol the run's server speaks: a validation has one."""
    study = stored.header.study
    servers = study.levels_of().get("server", ())
    return family_of(study.product_at(str(servers[0]) if servers else None))


def _as_far_as_it_was(own: MeasuredMix, stored: StoredRun) -> MeasuredMix:
    """The mix with the round trip time that was measured, somewhat longer than what was asked for."""
    seen_ms = [
        seen.median_ms
        for record in stored.measured
        if record.distance is not None and Mix.of(record.trial.case.levels, own.mix.product) == own.mix
        for seen in (record.distance.before, record.distance.after)
        if seen is not None
    ]
    if not own.rtt_ms or not seen_ms:
        return own
    return own.model_copy(update={"rtt_ms": round(fmean(seen_ms), 3)})


def _costs(case: _Case, run: Run, speeds: Mapping[str, float]) -> Iterator[Row]:
    """What was measured of the case, each beside what was expected: `speeds` times as much as predicted.

    A distance is as long at any speed.
    """
    predicted, measured = case.predicted, case.measured
    if measured is None:
        return
    asked_ms = predicted.levels.rtt_ms
    further_us = (predicted.round_trips or 0.0) * (measured.rtt_ms - asked_ms) * 1000
    for name, own in predicted.outcomes.items():
        if name not in measured.values:
            continue
        value, more_us = measured.values[name], further_us if name == TIME else 0.0
        speed = 1.0 if asked_ms else speeds.get(name, 1.0)
        expected = own.value * speed + more_us
        low, high = (
            None if end is None else end * speed + more_us * (1 + side * AROUND_A_ROUND_TRIP)
            for side, end in ((-1, own.low), (1, own.high))
        )
        yield _row(
            case,
            name,
            role=COST,
            value=value,
            baseline_value=expected,
            interval=Interval(
                point=value / expected,
                low=None if high is None else value / high,
                high=None if low is None else value / low,
                confidence=run.study.confidence,
                blocks=measured.blocks,
            ),
            of="ratio",
            more=_figures(own, is_within=None if low is None or high is None else low <= value <= high),
        )


def _row(case: _Case, outcome: str, **fields: Any) -> Row:
    unit = UNITS[outcome]
    return Row(outcome=outcome, unit=unit, label=case.label, case=case.predicted.levels, **fields)


def _figures(own: PredictedOutcome, *, is_within: bool | None = None) -> dict[str, More]:
    return _known({PREDICTED: own.value, LOW: own.low, HIGH: own.high, IS_WITHIN: is_within})


def _known(more: Mapping[str, More]) -> dict[str, More]:
    """What there is of these."""
    return {name: value for name, value in more.items() if value is not None}


def _summary(name: str, costs: Sequence[Row]) -> Row:
    errors = np.abs([_error(cost) for cost in costs])
    within = None if name in COUNTS else fmean(bool(cost.more[IS_WITHIN]) for cost in costs)
    return Row(
        outcome=name,
        unit="1",
        role=OUTCOME,
        value=float(np.median(errors)),
        more=_known({MIXES: len(costs), DECILE: float(np.quantile(errors, 0.9)), SHARE: within}),
    )


def _error(cost: Row) -> float:
    """By what share it was more than expected."""
    return cost.ratio.point - 1


def sentences(run: Run, found: Sequence[Row]) -> Iterator[str]:
    """How many predictions held, and of what nothing is known: what was not measured, or not predicted."""
    told = Told(title="", rows=tuple(found))
    judged = [cost for cost in told.of(role=COST) if IS_WITHIN in cost.more]
    if judged:
        held = sum(bool(cost.more[IS_WITHIN]) for cost in judged)
        yield (
            f"{held} of {counted(len(judged), 'prediction')} hold what was measured within their "
            f"{percent(run.study.confidence)} intervals; they were written down before the first trial"
        )
    if left := told.of(role=NOT_MEASURED):
        of_cases = counted(len({row.label for row in left}), "case")
        why = _ENDED[run.stored.status]
        yield f"not validated: {counted(len(left), 'prediction')} of {of_cases}, as {why}"
    if unknown := told.of(role=NOT_PREDICTED):
        yield f"not predicted: {counted(len(unknown), 'case')}, of which the parts do not know one"


_ENDED = {
    "complete": "no trial of these is valid",
    "running": "these are still to be measured",
    "interrupted": "the run was interrupted before these were measured",
    "failed": "the run failed before these were measured",
}


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """How far off the predictions of each outcome were, which were furthest off, and at what speed."""
    (parts,) = told.of(role=PARTS)
    beside = sorted(told.of(role=COST), key=lambda cost: -abs(_error(cost)))
    heads = ("mixes", "median error", "9 in 10 within", "in interval")
    lines = [(SHORT[own.outcome], *_errors(own)) for own in told.of(role=OUTCOME)]
    scaled_by = f", scaled by run {parts.word(SCALED_BY)}" if parts.word(SCALED_BY) else ""
    version = f"by version {parts.word(MODEL)} of the model"
    basis = (
        f"Predicted from run {parts.word(PARTS_RUN)}{scaled_by}, {version}; "
        f"the mixes were drawn at random and measured in run {document.run}, on other processes of the "
        "server."
    )
    yield Section(
        (
            *([Table("", heads, lines, (), of="outcome")] if lines else []),
            OnPage(
                lambda: [_all_of(beside)], (Items(tuple(map(_words, beside[:FURTHEST])), "Furthest off"),)
            ),
            *(Words(_speed_words(own), aside=True) for own in told.of(role=SPEED)),
            Words(basis, aside=True),
        ),
        f"Predicted for {parts.label} and measured afterwards",
    )


def _errors(own: Row) -> tuple[str, str, str, str]:
    within = own.number(SHARE)
    errors = (percent(own.value or 0.0), percent(own.number(DECILE) or 0.0))
    return own.word(MIXES), *errors, "exact" if within is None else percent(within)


def _words(cost: Row) -> str:
    """A cost beside what was expected: "+5.2 %: Server CPU: …: 631 µs, expected 600 µs [550 µs … 650 µs]"."""
    value, ratio, said = cost.value or 0.0, cost.ratio, partial(figures.quantity, unit=cost.unit)
    low, high = (None if end is None else value / end for end in (ratio.high, ratio.low))
    expected = ratio.model_copy(update={"point": cost.baseline_value, "low": low, "high": high})
    words = f"{SHORT[cost.outcome]}: {cost.label}: {said(value)}"
    expected_words = with_ends(expected, each(said), form="[…]")
    return f"{signed_percent(_error(cost))}: {words}, expected {expected_words}"


def _all_of(beside: Sequence[Row]) -> Table:
    """Every cost beside what was expected, those furthest off first, outcome by outcome."""
    lines = tuple(
        Line(
            f"{SHORT[name]}, {UNITS[name]}",
            cost.label,
            (
                Number(cost.value),
                Number(cost.baseline_value),
                signed_percent(_error(cost)),
                ("yes" if cost.more[IS_WITHIN] else "no") if IS_WITHIN in cost.more else "",
            ),
        )
        for name, own in grouped(beside, lambda cost: cost.outcome).items()
        for cost in own
    )
    return Lines("Every prediction", ("measured", "expected", "error", "in interval"), lines, ()).whole()


def _speed_words(own: Row) -> str:
    change = signed_percent((own.value or 0.0) - 1)
    return (
        f"{SHORT[own.outcome]}: {own.word(MIXES)} known mixes took {change} against when the parts were "
        "measured, which is the machine's and taken out."
    )


TOPIC = Topic("validation", "Predictions beside what was measured", rows, sections, sentences, COLUMNS)
