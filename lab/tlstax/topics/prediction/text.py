"""A prediction for a terminal: what a connection costs, what would be cheaper, and how well that held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from tlstax.findings.core.wording import alike, number, percent, signed, signed_percent
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.study import load_study
from tlstax.study.level_names import DEFAULT_AUTH, DIRECT
from tlstax.study.level_words import chain_words, key_of
from tlstax.study.mixes import Mix
from tlstax.study.published import ALIKE_WITHIN
from tlstax.support.text import counted
from tlstax.topics.core.printed import aligned, printed, styled
from tlstax.topics.prediction.model import (
    CLIENT_CPU,
    PATH_CPU,
    RECEIVED,
    ROUND_TRIPS,
    SENT,
    SERVER_CPU,
    TIME,
)
from tlstax.topics.prediction.parts import part_words
from tlstax.topics.prediction.prediction import CORES, FIRST_ROW, Calibration, Prediction, Validation

LARGE_US = 10_000.0
"""From here on times are printed in milliseconds."""

ALIKE = ALIKE_WITHIN - 1
"""What changes the server's CPU time by less than this, with its whole interval, is alike to it."""


def prediction_text(found: Prediction, *, width: int, colour: bool) -> str:
    """What was predicted, `width` columns wide."""
    parts: list[RenderableType] = [
        styled(f"{counted(1, 'connection')} to {found.calibration.server}, {mix_words(found.mix)}", "bold"),
        *(styled(words, "dim") for words in _marked(found.calibration)),
        Text(),
        aligned(("name", "figures", "figures"), _costs(found)),
        Text(),
        styled("The server's CPU time, by what takes it", "bold"),
        aligned(("words", "figure", "figure"), _parts([row for row in found.rows if row.role == "part"])),
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
    work = f"{counted(mix.statements, 'statement')} of {mix.answer_bytes:,} bytes{packed}"
    login = f"{mix.auth}, " if mix.auth != DEFAULT_AUTH else ""
    if mix.path != DIRECT:
        return f"through {mix.path}, {login}{work}"
    if mix.tls == "off":
        return f"in the clear, {login}{work}"
    group = "the client's first group" if mix.group == "default" else mix.group
    proof = "resumed" if mix.resumption == "on" else key_of(mix.certificate)
    chain = f", {chain_words(mix.chain)}" if mix.chain > 1 and mix.resumption == "off" else ""
    client = ", a client certificate" if mix.client_certificate == "on" else ""
    return f"TLS {mix.tls}, {proof}{chain}{client}, {group}, {login}{work}"


def _costs(found: Prediction) -> Iterator[tuple[str | Text, ...]]:
    """What it costs beside the same work in the clear."""
    mode = "TLS" if found.mix.tls != "off" else found.mix.path if found.mix.path != DIRECT else "as asked"
    yield "", styled(mode, "bold"), styled("in the clear", "bold")
    costs, clear = found.of("connection"), found.of("in the clear")
    for name, outcome in _TIMES.items():
        if outcome in costs:
            yield name, _time(costs[outcome]), styled(_time(clear.get(outcome)), "dim")
    for name, words in (("round trips", _round_trips), ("bytes", _bytes)):
        yield name, words(costs), styled(words(clear), "dim")
    if CORES in costs and found.connects_per_s is not None:
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


def _time(row: Row | None) -> str:
    return time_words(row.interval) if row is not None and row.interval is not None else ""


def _round_trips(costs: Mapping[str, Row]) -> str:
    return f"{costs[ROUND_TRIPS].value:.3g}"


def _bytes(costs: Mapping[str, Row]) -> str:
    return f"{costs[SENT].value:,.0f} sent, {costs[RECEIVED].value:,.0f} received"


def time_words(found: Interval) -> str:
    """A time with its interval: "1,250 µs [1,200, 1,300]", in ms where it is long."""
    if abs(found.point) >= LARGE_US:
        return f"{_within(found.each(lambda us: us / 1000))} ms"
    if found.low is None or found.high is None:
        return f"{number(found.point)} µs"
    return f"{number(found.point)} µs [{number(found.low)}, {number(found.high)}]"


def _within(found: Interval) -> str:
    if found.low is None or found.high is None:
        return f"{found.point:.3g}"
    point, low, high = alike(found.point, found.low, found.high)
    return f"{point} [{low}, {high}]"


def _parts(parts: Sequence[Row]) -> Iterator[tuple[str | Text, ...]]:
    whole = sum(part.value or 0.0 for part in parts)
    for part in parts:
        amount, cost_us = part.number("amount"), part.value or 0.0
        times = f"{amount:,.3g} × " if amount != 1 else ""
        share = percent(cost_us / whole) if cost_us > 0 else ""
        yield f"{times}{part_words(part.label)}", _time(part), styled(share, "dim")


def _cheaper(found: Prediction) -> Iterator[tuple[str | Text, ...]]:
    for place, row in enumerate((row for row in found.rows if row.role == "ratio"), 1):
        yield str(place), row.label
        yield "", styled(_saving_words(row, found), "dim")


def _saving_words(row: Row, found: Prediction) -> str:
    """What a change saves: of the server's CPU, of time, of round trips."""
    ratio, by = row.known, found.of("difference", row.label)
    low, high = ((ratio.low or 1.0) - 1, (ratio.high or 1.0) - 1)
    cpu = f"{_change(ratio.point - 1)} of the server's CPU [{_change(low)}, {_change(high)}]"
    if low <= 0 <= high:
        judged = "alike" if max(-low, high) <= ALIKE else "inconclusive"
        cpu = f"{judged} in the server's CPU [{_change(low)}, {_change(high)}]"
    words = [cpu, f"{_milliseconds(by[TIME].value or 0.0)} a connection"]
    if round(by[ROUND_TRIPS].value or 0.0, 1):
        words.append(f"{signed(by[ROUND_TRIPS].value or 0.0)} round trips")
    if found.connects_per_s is not None:
        cores = (by[SERVER_CPU].value or 0.0) * found.connects_per_s / 1e6
        words.append(f"{signed(cores)} processors")
    return ", ".join(words)


def _change(share: float) -> str:
    return f"{100 * share:+.0f} %".replace("-", "\N{MINUS SIGN}")


def _milliseconds(us: float) -> str:
    return f"{signed(us / 1000)} ms" if abs(us) >= 1000 else f"{signed(us)} µs"


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
    yield from basis_words(own)


def _marked(own: Calibration) -> Iterator[str]:
    """What is computed from another machine's measurements says so before all figures."""
    if own.scaling is not None:
        here = "scaled to this one" if own.scaling.run is not None else "not scaled to this one"
        yield f"An estimate, from parts measured on another machine and {here}"


def basis_words(own: Calibration) -> Iterator[str]:
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
    study = load_study("components")
    is_default = scaling.server in study.levels_of()["server"]
    chosen = "" if is_default else f" --set server={scaling.server}"
    yield f"Sharper, in {study.budget_s / 60:.0f} minutes: tlstax study run components{chosen}"


SHORT = {
    "latency_mean_us": "Time of a connection",
    "server_cpu_us_per_op": "Server CPU",
    "client_cpu_us_per_op": "Client CPU",
    "path_cpu_us_per_op": "CPU of paths",
    "bytes_sent_per_op": "Bytes sent",
    "bytes_received_per_op": "Bytes received",
}

FURTHEST = 5
"""How many of the costs that were furthest off are named."""


def validation_text(found: Validation, *, width: int, colour: bool) -> str:
    """The table, `width` columns wide."""
    head = f"Predicted for {found.server} and measured afterwards"
    parts: list[RenderableType] = [
        styled(head, "bold"),
        Text(),
        aligned(("words", "figures", "figures", "figures", "figures"), _errors(found)),
    ]
    if costs := found.of("cost"):
        parts += [Text(), styled("Furthest off", "bold"), aligned(("figure", "words"), _furthest(costs))]
    scaled_by = found.scaling.run if found.scaling is not None else None
    here = f", scaled by run {scaled_by}" if scaled_by is not None else ""
    end = (
        f"Predicted from run {found.calibration_run}{here}; the mixes were drawn at random and measured in "
        f"run {found.validation_run}, on other processes of the server."
    )
    return printed([*parts, Text(), *map(styled, _speeds(found)), styled(end)], width=width, colour=colour)


def _speeds(found: Validation) -> Iterator[str]:
    """What the machine's own speed was, which is taken out."""
    for own in found.of("speed"):
        change = signed_percent((own.value or 0.0) - 1)
        yield (
            f"{SHORT.get(own.outcome, own.outcome)}: {own.word('mixes')} known mixes took {change} against "
            "when the parts were measured, which is the machine's and taken out."
        )


def _errors(found: Validation) -> Iterator[tuple[str | Text, ...]]:
    names = ("", "mixes", "median error", "9 in 10 within", "in interval")
    yield tuple(styled(name, "bold") for name in names)
    for own in found.of("outcome"):
        within = own.number("within_share")
        errors = (percent(own.value or 0.0), percent(own.number("ninth_decile_error") or 0.0))
        share = "exact" if within is None else percent(within)
        yield SHORT.get(own.outcome, own.outcome), own.word("mixes"), *errors, share


def _furthest(costs: Sequence[Row]) -> Iterator[tuple[str | Text, ...]]:
    for own in sorted(costs, key=_error, reverse=True)[:FURTHEST]:
        rtt_ms = float(own.case["rtt_ms"])
        mix = Mix.model_validate({name: own.case[name] for name in Mix.model_fields})
        away = f", {rtt_ms:g} ms away" if rtt_ms else ""
        at_once = f", {counted(int(own.case['connections']), 'connection')} at once"
        words = f"{SHORT.get(own.outcome, own.outcome)}: {mix_words(mix)}{away}{at_once}"
        yield signed_percent(own.number("error") or 0.0), words


def _error(cost: Row) -> float:
    return abs(cost.number("error") or 0.0)
