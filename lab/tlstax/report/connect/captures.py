"""What crossed the wire, as a table and as dumps of the first bytes, the same for every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tlstax.findings.core.wording import capitalised
from tlstax.records.capture import Frame, Hello
from tlstax.results.captures import Captures, CaseCrossed
from tlstax.support.text import counted
from tlstax.topics.core import figures
from tlstax.topics.core.hexdump import hexdump
from tlstax.topics.core.lines import MOST_ROWS, Line, Lines
from tlstax.topics.core.section import Dump
from tlstax.topics.core.table import Table

TITLE = "What crossed the wire"
BYTES = "The first bytes"
HEADS = ("encrypted", "resumed", "round trips\nan operation", "to log in", "bytes of\nan operation")
SHORT_HEADS = ("encrypted", "resumed", "trips", "login", "bytes")
READING = (
    "One trial of a few operations each, through a tap on loopback that passes everything on; nothing else "
    "is estimated from it. Round trips (trips) are counted, not timed; those from connecting to the end of "
    "the login cannot be told where it is encrypted. Bytes are sent / received, for each operation."
)
SHORT_BYTES = 64
"""So much of a frame is shown where room is short."""


@dataclass(frozen=True)
class CaseDumps:
    """A case's first bytes, and what is to be said of them."""

    label: str
    says: str
    facts: tuple[str, ...]
    dumps: tuple[Dump, ...]


def whole_table(found: Captures) -> Table:
    """Every case, with all that was agreed on."""
    table = _lines(found).whole()
    heads = tuple(capitalised(head.replace("\n", " ")) for head in table.heads)
    return replace(table, heads=heads, of_words=True)


def short_tables(found: Captures | None, *, narrow: bool = False) -> Iterator[Table]:
    """As it is shown beside other results."""
    if found is not None and found.cases:
        yield from _lines(found, narrow=narrow).by_group(MOST_ROWS)


def notes(found: Captures | None) -> tuple[str, ...]:
    """Cases that no tap saw, and those whose captured trial was not valid, each reason once."""
    if found is None:
        return ()
    reasons: dict[str, list[str]] = {}
    for missing in found.without:
        reasons.setdefault(f"not captured: {missing.why}", []).append(missing.label)
    for case in found.cases:
        if case.verdict != "valid":
            reasons.setdefault(f"captured, and {case.verdict}: {case.reason}", []).append(case.label)
    return tuple(f"{_first_of(labels)}: {reason}" for reason, labels in reasons.items())


def short_dumps(found: Captures | None) -> Iterator[CaseDumps]:
    """For each case the first bytes of both sides; only where the user asked to see them."""
    for case in found.cases if found is not None and found.asked_for else ():
        frames = case.in_window or case.after_login
        first = [frame for side in ("client", "server") for frame in frames if frame.sender == side][:1]
        answer = [frame for frame in frames if frame.sender == "server"][:1]
        shown = tuple(_dump(frame, SHORT_BYTES) for frame in (*first, *answer))
        if shown:
            yield CaseDumps(_named(case), capitalised(case.says), (), shown)


def _lines(found: Captures, *, narrow: bool = False) -> Lines:
    """A line for each case; a `narrow` table has of what was agreed on the version alone."""
    lines = tuple(Line(one.group, one.label, _cells(one, narrow=narrow)) for one in found.cases)
    return Lines(TITLE, SHORT_HEADS if narrow else HEADS, lines, (READING,))


def _cells(case: CaseCrossed, *, narrow: bool) -> tuple[str, ...]:
    trips, login = case.round_trips_per_operation, case.round_trips_of_login
    sent, received = case.bytes_sent_per_operation, case.bytes_received_per_operation
    known = sent is not None and received is not None
    return (
        agreed_words(case, narrow=narrow),
        f"{case.resumed} of {case.handshakes}" if case.handshakes else figures.NOTHING,
        figures.NOTHING if trips is None else figures.significant(trips),
        figures.NOTHING if login is None else str(login),
        f"{sent:,.0f} / {received:,.0f}" if known else figures.NOTHING,
    )


def agreed_words(case: CaseCrossed, *, narrow: bool = False) -> str:
    """What was agreed on: "TLSv1.3 TLS_AES_128_GCM_SHA256 x25519", "no"."""
    if not case.connections:
        return figures.NOTHING
    if not case.encrypted:
        return "no"
    part = "" if case.encrypted == case.connections else f"{case.encrypted} of {case.connections}: "
    agreed = (case.versions,) if narrow else (case.versions, case.ciphers, case.groups)
    return part + " ".join(" or ".join(names) for names in agreed if names)


def every_dump(found: Captures) -> Iterator[CaseDumps]:
    """Each case with all frames that were kept, whole, and what else is to be known of it."""
    for case in found.cases:
        frames = (*case.after_login, *case.in_window)
        dumps = tuple(_dump(frame, len(frame.hex) // 2) for frame in frames)
        yield CaseDumps(_named(case), capitalised(case.says), tuple(_facts(case)), dumps)


def _facts(case: CaseCrossed) -> Iterator[str]:
    """What else is to be known of a case, line by line."""
    if case.offered is not None:
        yield _offered(case.offered)
    if case.hello_retries:
        asked = f"{case.hello_retries} of {case.handshakes}"
        yield f"The server asked for a second ClientHello in {asked} handshakes"
    read = groupby(f"{seen.command} {seen.text}".strip() for seen in case.statements)
    words = [(statement, len(list(times))) for statement, times in read]
    if words:
        told = (f"{statement} ({times} times)" if times > 1 else statement for statement, times in words)
        yield f"Read on one connection: {'; '.join(told)}"


def _offered(hello: Hello) -> str:
    shares = f", with a key share for {', '.join(hello.key_shares)}" if hello.key_shares else ""
    name = f"; server name {hello.server_name}" if hello.server_name else "; no server name"
    suites = f"{counted(len(hello.cipher_suites), 'cipher suite')}: {', '.join(hello.cipher_suites)}"
    groups = f"groups {', '.join(hello.groups) or 'unnamed'}{shares}"
    return f"The client offered {', '.join(hello.versions)}; {suites}; {groups}{name}"


def _dump(frame: Frame, most_bytes: int) -> Dump:
    data = bytes.fromhex(frame.hex)[:most_bytes]
    more = f", the first {len(data)}" if len(data) < frame.length else ""
    return Dump(f"{frame.sender}: {frame.what}, {counted(frame.length, 'byte')}{more}", tuple(hexdump(data)))


def _named(case: CaseCrossed) -> str:
    return f"{case.label} ({case.group})" if case.group else case.label


def _first_of(labels: Sequence[str]) -> str:
    more = len(labels) - 1
    return f"{labels[0]} (and {counted(more, 'more case')})" if more else labels[0]
