"""What a mix would cost, and with one thing changed: the document of `predict`, and its text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from operator import add
from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, ValidationError
from rich.console import RenderableType
from rich.text import Text

from tlstax.contract import Frozen
from tlstax.records.beforehand import Scaling
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.stats.wording import alike, each, number, percent, set_ends, signed, with_ends
from tlstax.study import load_study
from tlstax.study.level_names import DEFAULT_AUTH, DIRECT, DIRECT_TLS, chain_words, key_of
from tlstax.study.mixes import CHEAPEST_KEY, NEEDS_TLS, P256, Mix
from tlstax.study.published import ALIKE_WITHIN
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted, enumerated
from tlstax.topics.core.printed import aligned, printed, styled
from tlstax.topics.prediction.model import (
    CLIENT_CPU,
    COUNTS,
    PATH_CPU,
    RECEIVED,
    ROUND_TRIPS,
    SENT,
    SERVER_CPU,
    STUDIES,
    TIME,
    Calibrated,
    study_of,
)
from tlstax.topics.prediction.parts import (
    GROUP_WORDS,
    Parts,
    of_path,
    part_words,
    parts_of,
    statements_alone,
)

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

LARGE_US = 10_000.0
"""From here on times are printed in milliseconds."""

ALIKE = ALIKE_WITHIN - 1
"""What changes the server's CPU time by less than this, with its whole interval, is alike to it."""


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


def prediction(
    model: Calibrated, mix: Mix, *, rtt_ms: float = 0.0, connects_per_s: float | None = None
) -> Prediction:
    """What the mix costs at this distance and rate. UserMistake where a part of it was not measured."""
    check_known(model, mix)
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
    own = model.carrying(mix)
    whole = costs(model, mix, rtt_ms)
    rows = [*_cost_rows("connection", whole)]
    if connects_per_s is not None:
        rate = connects_per_s
        cores = whole[SERVER_CPU].each(lambda us: us * rate / 1e6)
        rows.append(Row(outcome=CORES, unit="1", role="connection", interval=cores))
    return Prediction(
        calibration=_calibration(own, mix),
        mix=mix,
        rtt_ms=rtt_ms,
        connects_per_s=connects_per_s,
        rows=(
            *rows,
            *_cost_rows("in the clear", costs(model, in_the_clear(mix), rtt_ms)),
            *_part_rows(own, parts_of(mix)),
            *_change_rows(own, mix, rtt_ms),
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
    own = model.carrying(mix)
    missing, known = "", [*model.through]
    if mix.path != DIRECT and mix.path not in model.through:
        missing = f"what {mix.path} carries"
    elif name := next((name for name in parts_of(mix) if not own.knows({name: 1})), ""):
        missing = f"what {name} costs"
        known = [part for part in own.busy[SERVER_CPU].names if part.split()[0] == name.split()[0]]
    if missing:
        raise UserMistake(
            f"{missing} was not measured in run {model.origin.run}",
            remedy=f"measured are {enumerated(known)}"
            if known
            else f"run the study `{STUDIES[mix.product]}` with it",
        )


def in_the_clear(mix: Mix) -> Mix:
    """The same work without TLS, and without a path; by SCRAM where the account's proof needs TLS."""
    return Mix(
        product=mix.product,
        tls="off",
        auth=DEFAULT_AUTH if mix.auth in NEEDS_TLS else mix.auth,
        compression=mix.compression,
        protocol=mix.protocol,
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
    away_us = model.alone[ROUND_TRIPS].cost(parts).point * rtt_ms * 1000
    here = model.alone[TIME].predicted(parts)
    low, high = here.ends
    return here.model_copy(
        update={
            "point": here.point + away_us,
            "low": low + away_us * (1 - AROUND_A_ROUND_TRIP),
            "high": high + away_us * (1 + AROUND_A_ROUND_TRIP),
        }
    )


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
        yield f"{counted(mix.statements, 'statement')} a connection, where {known}"
    if not min(sizes) <= mix.answer_bytes <= max(sizes):
        yield f"answers of {mix.answer_bytes:,} bytes, where {min(sizes):,} to {max(sizes):,} were measured"


def _part_rows(model: Calibrated, parts: Parts) -> Iterator[Row]:
    for name, amount in parts.items():
        cost = model.busy[SERVER_CPU].cost({name: amount})
        yield Row(
            outcome=SERVER_CPU, unit="us", role="part", label=name, interval=cost, more={"amount": amount}
        )


def _change_rows(model: Calibrated, mix: Mix, rtt_ms: float) -> Iterator[Row]:
    """What each change that makes sense for the mix would save, what saves the most of the server first.

    A pool is one, for on connections that are kept making one costs nothing any more.
    """
    before, busy, alone = parts_of(mix), model.busy[SERVER_CPU], model.alone
    kept = statements_alone(mix)
    changes = [("pool", "connections that are kept", kept, kept)]
    for remedy, words, other in changes_of(mix):
        if model.knows(parts_of(other)):
            changes.append((remedy, words, parts_of(other), _first_row(other)))
    for remedy, words, parts, first_row in sorted(
        changes, key=lambda own: -busy.saving(before, own[2]).point
    ):
        round_trips = -alone[ROUND_TRIPS].saving(before, parts)
        away_us = round_trips.point * rtt_ms * 1000
        differences = {
            SERVER_CPU: -busy.saving(before, parts),
            TIME: (-alone[TIME].saving(before, parts)).each(partial(add, away_us)),
            ROUND_TRIPS: round_trips,
        }
        yield from _cost_rows("change", _costs_of(model, parts, first_row, rtt_ms), words, remedy)
        yield from _cost_rows("difference", differences, words, remedy)
        yield Row(
            outcome=SERVER_CPU,
            unit="1",
            role="ratio",
            label=words,
            interval=(-busy.saved_share(before, parts)).each(lambda saved: 1 + saved),
            of="ratio",
            more={"remedy": remedy},
        )


def changes_of(mix: Mix) -> Iterator[tuple[str, str, Mix]]:
    """The mix with one thing changed, where it can be: which, in words, and the mix that it becomes."""
    is_full = mix.tls != "off" and mix.resumption == "off"
    key = f"{key_of(CHEAPEST_KEY)} in place of {key_of(mix.certificate)}"
    other = "1.2" if mix.version == "1.3" else "1.3"
    version = f"TLS {other} in place of {mix.version}"
    for is_another, remedy, words, change in (
        (mix.compression != "off", "compression", "no compression", {"compression": "off"}),
        (mix.compression == "zlib", "compression", "zstd in place of zlib", {"compression": "zstd"}),
        (is_full, "resumption", "sessions resumed", {"resumption": "on"}),
        (mix.tls == "1.3", "direct TLS", "TLS begun at once (sslnegotiation=direct)", {"tls": DIRECT_TLS}),
        (
            mix.statements > 1,
            "protocol",
            "the statement prepared, once a connection",
            {"protocol": "prepared"},
        ),
        (is_full and mix.certificate != CHEAPEST_KEY, "certificate", key, {"certificate": CHEAPEST_KEY}),
        (mix.tls != "off", "group", "P-256 first in the clients' groups", {"group": P256}),
        (mix.tls != "off", "version", version, {"tls": other}),
    ):
        # Not every key goes with every version and group, and products have changes of their own.
        with suppress(ValidationError):
            if is_another and (changed := mix.but(**change)) != mix:
                yield remedy, words, changed


def prediction_text(found: Prediction, *, width: int, colour: bool) -> str:
    """What was predicted, `width` columns wide."""
    parts: list[RenderableType] = [
        styled(f"{counted(1, 'connection')} to {found.calibration.server}, {mix_words(found.mix)}", "bold"),
        *(styled(words, "dim") for words in _marked(found.calibration)),
        Text(),
        aligned(("name", "figures", "figures"), _costs(found)),
        Text(),
        styled("The server's CPU time, by what takes it", "bold"),
        aligned(("words", "figure", "figure"), _parts(found)),
        Text(),
        styled("What would be cheaper", "bold"),
        aligned(("name", "words"), _cheaper(found)),
        Text(),
        *map(styled, _end(found)),
    ]
    return printed(parts, width=width, colour=colour)


def mix_words(mix: Mix) -> str:
    """What a connection does: "TLS 1.3, RSA 4096, P-256, 10 statements of 2,048 bytes"."""
    packed = f" under {mix.compression}" if mix.compression != "off" else ""
    kind = "prepared statement" if mix.protocol == "prepared" else "statement"
    work = f"{counted(mix.statements, kind)} of {mix.answer_bytes:,} bytes{packed}"
    login = f"{mix.auth}, " if mix.auth != DEFAULT_AUTH else ""
    if mix.path != DIRECT:
        return f"through {mix.path}, {login}{work}"
    if mix.tls == "off":
        return f"in the clear, {login}{work}"
    group = GROUP_WORDS.get(mix.group, mix.group)
    proof = "resumed" if mix.resumption == "on" else key_of(mix.certificate)
    chain = f", {chain_words(mix.chain)}" if mix.chain > 1 and mix.resumption == "off" else ""
    client = ", a client certificate" if mix.client_certificate == "on" else ""
    at_once = " begun at once" if mix.tls == DIRECT_TLS else ""
    return f"TLS {mix.version}{at_once}, {proof}{chain}{client}, {group}, {login}{work}"


def _costs(found: Prediction) -> Iterator[tuple[str | Text, ...]]:
    """What it costs beside the same work in the clear."""
    mode = "TLS" if found.mix.tls != "off" else found.mix.path if found.mix.path != DIRECT else "as asked"
    yield "", styled(mode, "bold"), styled("in the clear", "bold")
    costs, clear = found.of("connection"), found.of("in the clear")
    beside = _cost_words(clear)
    for name, words in _cost_words(costs).items():
        yield name, words, styled(beside.get(name, ""), "dim")
    if found.connects_per_s is not None:
        cores = (clear[SERVER_CPU].value or 0.0) * found.connects_per_s / 1e6
        at_rate = styled(f"processors at {found.connects_per_s:g}/s", "bold")
        yield at_rate, styled(_within(costs[CORES].known), "bold"), f"{cores:.2g}"


_TIMES = {
    "server CPU": SERVER_CPU,
    "client CPU": CLIENT_CPU,
    "CPU of the path": PATH_CPU,
    "time in all": TIME,
    "until the first row": FIRST_ROW,
}


def _cost_words(costs: Mapping[str, Row]) -> dict[str, str]:
    """Each cost by what it is called."""
    times = {name: _time_words(costs[own].known) for name, own in _TIMES.items() if own in costs}
    sent, received = (f"{costs[own].value:,.0f}" for own in (SENT, RECEIVED))
    counts = {"round trips": f"{costs[ROUND_TRIPS].value:.3g}", "bytes": f"{sent} sent, {received} received"}
    return times | counts


def _time_words(time_us: Interval) -> str:
    """A time with its interval: "1,250 µs [1,200 … 1,300]", in ms where it is long."""
    if abs(time_us.point) >= LARGE_US:
        return _within(time_us.each(lambda us: us / 1000), " ms")
    return with_ends(time_us, each(number), " µs", form="[…]")


def _within(known: Interval, unit: str = "") -> str:
    rounding = each("{:.3g}".format) if known.low is None or known.high is None else alike
    return with_ends(known, rounding, unit, form="[…]")


def _parts(found: Prediction) -> Iterator[tuple[str | Text, ...]]:
    parts = [row for row in found.rows if row.role == "part"]
    whole = sum(part.value or 0.0 for part in parts)
    for part in parts:
        amount, cost_us = part.number("amount"), part.value or 0.0
        times = f"{amount:,.3g} × " if amount != 1 else ""
        share = percent(cost_us / whole) if cost_us > 0 else ""
        yield f"{times}{part_words(part.label)}", _time_words(part.known), styled(share, "dim")


def _cheaper(found: Prediction) -> Iterator[tuple[str | Text, ...]]:
    for place, row in enumerate((row for row in found.rows if row.role == "ratio"), 1):
        yield str(place), row.label
        yield "", styled(_saving_words(row, found), "dim")


def _saving_words(row: Row, found: Prediction) -> str:
    """What a change saves: of the server's CPU, of time, of round trips."""
    ratio = row.known
    low, high = (ratio.low or 1.0) - 1, (ratio.high or 1.0) - 1
    cpu_us, time_us, round_trips = (
        found.of("difference", row.label)[name].value or 0.0 for name in (SERVER_CPU, TIME, ROUND_TRIPS)
    )
    judged = f"{_change(ratio.point - 1)} of"
    if low <= 0 <= high:
        judged = f"{'alike' if max(-low, high) <= ALIKE else 'inconclusive'} in"
    time = f"{signed(time_us / 1000)} ms" if abs(time_us) >= 1000 else f"{signed(time_us)} µs"
    ends = set_ends(_change(low), _change(high), "[…]")
    words = [f"{judged} the server's CPU {ends}", f"{time} a connection"]
    if round(round_trips, 1):
        words.append(f"{signed(round_trips)} round trips")
    if found.connects_per_s is not None:
        words.append(f"{signed(cpu_us * found.connects_per_s / 1e6)} processors")
    return ", ".join(words)


def _change(share: float) -> str:
    return f"{100 * share:+.0f} %".replace("-", "\N{MINUS SIGN}")


def _end(found: Prediction) -> Iterator[str]:
    for words in found.calibration.outside:
        yield f"Outside of what was measured: {words}; take it with care."
    own = found.calibration
    if own.mostly_waited:
        yield (
            f"Through {found.mix.path} the server used {percent(own.server_busy_share)} of a processor while "
            "this was measured, and waited for the rest: what it does by itself is in these CPU times, and a "
            "server with other work spends less on such a connection."
        )
    yield from _basis_words(own)


def _marked(own: Calibration) -> Iterator[str]:
    """What is computed from another machine's measurements says so before all figures."""
    if own.scaling is not None:
        here = "scaled to this one" if own.scaling.run is not None else "not scaled to this one"
        yield f"An estimate, from parts measured on another machine and {here}"


def _basis_words(own: Calibration) -> Iterator[str]:
    """What a prediction was computed from, and what would make it sharper."""
    scaling = own.scaling
    if scaling is None:
        yield (
            f"From {own.mixes} mixes measured in {counted(own.blocks, 'block')} of run {own.run} "
            f"({own.processor}); "
            f"they differ from the sum of their parts by {percent(own.unexplained)}, which the intervals "
            "(95 %) include. Another machine has other times: measure there."
        )
        return
    meanwhile = f" ({own.remark})" if own.remark else ""
    measured = f"measured on {own.processor} in run {own.run}{meanwhile}"
    parts = f"parts of {own.server} that come with tlstax, {measured}"
    if scaling.run is None:
        yield (
            f"From {parts}. Nothing was measured here: the intervals (95 %) have room for a machine "
            "that is 2.7 times as fast or slow. Without --no-calibration half a minute of measuring here "
            "narrows them."
        )
        return
    whose = "" if scaling.server == own.server else f" of {scaling.server}"
    yield (
        f"From {parts}, scaled by {scaling.mixes} mixes{whose} measured here in run {scaling.run} "
        f"({scaling.processor}), of which the server's CPU time is {scaling.speed:.2f} times as long. Each "
        f"is predicted from the others within {percent(scaling.left_out_error)} (root mean square), and from "
        f"block to block they differed by {percent(scaling.unquiet)}: the intervals (95 %) are as wide as "
        "that says."
    )
    study = load_study(study_of(scaling.server))
    is_default = scaling.server in study.levels_of()["server"]
    chosen = "" if is_default else f" --set server={scaling.server}"
    yield f"Sharper, in {study.budget_s / 60:.0f} minutes: tlstax study run {study.name}{chosen}"
