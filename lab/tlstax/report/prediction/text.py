"""A prediction for a terminal: what a connection with its statements costs, and what would be cheaper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.findings.core.wording import alike, number, percent, signed
from tlstax.findings.model.parts import (
    BEYOND,
    BUFFER,
    COMPRESSION,
    CONNECTION,
    FIRST_STATEMENTS,
    KIB,
    LATER,
    STATEMENT,
    STEPS_KIB,
    TICKET_AGAIN,
    UNDER_TLS,
    step_name,
)
from tlstax.results.interval import Interval
from tlstax.results.prediction import Calibration, Costs, PartCost, Prediction, WhatIf
from tlstax.study import load_study
from tlstax.study.level_names import COMPRESSIONS, DEFAULT_AUTH, DEFAULT_CERTIFICATE, DIRECT
from tlstax.study.mixes import Mix
from tlstax.study.published import ALIKE_WITHIN
from tlstax.study.server_words import chain_words, key_of
from tlstax.support.text import counted
from tlstax.topics.core.printed import grid, printed, styled

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
        _costs(found),
        Text(),
        styled("The server's CPU time, by what takes it", "bold"),
        _parts(found.parts),
    ]
    if found.what_if:
        parts += [Text(), styled("What would be cheaper", "bold"), _what_if(found)]
    parts += [Text(), *(styled(words) for words in _end(found))]
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


def _costs(found: Prediction) -> RenderableType:
    """What it costs beside the same work in the clear."""
    table = grid()
    table.add_column(no_wrap=True)
    table.add_column(justify="right", overflow="fold")
    table.add_column(justify="right", overflow="fold")
    mode = "TLS" if found.mix.tls != "off" else found.mix.path if found.mix.path != DIRECT else "as asked"
    table.add_row(Text(), styled(mode, "bold"), styled("in the clear", "bold"))
    for name, pick in _ROWS:
        own, clear = pick(found.costs), pick(found.in_the_clear)
        if not own:
            continue
        table.add_row(styled(name), styled(own), styled(clear, "dim"))
    if found.server_cores is not None and found.connects_per_s is not None:
        cores = found.in_the_clear.server_cpu_us.point * found.connects_per_s / 1e6
        name = f"processors at {found.connects_per_s:g}/s"
        table.add_row(
            styled(name, "bold"), styled(_within(found.server_cores), "bold"), styled(f"{cores:.2g}")
        )
    return table


_ROWS: tuple[tuple[str, Callable[[Costs], str]], ...] = (
    ("server CPU", lambda costs: time_words(costs.server_cpu_us)),
    ("client CPU", lambda costs: time_words(costs.client_cpu_us)),
    ("CPU of the path", lambda costs: time_words(costs.path_cpu_us) if costs.path_cpu_us else ""),
    ("time in all", lambda costs: time_words(costs.time_us)),
    ("until the first row", lambda costs: time_words(costs.time_to_first_row_us)),
    ("round trips", lambda costs: f"{costs.round_trips:.3g}"),
    ("bytes", lambda costs: f"{costs.sent_bytes:,.0f} sent, {costs.received_bytes:,.0f} received"),
)


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


def _parts(found: tuple[PartCost, ...]) -> RenderableType:
    table = _table()
    whole = sum(part.server_cpu_us.point for part in found)
    for part in found:
        times = f"{part.amount:,.3g} × " if part.amount != 1 else ""
        words = styled(f"{times}{part_words(part.name)}")
        table.add_row(words, styled(time_words(part.server_cpu_us)), styled(_share(part, whole), "dim"))
    return table


def _share(part: PartCost, whole: float) -> str:
    return percent(part.server_cpu_us.point / whole) if part.server_cpu_us.point > 0 else ""


def part_words(name: str) -> str:
    """A part in words: "a full handshake of TLS 1.3 with RSA 2048", "RSA 4096 in place of RSA 2048"."""
    kind, _, rest = name.partition(" ")
    if name in _STATEMENTS_WORDS or kind not in _PART_WORDS:
        return _STATEMENTS_WORDS.get(name, name)
    return _PART_WORDS[kind](rest)


def _handshake_words(version: str) -> str:
    number, _, resumed = version.partition(" ")
    if resumed:
        return f"a resumed handshake of TLS {number}"
    return f"a full handshake of TLS {number}, with {key_of(DEFAULT_CERTIFICATE)} and P-256"


def _client_words(proof: str) -> str:
    key, _, resumed = proof.partition(" ")
    return f"a client certificate with {key_of(key)}{', ' if resumed else ''}{resumed}"


def _group_words(group: str) -> str:
    named = "the client's first group" if group == "default" else group
    return f"{named} in place of P-256"


_PART_WORDS: dict[str, Callable[[str], str]] = {
    "TLS": _handshake_words,
    "key": lambda key: f"{key_of(key)} in place of {key_of(DEFAULT_CERTIFICATE)}",
    "chain": lambda key: f"further certificate of an authority with {key_of(key)}",
    "client": _client_words,
    "group": _group_words,
    "login": lambda plugin: f"a login by {plugin}",
    COMPRESSION: lambda algorithm: f"{algorithm}, agreed on and made ready",
}
"""By the first word of a part's name, the rest of it in words."""


def _step_words(low: float, high: float) -> str:
    if not low:
        return f"KiB of the first {high:g}"
    return f"KiB {low:g} to {high:g}" if high < inf else f"KiB beyond the first {low:g}"


_STATEMENTS_WORDS = {
    CONNECTION: "a connection, in the clear",
    TICKET_AGAIN: "its ticket again, where a second ClientHello is asked for",
    KIB: "KiB of answers",
    BEYOND: "KiB of answers beyond the first 16 of each",
    BUFFER: "KiB by which the connection's buffers grow",
    BEYOND + UNDER_TLS: "KiB beyond the first 16 of each, under TLS",
    LATER: f"statement beyond the first {FIRST_STATEMENTS}",
    LATER + UNDER_TLS: f"statement beyond the first {FIRST_STATEMENTS}, under TLS",
    **{
        f"{STATEMENT} under {algorithm}{UNDER_TLS}": f"statement under {algorithm} and TLS at once"
        for algorithm in COMPRESSIONS[1:]
    },
    **{
        step_name(low, high, algorithm): f"{_step_words(low, high)} of each, under {algorithm}"
        for algorithm in COMPRESSIONS[1:]
        for low, high in STEPS_KIB
    },
}


def _what_if(found: Prediction) -> RenderableType:
    table = grid()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for place, one in enumerate(found.what_if, 1):
        table.add_row(styled(str(place)), styled(one.words))
        table.add_row(Text(), styled(saving_words(one, found), "dim"))
    return table


def saving_words(one: WhatIf, found: Prediction) -> str:
    """What a change saves: of the server's CPU, of time, of round trips."""
    share = one.saved_share
    low, high = (share.low or 0.0), (share.high or 0.0)
    cpu = f"{_change(-share.point)} of the server's CPU [{_change(-high)}, {_change(-low)}]"
    if low <= 0 <= high:
        judged = "alike" if max(-low, high) <= ALIKE else "inconclusive"
        cpu = f"{judged} in the server's CPU [{_change(-high)}, {_change(-low)}]"
    words = [cpu, f"{_milliseconds(-one.saved_time_us.point)} a connection"]
    if round(one.saved_round_trips, 1):
        words.append(f"{signed(-one.saved_round_trips)} round trips")
    if found.connects_per_s is not None:
        cores = one.saved_cpu_us.point * found.connects_per_s / 1e6
        words.append(f"{signed(-cores)} processors")
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


def _table() -> Table:
    table = grid()
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    return table
