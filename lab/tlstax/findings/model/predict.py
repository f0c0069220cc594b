"""What a mix would cost, part by part, and what it would cost with one thing changed. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from pydantic import ValidationError

from tlstax.findings.model.calibration import (
    CLIENT_CPU,
    PATH_CPU,
    RECEIVED,
    ROUND_TRIPS,
    SENT,
    SERVER_CPU,
    TIME,
    Calibrated,
)
from tlstax.findings.model.parts import Parts, of_path, parts_of, statements_alone
from tlstax.results.interval import Interval
from tlstax.results.prediction import Calibration, Costs, PartCost, Prediction, Remedy, WhatIf
from tlstax.study.level_names import DIRECT
from tlstax.study.mixes import CHEAPEST_KEY, P256, Mix
from tlstax.study.server_words import key_of
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated

AROUND_A_ROUND_TRIP = 0.12
"""By what share a round trip takes longer, or shorter, than its time: both sides wake up, and an answer of
several segments may be paced (BBR spreads the first ten over a third of one). It took 2 to 16 % more."""


FIRST_FLIGHT_BYTES = 16 << 10
"""What is taken to arrive within one round trip: an initial window of ten segments (RFC 6928), which the
handshake has opened somewhat further."""


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
    parts = parts_of(mix)
    whole = costs(model, mix, rtt_ms)
    rate = connects_per_s
    return Prediction(
        calibration=_calibration(model, mix),
        mix=mix,
        rtt_ms=rtt_ms,
        connects_per_s=rate,
        costs=whole,
        in_the_clear=costs(everything, in_the_clear(mix), rtt_ms),
        server_cores=None if rate is None else whole.server_cpu_us.each(lambda us: us * rate / 1e6),
        parts=tuple(_part_costs(model, parts)),
        what_if=tuple(what_if(model, mix, rtt_ms)),
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


def costs(model: Calibrated, mix: Mix, rtt_ms: float) -> Costs:
    """What a connection of the mix costs with its statements."""
    return _costs_of(model.carrying(mix), parts_of(mix), _first_row(mix), rtt_ms)


def _costs_of(model: Calibrated, parts: Parts, first_row: Parts, rtt_ms: float) -> Costs:
    alone, busy = model.alone, model.busy
    carried = of_path(parts)
    return Costs(
        server_cpu_us=busy[SERVER_CPU].predicted(parts),
        client_cpu_us=busy[CLIENT_CPU].predicted(parts),
        path_cpu_us=busy[PATH_CPU].predicted(carried) if carried else None,
        time_us=_time(model, parts, rtt_ms),
        time_to_first_row_us=_time(model, first_row, rtt_ms),
        round_trips=alone[ROUND_TRIPS].cost(parts).point,
        sent_bytes=alone[SENT].cost(parts).point,
        received_bytes=alone[RECEIVED].cost(parts).point,
    )


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


def _part_costs(model: Calibrated, parts: Parts) -> Iterator[PartCost]:
    fit = model.busy[SERVER_CPU]
    for name, amount in parts.items():
        yield PartCost(name=name, amount=amount, server_cpu_us=fit.cost({name: amount}))


def what_if(model: Calibrated, mix: Mix, rtt_ms: float) -> Iterator[WhatIf]:
    """What each change that makes sense for the mix would save, what saves the most of the server first."""
    found = [*_pooled(model, mix, rtt_ms), *_changed(model, mix, rtt_ms)]
    yield from sorted(found, key=lambda one: -one.saved_cpu_us.point)


def _pooled(model: Calibrated, mix: Mix, rtt_ms: float) -> Iterator[WhatIf]:
    """On connections that are kept, making one costs nothing any more."""
    kept = statements_alone(mix)
    yield _what_if(model, ("pool", "connections that are kept"), (parts_of(mix), kept), (kept, rtt_ms))


def _changed(model: Calibrated, mix: Mix, rtt_ms: float) -> Iterator[WhatIf]:
    for remedy, words, other in changes_of(mix):
        if model.knows(parts_of(other)):
            away = (_first_row(other), rtt_ms)
            yield _what_if(model, (remedy, words), (parts_of(mix), parts_of(other)), away)


def changes_of(mix: Mix) -> Iterator[tuple[Remedy, str, Mix]]:
    """The mix with one thing changed, where it can be: which, in words, and the mix that it becomes."""
    for remedy, words, change in _thinkable(mix):
        with suppress(ValidationError):  # Not every key goes with every version and group.
            yield remedy, words, mix.but(**change)


def _thinkable(mix: Mix) -> Iterator[tuple[Remedy, str, dict[str, str]]]:
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


def _what_if(
    model: Calibrated, named: tuple[Remedy, str], change: tuple[Parts, Parts], after: tuple[Parts, float]
) -> WhatIf:
    """`change` is the parts before and after, `after` what there is until the first row, and the distance."""
    before, becomes = change
    first_row, rtt_ms = after
    cpu = model.busy[SERVER_CPU].saving(before, becomes)
    round_trips = _round_trips(model, before) - _round_trips(model, becomes)
    away_us = round_trips * rtt_ms * 1000
    return WhatIf(
        remedy=named[0],
        words=named[1],
        costs=_costs_of(model, becomes, first_row, rtt_ms),
        saved_cpu_us=cpu,
        saved_share=model.busy[SERVER_CPU].saved_share(before, becomes),
        saved_time_us=model.alone[TIME].saving(before, becomes).each(lambda us: us + away_us),
        saved_round_trips=round_trips,
    )
