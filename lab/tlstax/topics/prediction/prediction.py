"""What a mix would cost, with one thing changed too; and how well that held when it was measured. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import add, mul
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, ValidationError

from tlstax.contract import Frozen
from tlstax.findings.core.stats import geometric_mean
from tlstax.records.trial import StoredRun
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.study.level_names import DIRECT
from tlstax.study.level_words import key_of
from tlstax.study.mixes import CHEAPEST_KEY, P256, Mix
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped
from tlstax.support.text import enumerated
from tlstax.topics.prediction.model import (
    CLIENT_CPU,
    COUNTS,
    PATH_CPU,
    RECEIVED,
    ROUND_TRIPS,
    SENT,
    SERVER_CPU,
    TIME,
    Calibrated,
    MeasuredMix,
    Scaling,
    mixes_of,
)
from tlstax.topics.prediction.parts import Parts, of_path, parts_of, statements_alone

FIRST_ROW, CORES = "time_to_first_row_us", "server_cores"

UNITS = {
    **dict.fromkeys((SERVER_CPU, CLIENT_CPU, PATH_CPU, TIME, FIRST_ROW), "us"),
    **dict.fromkeys((SENT, RECEIVED), "bytes"),
}
"""Of what is predicted; all else has none."""

AROUND_A_ROUND_TRIP = 0.12
"""By what share a round trip takes longer, or shorter, than its time: both sides wake up, and an answer of
several segments may be paced (BBR spreads the first ten over a third of one). It took 2 to 16 % more."""

FIRST_FLIGHT_BYTES = 16 << 10
"""What is taken to arrive within one round trip: an initial window of ten segments (RFC 6928), which the
handshake has opened somewhat further."""

Status = Literal["running", "complete", "interrupted", "failed"]


class Calibration(Frozen):
    """The run that the parts' costs are from.

    `unexplained` is by what share the mixes of that run differ from the sum of their parts (standard
    deviation, of the server's CPU time). `outside` says in what the mix lies outside of what was measured.
    `server_busy_share` is what share of a processor the server used meanwhile; where it `mostly_waited`, what
    it uses by itself is in the CPU times, and they say little of a server with other work. `scaling` is
    there where the run is one of another machine, whose measurements come with tlstax; `remark` says what
    else went on at that machine.
    """

    run: str
    at: str
    server: str
    processor: str
    blocks: int
    mixes: int
    unexplained: NonNegativeFloat
    outside: tuple[str, ...]
    server_busy_share: NonNegativeFloat
    mostly_waited: bool
    remark: str
    scaling: Scaling | None


class Prediction(Frozen):
    """The document that `predict --json` prints.

    Rows of the role `connection` are what one connection of the mix costs with all its statements, those of
    `in the clear` what the same work does without TLS and without a path. CPU times are those of a server
    that has several clients at once; `path_cpu_us_per_op` is of all programs between. `latency_mean_us` is
    how long it takes one client at a server without other work, at this distance, `time_to_first_row_us`
    until the answer to the first statement is there. `server_cores` is the server's CPU at `connects_per_s`,
    in processors. A `part` is what takes the server's CPU time, with the `amount` that there is of it in the
    mix. A `change` is what the mix costs with one thing changed (`remedy`), a `difference` and a `ratio` how
    that is beside the mix as it is; what saves the most of the server comes first.
    """

    schema_version: Literal[2] = Field(default=2, alias="schema")
    calibration: Calibration
    mix: Mix
    rtt_ms: NonNegativeFloat
    connects_per_s: PositiveFloat | None
    rows: tuple[Row, ...]

    def of(self, role: str, label: str = "") -> dict[str, Row]:
        """The rows of a role, and of a label where there are several, by outcome."""
        return {row.outcome: row for row in self.rows if row.role == role and label in {"", row.label}}


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


def prediction(
    model: Calibrated, mix: Mix, *, rtt_ms: float = 0.0, connects_per_s: float | None = None
) -> Prediction:
    """What the mix costs at this distance and rate. UserMistake where a part of it was not measured."""
    check_known(model, mix)
    everything, model = model, model.carrying(mix)
    if rtt_ms and mix.path != DIRECT:
        raise UserMistake(
            f"how often {mix.path} itself waits for its other end is not among the parts",
            remedy="leave the distance out, or measure it: `tlstax study run tunnels` does",
        )
    if rtt_ms and mix.answer_bytes > FIRST_FLIGHT_BYTES:
        raise UserMistake(
            f"how many round trips an answer of {mix.answer_bytes:,} bytes takes at a distance is not among "
            f"the parts, since it does not fit the {FIRST_FLIGHT_BYTES:,} bytes of a first flight",
            remedy="leave the distance out, or measure it: `tlstax study run bytes --set rtt_ms=20` does",
        )
    rate = connects_per_s
    whole = costs(model, mix, rtt_ms)
    rows = [*_cost_rows("connection", whole)]
    if rate is not None:
        cores = whole[SERVER_CPU].each(lambda us: us * rate / 1e6)
        rows.append(Row(outcome=CORES, unit="1", role="connection", interval=cores))
    return Prediction(
        calibration=_calibration(model, mix),
        mix=mix,
        rtt_ms=rtt_ms,
        connects_per_s=rate,
        rows=(
            *rows,
            *_cost_rows("in the clear", costs(everything, in_the_clear(mix), rtt_ms)),
            *_part_rows(model, parts_of(mix)),
            *_change_rows(model, mix, rtt_ms),
        ),
    )


def _cost_rows(role: str, costs: Mapping[str, Interval], words: str = "", remedy: str = "") -> Iterator[Row]:
    for name, own in costs.items():
        yield Row(
            outcome=name,
            unit=UNITS.get(name, "1"),
            role=role,
            label=words,
            value=own.point,
            interval=None if name in COUNTS else own,
            of="difference" if role == "difference" else "value",
            more={"remedy": remedy} if remedy else {},
        )


def check_known(model: Calibrated, mix: Mix) -> None:
    """UserMistake where the run did not measure a part of the mix, or its path."""
    if mix.path != DIRECT and mix.path not in model.through:
        raise UserMistake(
            f"what {mix.path} carries was not measured in run {model.origin.run}",
            remedy=f"measured are {enumerated(model.through)}"
            if model.through
            else "run the study `components` with it",
        )
    own_model = model.carrying(mix)
    for name in parts_of(mix):
        if not own_model.knows({name: 1}):
            known = [own for own in own_model.busy[SERVER_CPU].names if own.split()[0] == name.split()[0]]
            raise UserMistake(
                f"what {name} costs was not measured in run {model.origin.run}",
                remedy=f"measured are {enumerated(known)}" if known else "run the study `components` with it",
            )


def in_the_clear(mix: Mix) -> Mix:
    """The same work without TLS, and without a path."""
    return Mix(
        tls="off",
        auth=mix.auth,
        compression=mix.compression,
        statements=mix.statements,
        answer_bytes=mix.answer_bytes,
    )


def costs(model: Calibrated, mix: Mix, rtt_ms: float) -> dict[str, Interval]:
    """What a connection of the mix costs with its statements, by outcome."""
    return _costs_of(model.carrying(mix), parts_of(mix), _first_row(mix), rtt_ms)


def _costs_of(model: Calibrated, parts: Parts, first_row: Parts, rtt_ms: float) -> dict[str, Interval]:
    alone, busy = model.alone, model.busy
    carried = of_path(parts)
    return {
        SERVER_CPU: busy[SERVER_CPU].predicted(parts),
        CLIENT_CPU: busy[CLIENT_CPU].predicted(parts),
        **({PATH_CPU: busy[PATH_CPU].predicted(carried)} if carried else {}),
        TIME: _time(model, parts, rtt_ms),
        FIRST_ROW: _time(model, first_row, rtt_ms),
        **{name: alone[name].cost(parts) for name in (ROUND_TRIPS, SENT, RECEIVED)},
    }


def _time(model: Calibrated, parts: Parts, rtt_ms: float) -> Interval:
    """The time on one machine, and the round trips, each about as long as the distance says."""
    away_us = _round_trips(model, parts) * rtt_ms * 1000
    here = model.alone[TIME].predicted(parts)
    return Interval(
        point=here.point + away_us,
        low=None if here.low is None else here.low + away_us * (1 - AROUND_A_ROUND_TRIP),
        high=None if here.high is None else here.high + away_us * (1 + AROUND_A_ROUND_TRIP),
        confidence=here.confidence,
        blocks=here.blocks,
    )


def _round_trips(model: Calibrated, parts: Parts) -> float:
    return model.alone[ROUND_TRIPS].cost(parts).point


def _first_row(mix: Mix) -> dict[str, float]:
    return parts_of(mix.but(statements=1))


def _calibration(model: Calibrated, mix: Mix) -> Calibration:
    origin, fit = model.origin, model.busy[SERVER_CPU]
    return Calibration(
        run=origin.run,
        at=origin.at,
        server=origin.server,
        processor=origin.processor,
        blocks=fit.blocks,
        mixes=len(model.mixes),
        unexplained=fit.unexplained,
        outside=tuple(outside(model, mix)),
        server_busy_share=model.server_busy_share,
        mostly_waited=model.mostly_waits,
        remark=origin.remark,
        scaling=model.scaling,
    )


def outside(model: Calibrated, mix: Mix) -> Iterator[str]:
    """In what the mix lies outside of the range of those that were measured."""
    statements = [own.statements for own in model.mixes]
    sizes = [own.answer_bytes for own in model.mixes if own.compression == mix.compression]
    if not min(statements) <= mix.statements <= max(statements):
        known = f"{min(statements)} to {max(statements)} were measured"
        yield f"{mix.statements} statements a connection, where {known}"
    if not min(sizes) <= mix.answer_bytes <= max(sizes):
        yield f"answers of {mix.answer_bytes:,} bytes, where {min(sizes):,} to {max(sizes):,} were measured"


def _part_rows(model: Calibrated, parts: Parts) -> Iterator[Row]:
    for name, amount in parts.items():
        cost = model.busy[SERVER_CPU].cost({name: amount})
        yield Row(
            outcome=SERVER_CPU, unit="us", role="part", label=name, interval=cost, more={"amount": amount}
        )


class _Change(NamedTuple):
    """One thing changed: the parts that there are then, and those until the first row."""

    remedy: str
    words: str
    parts: Parts
    first_row: Parts


def _change_rows(model: Calibrated, mix: Mix, rtt_ms: float) -> Iterator[Row]:
    """What each change that makes sense for the mix would save, what saves the most of the server first."""
    before, busy = parts_of(mix), model.busy[SERVER_CPU]
    for own in sorted(_changes(model, mix), key=lambda own: -busy.saving(before, own.parts).point):
        round_trips = -model.alone[ROUND_TRIPS].saving(before, own.parts)
        away_us = round_trips.point * rtt_ms * 1000
        differences = {
            SERVER_CPU: -busy.saving(before, own.parts),
            TIME: (-model.alone[TIME].saving(before, own.parts)).each(partial(add, away_us)),
            ROUND_TRIPS: round_trips,
        }
        yield from _cost_rows(
            "change", _costs_of(model, own.parts, own.first_row, rtt_ms), own.words, own.remedy
        )
        yield from _cost_rows("difference", differences, own.words, own.remedy)
        yield Row(
            outcome=SERVER_CPU,
            unit="1",
            role="ratio",
            label=own.words,
            interval=(-busy.saved_share(before, own.parts)).each(lambda saved: 1 + saved),
            of="ratio",
            more={"remedy": own.remedy},
        )


def _changes(model: Calibrated, mix: Mix) -> Iterator[_Change]:
    """A pool, for on connections that are kept making one costs nothing any more; and what is known else."""
    kept = statements_alone(mix)
    yield _Change("pool", "connections that are kept", kept, kept)
    for remedy, words, other in changes_of(mix):
        if model.knows(parts_of(other)):
            yield _Change(remedy, words, parts_of(other), _first_row(other))


def changes_of(mix: Mix) -> Iterator[tuple[str, str, Mix]]:
    """The mix with one thing changed, where it can be: which, in words, and the mix that it becomes."""
    for remedy, words, change in _thinkable(mix):
        with suppress(ValidationError):  # Not every key goes with every version and group.
            yield remedy, words, mix.but(**change)


def _thinkable(mix: Mix) -> Iterator[tuple[str, str, dict[str, str]]]:
    """What one would change of TLS and compression, whether it goes with the rest of the mix or not."""
    if mix.compression != "off":
        yield "compression", "no compression", {"compression": "off"}
    if mix.compression == "zlib":
        yield "compression", "zstd in place of zlib", {"compression": "zstd"}
    if mix.tls == "off":
        return
    if mix.resumption == "off":
        yield "resumption", "sessions resumed", {"resumption": "on"}
    if mix.resumption == "off" and mix.certificate != CHEAPEST_KEY:
        words = f"{key_of(CHEAPEST_KEY)} in place of {key_of(mix.certificate)}"
        yield "certificate", words, {"certificate": CHEAPEST_KEY}
    if mix.group != P256:
        yield "group", "P-256 first in the clients' groups", {"group": P256}
    other = "1.2" if mix.tls == "1.3" else "1.3"
    yield "version", f"TLS {other} in place of {mix.tls}", {"tls": other}


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
        name: [1 + (cost.number("error") or 0.0) for cost in own]
        for name, own in grouped((cost for own in again for cost in _held(model, own)), _outcome_of).items()
        if name not in COUNTS
    }
    speeds = {name: geometric_mean(ratios) for name, ratios in then.items()}
    found = tuple(cost for own in new for cost in _held(model, own, speeds))
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
            *(_outcome(name, own) for name, own in grouped(found, _outcome_of).items()),
            *found,
        ),
        status=status,
        scaling=model.scaling,
    )


def _held(model: Calibrated, own: MeasuredMix, speeds: Mapping[str, float] | None = None) -> Iterator[Row]:
    """Times of what was measured with one connection at a time, CPU times of what was with several.

    CPU times at a distance are left out, and those through a path on which the server waits as long: it uses
    some by itself then, and more to wake up, and that is no part of a connection. `speeds` say how much more
    is expected of an outcome; a distance is as long at any speed.
    """
    predicted = costs(model, own.mix, own.rtt_ms)
    names: list[str] = []
    if own.connections == min(model.fits):
        names += [TIME, SENT, RECEIVED]
    if own.connections == max(model.fits) and not own.rtt_ms and not model.carrying(own.mix).mostly_waits:
        names += [SERVER_CPU, CLIENT_CPU, PATH_CPU]
    for name in names:
        if name in predicted and name in own.values:
            factor = 1.0 if own.rtt_ms else (speeds or {}).get(name, 1.0)
            yield _cost_row(own, name, predicted[name].each(partial(mul, factor)))


def _cost_row(own: MeasuredMix, name: str, predicted: Interval) -> Row:
    measured = own.values[name]
    low, high = predicted.low or predicted.point, predicted.high or predicted.point
    if name in COUNTS:
        low = high = predicted.point
    return Row(
        outcome=name,
        unit=UNITS[name],
        role="cost",
        case={**own.mix.model_dump(), "rtt_ms": own.rtt_ms, "connections": own.connections},
        value=predicted.point,
        interval=None if name in COUNTS else predicted,
        blocks=own.blocks,
        more={
            "measured": measured,
            "error": measured / predicted.point - 1,
            "is_within": low <= measured <= high,
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


def _outcome_of(row: Row) -> str:
    return row.outcome
