"""An inspected server for a terminal: how it is, and what is unsafe."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date

from rich.console import RenderableType
from rich.text import Text

from tlstax.contract import TlsView
from tlstax.findings.core.wording import percent
from tlstax.results.inspection import (
    KEPT_BACK,
    WOULD_BLOCK,
    Asked,
    Certificate,
    Concern,
    ConnectPhase,
    Inside,
    InspectedServer,
    LockedOut,
    Obstacle,
    Program,
    Step,
    Topic,
    Use,
    Way,
    WhoConnects,
)
from tlstax.study.key_groups import group_name
from tlstax.support.text import counted, duration, enumerated, shortened
from tlstax.topics.core.printed import Pasted, aligned, printed, styled

MOST_NAMES = 3
"""Of a certificate, or of what the same lines mend."""

MOST_PROGRAMS = 6
"""Kinds of connections that are named, those with the most connections first."""


MOST_DRIVERS = 3
"""That fail at the same or would be locked out, and are named although nobody asked for all lines."""


def inspection_text(found: InspectedServer, *, width: int, colour: bool, has_all_lines: bool = False) -> str:
    """What was found, `width` columns wide; with every driver and the lines that mend it, or in short."""
    parts: list[RenderableType] = [styled(f"{found.server}, as it is from outside", "bold")]
    parts += [aligned(("name", "words"), _facts(found)), Text()]
    parts += (
        _to_mend("Mend first", found.concerns) if found.concerns else [styled("Nothing unsafe was seen.")]
    )
    if found.payments:
        parts += [Text(), *_to_mend("What connects pay for", found.payments)]
    if found.who_connects is not None:
        printed_steps = {own.steps for own in (*found.concerns, *found.payments)}
        parts += _who_connects(found.who_connects, printed_steps, has_all_lines=has_all_lines)
    parts += _end(found)
    return printed(parts, width=width, colour=colour)


def _facts(found: InspectedServer) -> Iterator[tuple[str, str]]:
    said = found.word
    library = f", its TLS by {said.tls_library}" if said.tls_library else ""
    yield "Server", f"{said.version}{library}"
    if not found.offers_tls:
        yield "TLS", "not offered"
        yield from _used(found.inside)
        return
    for default in _of(found.asked, "default"):
        yield "By default", _view(default.agreed) if default.agreed else default.why_not
    yield "Versions", _taken(_of(found.asked, "version"))
    yield "Cipher suites", _taken(_of(found.asked, "suite"))
    yield "Key exchange", _taken(_of(found.asked, "group"))
    yield "Resumes", _taken(_of(found.asked, "resumption"))
    if found.connect:
        yield "A connect", _connect(found.connect)
    for place, certificate in enumerate(found.chain):
        yield ("Certificate" if place == 0 else "sent with it"), _certificate(certificate)
    if said.account_plugin:
        yield "Login", said.account_plugin
    if said.requires_tls is not None:
        yield "In the clear", "refused" if said.requires_tls else "accepted"
    yield from _used(found.inside)


def _used(inside: Inside) -> Iterator[tuple[str, str]]:
    """How it is used: since its start, over the watch, and by whom now."""
    for name, use in (("Since its start", inside.since_start), ("Watched", inside.watched)):
        if use is not None:
            yield name, _use(use)
    for place, program in enumerate(inside.programs[:MOST_PROGRAMS]):
        yield ("Connected now" if place == 0 else ""), _program(program)
    if (left := len(inside.programs) - MOST_PROGRAMS) > 0:
        yield "", f"and {counted(left, 'other kind')}"
    for words in inside.unread:
        yield "Not readable", words


def _use(use: Use) -> str:
    parts = [f"{_number(use.connects_per_s)} connects/s"]
    if use.statements_per_s is not None:
        parts.append(f"{_number(use.statements_per_s)} statements/s")
    if use.statements_per_connect is not None:
        parts.append(f"{_number(use.statements_per_connect)} a connection")
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


def _connect(phases: Sequence[ConnectPhase]) -> str:
    """Round trips, bytes and time of all of it, and of it the handshake's."""
    whole = phases[0]
    words = (
        f"{whole.round_trips:.3g} round trips, {whole.sent_bytes:,.0f} bytes sent and "
        f"{whole.received_bytes:,.0f} received, {whole.median_us / 1000:.3g} ms from here "
        f"(median of {whole.connects})"
    )
    tls = next((phase for phase in phases if phase.name == "tls_handshake"), None)
    if tls is None:
        return words
    return f"{words}; of it TLS {tls.round_trips:.3g} round trips and {tls.median_us / 1000:.3g} ms"


def _of(asked: Sequence[Asked], topic: Topic) -> list[Asked]:
    return [own for own in asked if own.topic == topic]


def _view(view: TlsView) -> str:
    parts = [view.version.replace("TLSv", "TLS "), view.cipher, group_name(view.group)]
    if view.hello_retry:
        parts.append("asked for a second ClientHello, which is one more round trip")
    return " · ".join(filter(None, parts))


def _taken(asked: Sequence[Asked]) -> str:
    """What is taken, what is not, and what this machine's library cannot ask for."""
    taken = [own.name for own in asked if own.agreed]
    refused = [own.name for own in asked if not own.agreed and own.could_ask]
    unasked = [own for own in asked if not own.could_ask]
    reasons = (KEPT_BACK, WOULD_BLOCK)
    held_back = {why: [own.name for own in unasked if own.why_not == why] for why in reasons}
    unknown = [own.name for own in unasked if own.why_not not in reasons]
    parts = [enumerated(taken) or "none"]
    parts += [f"not {enumerated(refused)}"] if refused else []
    parts += [f"not asked, since the library here does not know it: {enumerated(unknown)}"] if unknown else []
    parts += [f"not asked, since {why}: {enumerated(names)}" for why, names in held_back.items() if names]
    return "; ".join(parts)


def _certificate(certificate: Certificate) -> str:
    names = f" for {shortened(certificate.names, MOST_NAMES)}" if certificate.names else ""
    issuer = "self-signed" if certificate.is_self_signed else f"issued by {certificate.issuer}"
    return (
        f"{certificate.key}{names}, {issuer}, with {certificate.signature}, {certificate.size_bytes:,} bytes"
        f", until {certificate.not_after[:10]}"
    )


def _to_mend(title: str, found: Sequence[Concern]) -> Iterator[RenderableType]:
    """Each concern with its remedy, then the lines to paste, each set once, with what it is for."""
    yield styled(title, "bold")
    points = []
    for own in found:
        is_costly = own.danger == "costly"
        words = f"{own.what}: {own.why}" if is_costly else f"{own.danger}: {own.what}: {own.why}"
        points.append((words, f"{'avoid' if is_costly else 'mend'} it: {own.remedy}"))
    yield _points(points)
    remedies: dict[tuple[Step, ...], list[str]] = {}
    for own in found:
        if own.steps:
            remedies.setdefault(own.steps, []).append(re.split(r",| \(|;", own.remedy)[0])
    for steps, said in remedies.items():
        yield Text()
        yield styled(f"{shortened(list(dict.fromkeys(said)), MOST_NAMES)}:", "bold")
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
    named = driver_names if has_all_lines else _few_drivers
    ways = (("By default", found.by_default), ("TLS required", found.over_tls))
    rows = [(name, _fare(way, named)) for name, way in ways]
    rows += [(CHANGES[own.change], _locks_out(own, found.drivers, named)) for own in found.changes]
    yield aligned(("name", "words"), rows)
    shown = set(above)
    for obstacle, when in _merged(found):
        names = driver_names(obstacle.drivers, None if has_all_lines else MOST_DRIVERS)
        yield _points([(f"{when}: {obstacle.why}: {names}", "")])
        if has_all_lines:
            server = () if obstacle.server in shown else obstacle.server
            shown.add(server)
            yield from _mending(obstacle, server)


CHANGES = {
    "TLS 1.3 alone": "TLS 1.3 alone",
    "no RSA key exchange": "No RSA exchange",
    "an ML-DSA certificate": "ML-DSA",
}


Named = Callable[[Sequence[str]], str]
"""How drivers are named in a row of the table."""


def _fare(way: Way, named: Named) -> str:
    parts = [(len(way.encrypted), "over TLS"), (len(way.in_clear), "in the clear")]
    words = [f"{number} {how}" for number, how in parts if number]
    failing = sum(len(own.drivers) for own in way.obstacles)
    words += [f"{failing} would fail"] if failing else []
    words += [f"not known of {named(way.unknown)}"] if way.unknown else []
    return ", ".join(words)


def _locks_out(change: LockedOut, drivers: int, named: Named) -> str:
    names = named(change.drivers)
    if len(change.drivers) > len(change.kept) and drivers > 1:
        but = f", all but {named(change.kept)}" if change.kept else ""
        names = f"{len(change.drivers)}{but}"
    said = f"would lock out {names}" if change.drivers else "would lock out nobody who can connect now"
    return f"{said}; not known of {named(change.unknown)}" if change.unknown else said


def _merged(found: WhoConnects) -> Iterator[tuple[Obstacle, str]]:
    """What keeps drivers out; what is alike by default and with TLS required is told once."""
    required = {(own.at, own.why, own.drivers): own for own in found.over_tls.obstacles}
    for own in found.by_default.obstacles:
        is_alike = required.pop((own.at, own.why, own.drivers), None) is not None
        yield own, "either way" if is_alike else "by default"
    for own in required.values():
        yield own, "TLS required"


def driver_names(names: Sequence[str], most: int | None = None) -> str:
    """Drivers by name, the versions of one together: "connector-j 5.1.6, 8.0.16"; of many the first."""
    versions: dict[str, list[str]] = {}
    for name in names[:most]:
        product, _, version = name.rpartition("-")
        versions.setdefault(product, []).append(version)
    words = [f"{product} {', '.join(numbers)}" for product, numbers in versions.items()]
    return enumerated([*words, *([f"{len(names) - most} more"] if most and len(names) > most else [])])


def _few_drivers(names: Sequence[str]) -> str:
    """Drivers by name where they are few, else how many."""
    return driver_names(names) if len(names) <= MOST_DRIVERS else str(len(names))


def _mending(obstacle: Obstacle, server: Sequence[Step]) -> Iterator[RenderableType]:
    """The lines for either side."""
    for step in obstacle.client:
        yield styled(f"   {step.where}:")
        yield Pasted(step.lines, indent=7)
    if obstacle.says and (server or not obstacle.server):
        yield styled(f"   at the server: {obstacle.says}", "dim")
    for step in server:
        yield styled(f"   {step.where}:")
        yield Pasted(step.lines, indent=7)
    if obstacle.unmended and obstacle.client:
        yield styled(f"   at {driver_names(obstacle.unmended)}: nothing that mends it is known", "dim")


def _points(found: Iterable[tuple[str, str]]) -> RenderableType:
    """Points with what to do about each below it, both broken where their text begins."""
    rows: list[tuple[str | Text, ...]] = []
    for words, remedy in found:
        rows += [("•", words), ("", styled(remedy, "dim"))] if remedy else [("•", words)]
    return aligned(("name", "words"), rows)


def _end(found: InspectedServer) -> Iterator[RenderableType]:
    yield Text()
    cut = f" The rest was not asked: {found.stopped_because}." if found.stopped_because else ""
    yield styled(f"Asked with {counted(found.connections, 'connection')}, one at a time.{cut}")
