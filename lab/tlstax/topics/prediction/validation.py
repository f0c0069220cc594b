"""How well predictions held when they were measured: what `predict --validate` shows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import mul
from statistics import fmean
from typing import Literal

import numpy as np
from pydantic import Field
from rich.console import RenderableType
from rich.text import Text

from tlstax.contract import Frozen
from tlstax.findings.core.stats import geometric_mean
from tlstax.findings.core.wording import percent, signed_percent
from tlstax.records.trial import StoredRun
from tlstax.results.rows import Row
from tlstax.study.mixes import Mix
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core.printed import aligned, printed, styled
from tlstax.topics.prediction.model import (
    CLIENT_CPU,
    COUNTS,
    PATH_CPU,
    RECEIVED,
    SENT,
    SERVER_CPU,
    TIME,
    Calibrated,
    MeasuredMix,
    Scaling,
    mixes_of,
)
from tlstax.topics.prediction.parts import parts_of
from tlstax.topics.prediction.prediction import UNITS, costs, mix_words

Status = Literal["running", "complete", "interrupted", "failed"]

SHORT = {
    TIME: "Time of a connection",
    SERVER_CPU: "Server CPU",
    CLIENT_CPU: "Client CPU",
    PATH_CPU: "CPU of paths",
    SENT: "Bytes sent",
    RECEIVED: "Bytes received",
}

FURTHEST = 5
"""How many of the costs that were furthest off are named."""


class Validation(Frozen):
    """The document that `predict --validate --json` prints: which runs it is from, how far off it was.

    A row of the role `cost` is one cost of one mix: `value` as predicted, at the speed that the machine had
    when it was `measured`, which was more than predicted by the share `error`; `is_within` says whether the
    interval holds it. A row of the role `outcome` is how far off the predictions of one outcome were, of so
    many `mixes`: the median of the absolute errors, and within what nine in ten were; of `within_share` the
    interval held what was measured, and counts have none. A `speed` is what known mixes cost when they were
    measured again, over what they had cost at first. `scaling` is there where it was predicted from what was
    measured on another machine.
    """

    schema_version: Literal[2] = Field(default=2, alias="schema")
    calibration_run: str
    validation_run: str
    server: str
    confidence: float
    rows: tuple[Row, ...]
    status: Status
    scaling: Scaling | None

    def of(self, role: str) -> tuple[Row, ...]:
        """The rows of a role."""
        return tuple(row for row in self.rows if row.role == role)


def validation(model: Calibrated, stored: StoredRun) -> Validation:
    """Every mix of the run that the model can predict, with its costs as predicted and as measured."""
    measured = [_as_far_as_it_was(own, stored) for own in mixes_of(stored)]
    return validation_of(model, measured, run=stored.header.run, status=stored.status)


def _as_far_as_it_was(own: MeasuredMix, stored: StoredRun) -> MeasuredMix:
    """The mix with the round trip time that was measured, somewhat longer than what was asked for."""
    seen_ms = [
        seen.median_ms
        for record in stored.measured
        if record.distance is not None and Mix.of(record.trial.case.levels) == own.mix
        for seen in (record.distance.before, record.distance.after)
        if seen is not None
    ]
    if not own.rtt_ms or not seen_ms:
        return own
    return own.model_copy(update={"rtt_ms": round(fmean(seen_ms), 3)})


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
    then = _by_outcome(cost for own in again for cost in _held(model, own, {}))
    speeds = {
        name: geometric_mean([1 + (cost.number("error") or 0.0) for cost in own])
        for name, own in then.items()
        if name not in COUNTS
    }
    costs_now = tuple(cost for own in new for cost in _held(model, own, speeds))
    return Validation(
        calibration_run=model.origin.run,
        validation_run=run,
        server=model.origin.server,
        confidence=model.origin.study.confidence,
        rows=(
            *(
                Row(outcome=name, unit="1", role="speed", value=factor, more={"mixes": len(then[name])})
                for name, factor in speeds.items()
            ),
            *(_outcome(name, own) for name, own in _by_outcome(costs_now).items()),
            *costs_now,
        ),
        status=status,
        scaling=model.scaling,
    )


def _by_outcome(costs: Iterable[Row]) -> dict[str, list[Row]]:
    return grouped(costs, lambda cost: cost.outcome)


def _held(model: Calibrated, own: MeasuredMix, speeds: Mapping[str, float]) -> Iterator[Row]:
    """Times of what was measured with one connection at a time, CPU times of what was with several.

    CPU times at a distance are left out, and those through a path on which the server waits as long: it uses
    some by itself then, and more to wake up, and that is no part of a connection. `speeds` say how much more
    is expected of an outcome; a distance is as long at any speed.
    """
    names: list[str] = []
    if own.connections == min(model.fits):
        names += [TIME, SENT, RECEIVED]
    if own.connections == max(model.fits) and not own.rtt_ms and not model.carrying(own.mix).mostly_waits:
        names += [SERVER_CPU, CLIENT_CPU, PATH_CPU]
    predicted_here = costs(model, own.mix, own.rtt_ms)
    for name in (name for name in names if name in predicted_here and name in own.values):
        factor = 1.0 if own.rtt_ms else speeds.get(name, 1.0)
        predicted = predicted_here[name].each(partial(mul, factor))
        measured, point = own.values[name], predicted.point
        ends = (point, point) if name in COUNTS else (predicted.low or point, predicted.high or point)
        yield Row(
            outcome=name,
            unit=UNITS[name],
            role="cost",
            case={**own.mix.model_dump(), "rtt_ms": own.rtt_ms, "connections": own.connections},
            value=point,
            interval=None if name in COUNTS else predicted,
            blocks=own.blocks,
            more={
                "measured": measured,
                "error": measured / point - 1,
                "is_within": ends[0] <= measured <= ends[1],
            },
        )


def _outcome(name: str, costs: Sequence[Row]) -> Row:
    errors = np.abs([cost.number("error") or 0.0 for cost in costs])
    within = fmean(bool(cost.more["is_within"]) for cost in costs)
    return Row(
        outcome=name,
        unit="1",
        role="outcome",
        value=float(np.median(errors)),
        more={
            "mixes": len(costs),
            "ninth_decile_error": float(np.quantile(errors, 0.9)),
            "within_share": None if name in COUNTS else within,
        },
    )


def validation_text(found: Validation, *, width: int, colour: bool) -> str:
    """The table, `width` columns wide."""
    names = ("", "mixes", "median error", "9 in 10 within", "in interval")
    errors = [tuple(styled(name, "bold") for name in names), *map(_errors, found.of("outcome"))]
    parts: list[RenderableType] = [
        styled(f"Predicted for {found.server} and measured afterwards", "bold"),
        Text(),
        aligned(("words", "figures", "figures", "figures", "figures"), errors),
    ]
    if costs := found.of("cost"):
        furthest = sorted(costs, key=lambda cost: -abs(cost.number("error") or 0.0))[:FURTHEST]
        rows = ((signed_percent(cost.number("error") or 0.0), _cost_words(cost)) for cost in furthest)
        parts += [Text(), styled("Furthest off", "bold"), aligned(("figure", "words"), rows)]
    parts.append(Text())
    for own in found.of("speed"):
        change = signed_percent((own.value or 0.0) - 1)
        words = (
            f"{SHORT[own.outcome]}: {own.word('mixes')} known mixes took {change} against when the parts "
            "were measured, which is the machine's and taken out."
        )
        parts.append(styled(words))
    scaled_by = found.scaling.run if found.scaling is not None else None
    here = f", scaled by run {scaled_by}" if scaled_by is not None else ""
    end = (
        f"Predicted from run {found.calibration_run}{here}; the mixes were drawn at random and measured in "
        f"run {found.validation_run}, on other processes of the server."
    )
    return printed([*parts, styled(end)], width=width, colour=colour)


def _errors(own: Row) -> tuple[str | Text, ...]:
    within = own.number("within_share")
    errors = (percent(own.value or 0.0), percent(own.number("ninth_decile_error") or 0.0))
    return SHORT[own.outcome], own.word("mixes"), *errors, "exact" if within is None else percent(within)


def _cost_words(cost: Row) -> str:
    rtt_ms = float(cost.case["rtt_ms"])
    mix = Mix.model_validate({name: cost.case[name] for name in Mix.model_fields})
    away = f", {rtt_ms:g} ms away" if rtt_ms else ""
    at_once = counted(int(cost.case["connections"]), "connection")
    return f"{SHORT[cost.outcome]}: {mix_words(mix)}{away}, {at_once} at once"
