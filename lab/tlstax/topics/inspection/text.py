"""An inspected server for a terminal: how it is, and what is unsafe."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date

from rich.console import RenderableType
from rich.text import Text

from tlstax.results.inspection import (
    KEPT_BACK,
    WOULD_BLOCK,
    Asked,
    Certificate,
    Concern,
    InspectedServer,
    LockedOut,
    Obstacle,
    Program,
    Step,
    Use,
    Way,
    WhoConnects,
)
from tlstax.stats.wording import percent
from tlstax.study.tls_levels import group_name
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, duration, enumerated, shortened
from tlstax.topics.core.printed import Pasted, aligned, printed, styled

MOST_NAMES = 3
"""Of a certificate, or of what the same lines mend."""

MOST_PROGRAMS = 6
"""Kinds of connections that are named, those with the most connections first."""

MOST_DRIVERS = 3
"""That fail at the same or would be locked out, and are named although not all lines were asked for."""


def inspection_text(found: InspectedServer, *, width: int, colour: bool, has_all_lines: bool = False) -> str:
    """What was found, `width` columns wide; with every driver and the lines that mend it, or in short."""
    parts: list[RenderableType] = [styled(f"{found.server}, as it is from outside", "bold")]
    parts += [aligned(("name", "words"), _facts(found)), Text()]
    parts += _to_mend("Mend first", found.concerns) or [styled("Nothing unsafe was seen.")]
    if found.payments:
        parts += [Text(), *_to_mend("What connects pay for", found.payments)]
    if found.who_connects is not None:
        above = {own.steps for own in (*found.concerns, *found.payments)}
        parts += _who_connects(found.who_connects, above, has_all_lines=has_all_lines)
    cut = f" The rest was not asked: {found.stopped_because}." if found.stopped_because else ""
    asked = f"Asked with {counted(found.connections, 'connection')}, one at a time.{cut}"
    return printed([*parts, Text(), styled(asked)], width=width, colour=colour)


def _facts(found: InspectedServer) -> Iterator[tuple[str, str]]:
    word, inside = found.word, found.inside
    yield "Server", f"{word.version}{f', its TLS by {word.tls_library}' if word.tls_library else ''}"
    if found.offers_tls:
        yield from _of_tls(found)
    else:
        yield "TLS", "not offered"
    for name, use in (("Since its start", inside.since_start), ("Watched", inside.watched)):
        if use is not None:
            yield name, _use(use)
    for place, program in enumerate(inside.programs[:MOST_PROGRAMS]):
        yield ("Connected now" if place == 0 else ""), _program(program)
    if (left := len(inside.programs) - MOST_PROGRAMS) > 0:
        yield "", f"and {counted(left, 'other kind')}"
    for words in inside.unread:
        yield "Not readable", words


def _of_tls(found: InspectedServer) -> Iterator[tuple[str, str]]:
    for default in found.of("default"):
        view = default.agreed
        parts = [view.version.replace("TLSv", "TLS "), view.cipher, group_name(view.group)] if view else []
        if view is not None and view.hello_retry:
            parts.append("asked for a second ClientHello, which is one more round trip")
        yield "By default", " · ".join(filter(None, parts)) if view else default.why_not
    yield "Versions", _taken(found.of("version"))
    yield "Cipher suites", _taken(found.of("suite"))
    yield "Key exchange", _taken(found.of("group"))
    for direct in found.of("direct"):
        yield "Direct TLS", "accepted" if direct.agreed else f"not accepted: {direct.why_not}"
    if not found.of("direct"):
        yield "Resumes", _taken(found.of("resumption"))
    if found.connect:
        whole, *phases = found.connect
        tls = "".join(
            f"; of it TLS {own.round_trips:.3g} round trips and {own.median_us / 1000:.3g} ms"
            for own in phases
            if own.name == "tls_handshake"
        )
        yield (
            "A connect",
            f"{whole.round_trips:.3g} round trips, {whole.sent_bytes:,.0f} bytes sent and "
            f"{whole.received_bytes:,.0f} received, {whole.median_us / 1000:.3g} ms from here "
            f"(median of {whole.connects}){tls}",
        )
    for place, certificate in enumerate(found.chain):
        yield ("Certificate" if place == 0 else "sent with it"), _certificate(certificate)
    if found.word.account_plugin:
        yield "Login", found.word.account_plugin
    if found.word.admission:
        yield "Lets in over TCP", ", ".join(found.word.admission)
    if found.word.requires_tls is not None:
        of_account = ", and of this account from here refused" if found.word.lets_in_clear is False else ""
        yield "In the clear", "refused" if found.word.requires_tls else f"accepted{of_account}"


def _use(use: Use) -> str:
    rates = (
        (use.connects_per_s, "connects/s"),
        (use.statements_per_s, f"{use.asked}/s"),
        (use.statements_per_connect, "a connection"),
    )
    parts = [f"{_number(rate)} {words}" for rate, words in rates if rate is not None]
    if use.tls_share is not None:
        parts.append(f"{percent(use.tls_share)} of connections by TLS")
    if use.resumed_share is not None:
        parts.append(f"{percent(use.resumed_share)} of these resumed")
    if use.aborted_connects_per_s:
        parts.append(f"{_number(use.aborted_connects_per_s)} aborted/s")
    return f"{', '.join(parts)} (over {duration(use.over_s)})"


def _number(value: float) -> str:
    """Three digits, and no exponent: "0.021", "12", "1,230"."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _program(program: Program) -> str:
    named = " ".join(filter(None, (program.program, program.client, program.version))) or "unnamed"
    how = program.tls or program.transport or "unknown transport"
    how += ", compressed" if program.compression else ""
    return f"{counted(program.connections, 'connection')} of {named}: {how}"


def _taken(asked: Sequence[Asked]) -> str:
    """What is taken, what is not, and what this machine's library cannot ask for."""
    refused = [own.name for own in asked if not own.agreed and own.could_ask]
    parts = [enumerated(own.name for own in asked if own.agreed) or "none"]
    parts += [f"not {enumerated(refused)}"] if refused else []
    reasons = (KEPT_BACK, WOULD_BLOCK)
    for why in (UNKNOWN_HERE, *reasons):
        names = [
            own.name
            for own in asked
            if not own.could_ask and (own.why_not if own.why_not in reasons else UNKNOWN_HERE) == why
        ]
        parts += [f"not asked, since {why}: {enumerated(names)}"] if names else []
    return "; ".join(parts)


UNKNOWN_HERE = "the library here does not know it"


def _certificate(certificate: Certificate) -> str:
    names = f" for {shortened(certificate.names, MOST_NAMES)}" if certificate.names else ""
    issuer = "self-signed" if certificate.is_self_signed else f"issued by {certificate.issuer}"
    return (
        f"{certificate.key}{names}, {issuer}, with {certificate.signature}, {certificate.size_bytes:,} bytes"
        f", until {certificate.not_after[:10]}"
    )


def _to_mend(title: str, found: Sequence[Concern]) -> list[RenderableType]:
    """Each concern with its remedy, then the lines to paste, each set once, with what it is for."""
    if not found:
        return []
    points = [
        (f"{own.what}: {own.why}", f"avoid it: {own.remedy}")
        if own.danger == "costly"
        else (f"{own.danger}: {own.what}: {own.why}", f"mend it: {own.remedy}")
        for own in found
    ]
    parts: list[RenderableType] = [styled(title, "bold"), _points(points)]
    for steps, mended in grouped((own for own in found if own.steps), lambda own: own.steps).items():
        said = dict.fromkeys(re.split(r",| \(|;", own.remedy)[0] for own in mended)
        parts += [Text(), styled(f"{shortened(list(said), MOST_NAMES)}:", "bold"), *_steps(steps)]
    return parts


def _steps(steps: Iterable[Step]) -> Iterator[RenderableType]:
    """Where to do what, and the lines to paste below it."""
    for step in steps:
        yield styled(f"   {step.where}:")
        yield Pasted(step.lines, indent=7)


def _who_connects(
    found: WhoConnects, above: Collection[tuple[Step, ...]], *, has_all_lines: bool
) -> Iterator[RenderableType]:
    """How many drivers could connect, which could not and why, and whom a change would lock out.

    `above` are the server's lines that have been printed. Without all lines each obstacle is one point, with
    some of its drivers, and what mends it is left to those who ask for it.
    """
    day = f"{date.fromisoformat(found.measured_at):%-d %B %Y}"
    yield Text()
    hint = "" if has_all_lines else " (-v: all lines)"
    yield styled(f"Who could connect, of {counted(found.drivers, 'driver')} measured on {day}{hint}", "bold")
    few = None if has_all_lines else MOST_DRIVERS
    ways = (("By default", found.by_default), ("TLS required", found.over_tls))
    rows = [(name, _fare(way, few)) for name, way in ways]
    rows += [(CHANGES[own.change], _locks_out(own, found.drivers, few)) for own in found.changes]
    yield aligned(("name", "words"), rows)
    shown = set(above)
    for obstacle, when in _merged(found):
        yield _points([(f"{when}: {obstacle.why}: {_driver_names(obstacle.drivers, few)}", "")])
        if has_all_lines:
            yield from _mending(obstacle, () if obstacle.server in shown else obstacle.server)
            shown.add(obstacle.server)


CHANGES = {
    "TLS 1.3 alone": "TLS 1.3 alone",
    "no RSA key exchange": "No RSA exchange",
    "an ML-DSA certificate": "ML-DSA",
}


def _fare(way: Way, few: int | None) -> str:
    failing = sum(len(own.drivers) for own in way.obstacles)
    fates = ((len(way.encrypted), "over TLS"), (len(way.in_clear), "in the clear"), (failing, "would fail"))
    words = [f"{number} {how}" for number, how in fates if number]
    words += [f"not known of {_named(way.unknown, few)}"] if way.unknown else []
    return ", ".join(words)


def _locks_out(change: LockedOut, drivers: int, few: int | None) -> str:
    names = _named(change.drivers, few) or "none that can connect now"
    if len(change.drivers) > len(change.kept) and drivers > 1:
        names = f"{len(change.drivers)}{f', all but {_named(change.kept, few)}' if change.kept else ''}"
    unknown = f"; not known of {_named(change.unknown, few)}" if change.unknown else ""
    return f"would lock out {names}{unknown}"


def _merged(found: WhoConnects) -> Iterator[tuple[Obstacle, str]]:
    """What keeps drivers out; what is alike by default and with TLS required is told once."""
    required = {(own.at, own.why, own.drivers): own for own in found.over_tls.obstacles}
    for own in found.by_default.obstacles:
        is_alike = required.pop((own.at, own.why, own.drivers), None) is not None
        yield own, "either way" if is_alike else "by default"
    for own in required.values():
        yield own, "TLS required"


def _driver_names(names: Sequence[str], most: int | None = None) -> str:
    """Drivers by name, the versions of one together: "connector-j 5.1.6, 8.0.16"; of many the first."""
    products = grouped(names[:most], lambda name: name.rpartition("-")[0])
    words = [
        f"{product} {', '.join(name.rpartition('-')[2] for name in own)}" for product, own in products.items()
    ]
    return enumerated([*words, *([f"{len(names) - most} more"] if most and len(names) > most else [])])


def _named(names: Sequence[str], few: int | None) -> str:
    """Drivers by name where they are few, or where all are to be named; else how many."""
    return _driver_names(names) if few is None or len(names) <= few else str(len(names))


def _mending(obstacle: Obstacle, server: Sequence[Step]) -> Iterator[RenderableType]:
    """The lines for either side."""
    yield from _steps(obstacle.client)
    if obstacle.says and (server or not obstacle.server):
        yield styled(f"   at the server: {obstacle.says}", "dim")
    yield from _steps(server)
    if obstacle.unmended and obstacle.client:
        yield styled(f"   at {_driver_names(obstacle.unmended)}: nothing that mends it is known", "dim")


def _points(found: Iterable[tuple[str, str]]) -> RenderableType:
    """Points with what to do about each below it, both broken where their text begins."""
    rows = (row for words, remedy in found for row in (("•", words), ("", styled(remedy, "dim"))) if row[1])
    return aligned(("name", "words"), rows)
