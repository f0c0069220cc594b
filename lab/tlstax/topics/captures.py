"""What crossed the wire of each case, as a tap saw it: encrypted or not, in how many round trips, what.

One trial of a few operations is shown of each case, whatever its verdict; nothing else is estimated from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from tlstax.plan.order import captures as planned
from tlstax.plan.order import cases
from tlstax.records.capture import Capture, Conversation, Frame, Spoken, TlsSeen
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.document import FirstBytes, RunDocument
from tlstax.results.rows import More, Row, RowSet, Told, by_case
from tlstax.stats.wording import capitalised
from tlstax.study import Study
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import full_label, group_label, label
from tlstax.study.level_names import UNIX_SOCKET
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, was
from tlstax.topics.core import figures
from tlstax.topics.core.columns import GROUP, Column
from tlstax.topics.core.section import Block, Dump, Folded, Heading, Items, OnPage, Roomy, Section, Words
from tlstax.topics.core.table import MOST_ROWS, Line, Lines, Number
from tlstax.topics.core.topic import Run, Topic

CAPTURED, NOT_CAPTURED = "captured", "not captured"
TRIPS, LOGIN = "round trips per operation", "round trips to log in"
SENT, RECEIVED = "bytes sent per operation", "bytes received per operation"
CONNECTIONS, ENCRYPTED = "connections", "encrypted connections"
HANDSHAKES, RESUMED, RETRIED = "handshakes", "resumed handshakes", "handshakes with a HelloRetryRequest"
OPERATIONS = "operations"
VERSIONS, CIPHERS, KEY_GROUPS = "tls_versions", "ciphers", "key_groups"
AGREED = {VERSIONS: "version", CIPHERS: "cipher", KEY_GROUPS: "group"}
"""What a handshake agrees on, and the record's field of it."""

PROTOCOLS: Mapping[Spoken | None, str] = {"mysql": "MySQL's", "postgresql": "PostgreSQL's", None: "MySQL's"}
"""Whose protocol it is; runs of before tapped MySQL and MariaDB alone."""

MOST_FRAMES = 8
"""The most frames of a kind that are shown; the export has all that were kept."""

MOST_STATEMENTS = 20
"""The same for statements."""

FIRST_OPEN = 3
"""How many cases' bytes are shown unasked on the page."""

SHORT_BYTES = 64
"""How much of a frame is shown where room is short."""

HEADS = ("encrypted", "resumed", "round trips\nan operation", "to log in", "bytes of\nan operation")
SHORT_HEADS = ("encrypted", "resumed", "trips", "login", "bytes")
READING = (
    "One trial of a few operations each, through a tap on loopback that passes everything on; nothing else "
    "is estimated from it. Round trips (trips) are counted, not timed; those from connecting to the end of "
    "the login cannot be told where it is encrypted. Bytes are sent / received, for each operation."
)


def rows(run: Run) -> Iterator[Row]:
    """A row for each number that was counted of a captured case, in the study's order; of those without, why.

    Of `connections`, the encrypted ones went on to encrypted data. The judgement is the captured trial's
    verdict, the caveat why it is not valid. Turns and TCP connects of the window are round trips; those to
    log in are from connecting to the server's OK, and have no row where that cannot be seen.
    """
    for record in _captured(run.stored):
        yield from _case(record, run.study)
    could = {trial.case.key() for trial in planned(run.study)}
    for case in cases(run.study) if run.study.capture else ():
        if case.role != "control" and case.key() not in could:
            why = (_why_not(case.levels),)
            yield Row(role=NOT_CAPTURED, label=full_label(case, run.study), case=case.levels, caveats=why)


def _captured(stored: StoredRun) -> list[TrialRecord]:
    """The captured trials, in the study's order."""
    seen = {record.trial.case.key(): record for record in stored.captured}
    wanted = cases(stored.header.study) if stored.header.study.capture else ()
    return [seen[case.key()] for case in wanted if case.role != "control" and case.key() in seen]


def _why_not(case: CaseLevels) -> str:
    if case.can_be_captured:
        return "in a study with distances all servers stand at their far end, where no tap is"
    if case.path == UNIX_SOCKET:
        return "a Unix socket has no place for a tap"
    if case.distance.is_any:
        return "no tap is put into a distance"
    return f"{case.path} is between client and server, where a tap would be"


def _case(record: TrialRecord, study: Study) -> Iterator[Row]:
    case, capture = record.trial.case, record.capture
    numbers = _numbers(capture) if capture is not None else {CONNECTIONS: 0, ENCRYPTED: 0}
    agreed: dict[str, More] = {}
    if capture is not None:
        handshakes = [handshake for handshake in _handshakes(capture) if handshake.version]
        for name, field in AGREED.items():
            words = dict.fromkeys(getattr(handshake, field) for handshake in handshakes)
            agreed[name] = " or ".join(filter(None, words))
    of_case = Row(
        role=CAPTURED,
        label=label(case, study),
        case=case.levels,
        blocks=1,
        judgement=record.verdict.value,
        negotiated=_agreed_words(numbers, agreed.values()),
        caveats=record.verdict.reasons[:1],
        more={GROUP.name: group_label(case.levels, study), **agreed},
    )
    for name, value in numbers.items():
        if value is not None:
            unit = "B" if name in {SENT, RECEIVED} else "1"
            yield of_case.model_copy(update={"outcome": name, "unit": unit, "value": value})


def _numbers(capture: Capture) -> dict[str, float | None]:
    shown, window = _shown(capture), capture.window
    handshakes = [seen for seen in _handshakes(capture) if seen.version]
    of_window: dict[str, float | None] = {}
    if window is not None and capture.operations:
        of_window = {
            TRIPS: (window.turns + capture.window_connections) / capture.operations,
            SENT: window.bytes_sent / capture.operations,
            RECEIVED: window.bytes_received / capture.operations,
            OPERATIONS: capture.operations,
        }
    turns = None if shown is None else shown.turns_to_login
    return {
        **of_window,
        LOGIN: None if turns is None else turns + 1,  # TCP's own is one more.
        CONNECTIONS: capture.connections,
        ENCRYPTED: capture.encrypted,
        HANDSHAKES: len(handshakes),
        RESUMED: sum(seen.resumed for seen in handshakes),
        RETRIED: sum(seen.hello_retry for seen in handshakes),
    }


def _shown(capture: Capture) -> Conversation | None:
    """The connection that is shown: the first of the measured work, or else the first of all."""
    came_to = [conversation for conversation in capture.conversations if conversation.frames]
    of_window = [conversation for conversation in came_to if conversation.in_window]
    return next(iter((*of_window, *came_to, *capture.conversations)), None)


def _handshakes(capture: Capture) -> list[TlsSeen]:
    """Those that were looked into; sessions that are resumed in the window were made before it."""
    of_window = [conversation for conversation in capture.conversations if conversation.in_window]
    return [one.tls for one in of_window or capture.conversations if one.tls is not None]


def _agreed_words(numbers: Mapping[str, float | None], agreed: Iterable[object]) -> str:
    """What was agreed on: "TLSv1.3 TLS_AES_128_GCM_SHA256 x25519", "no"."""
    connections, encrypted = numbers[CONNECTIONS], numbers[ENCRYPTED]
    if not connections:
        return figures.NOTHING
    if not encrypted:
        return "no"
    part = "" if encrypted == connections else f"{encrypted:.0f} of {connections:.0f}: "
    return part + " ".join(str(names) for names in agreed if names)


def first_bytes(stored: StoredRun) -> tuple[FirstBytes, ...]:
    """The first bytes of each case that a tap saw, in the study's order, and what can be read of them."""
    study = stored.header.study
    return tuple(
        _first_bytes(record, record.capture, study)
        for record in _captured(stored)
        if record.capture is not None
    )


def _first_bytes(record: TrialRecord, capture: Capture, study: Study) -> FirstBytes:
    shown, handshakes, levels = _shown(capture), _handshakes(capture), record.trial.case.levels
    after_login = shown.frames[:MOST_FRAMES] if shown else ()
    in_window = () if shown and shown.in_window else capture.window_frames[:MOST_FRAMES]
    group, name = group_label(levels, study), label(record.trial.case, study)
    return FirstBytes(
        case=levels,
        label=f"{name} ({group})" if group else name,
        offered=handshakes[0].hello if handshakes else None,
        is_direct=shown is not None and shown.is_direct,
        login=shown.login if shown and shown.spoken == "postgresql" else (),
        statements=shown.statements[:MOST_STATEMENTS] if shown else (),
        after_login=after_login,
        in_window=in_window,
        says=_says(capture, (*after_login, *in_window)),
    )


def _says(capture: Capture, frames: Sequence[Frame]) -> str:
    """What can be read of it, in a sentence."""
    if 0 < capture.encrypted < capture.connections:
        every = counted(capture.connections, "connection")
        return f"only {capture.encrypted} of {every} {was(capture.encrypted)} encrypted on the wire"
    if not frames:
        return "nothing crossed the wire after the login"
    if capture.encrypted:
        return f"these are {frames[0].what} records: nothing can be read"
    if frames[0].what == "compressed packet":
        return "these bytes are compressed and not encrypted: whoever inflates them can read all of it"
    spoken = next((one.spoken for one in capture.conversations if one.spoken), None)
    return f"these bytes are {PROTOCOLS[spoken]} protocol in the clear: statements and rows can be read"


def sentences(run: Run, _: Sequence[Row]) -> Iterator[str]:
    """What can be read of each case's first bytes, where the user asked to see them, by --capture."""
    if run.stored.header.changes.capture:
        yield from map(_sentence, first_bytes(run.stored))


def _sentence(case: FirstBytes) -> str:
    return f"{capitalised(case.label)}: {capitalised(case.says)}"


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """What was agreed on and counted, and the first bytes: all on the page, else where that is asked."""
    of_cases = by_case(told.of(role=CAPTURED))
    notes = tuple(_notes(told))
    text: list[Block] = [
        Roomy(
            tuple(_lines(of_cases).by_group(MOST_ROWS)),
            otherwise=tuple(_lines(of_cases, narrow=True).by_group(MOST_ROWS)),
        ),
        Items(notes, "Not seen on the wire"),
    ]
    for case in document.first_bytes if told.sentences else ():
        # The first bytes of both sides, and what the server then says.
        frames = case.in_window or case.after_login
        first = [frame for side in ("client", "server") for frame in frames if frame.sender == side][:1]
        answer = [frame for frame in frames if frame.sender == "server"][:1]
        dumps = [_dump(frame, SHORT_BYTES) for frame in (*first, *answer)]
        text += [Words(_sentence(case)), *dumps] if dumps else []

    def page() -> Iterator[Block]:
        table = _lines(of_cases).whole()
        heads = tuple(capitalised(head.replace("\n", " ")) for head in table.heads)
        yield from [replace(table, heads=heads, of_words=True)] if table.rows else []
        yield Items(tuple(map(capitalised, notes)))
        yield from [Heading("The first bytes")] if document.first_bytes else []
        for place, case in enumerate(document.first_bytes):
            frames = (*case.after_login, *case.in_window)
            dumps = (_dump(frame, len(frame.hex) // 2) for frame in frames)
            facts = map(Words, _facts(case, told))
            yield Folded(_sentence(case), (*facts, *dumps), is_open=place < FIRST_OPEN)

    yield Section((OnPage(page, otherwise=tuple(text)),), TOPIC.title)


def _lines(of_cases: Iterable[RowSet], *, narrow: bool = False) -> Lines:
    """A line for each case; a `narrow` table has of what was agreed on the version alone."""
    lines = []
    for own in of_cases:
        first, numbers = own.rows[0], {row.outcome: row.value for row in own.rows}
        sent, received, made = (numbers.get(name) for name in (SENT, RECEIVED, HANDSHAKES))
        known = sent is not None and received is not None
        cells = (
            _agreed_words(numbers, [first.word(VERSIONS)]) if narrow else first.negotiated,
            f"{numbers[RESUMED]:.0f} of {made:.0f}" if made else figures.NOTHING,
            Number(numbers.get(TRIPS)),
            Number(numbers.get(LOGIN), said="{:.0f}".format),
            f"{sent:,.0f} / {received:,.0f}" if known else figures.NOTHING,
        )
        lines.append(Line(first.word(GROUP.name), first.label, cells))
    return Lines(TOPIC.title, SHORT_HEADS if narrow else HEADS, tuple(lines), (READING,))


def _notes(told: Told) -> Iterator[str]:
    """Cases that no tap saw, and those whose captured trial was not valid, each reason once."""
    said = [(row.label, f"not captured: {row.caveats[0]}") for row in told.of(role=NOT_CAPTURED)]
    said += [
        (row.label, f"captured, and {row.judgement}: {'; '.join(row.caveats)}")
        for row in told.of(role=CAPTURED)
        if row.judgement != "valid"
    ]
    for reason, (first, *more) in grouped(dict.fromkeys(said), lambda both: both[1]).items():
        others = f" (and {counted(len(more), 'more case')})" if more else ""
        yield f"{first[0]}{others}: {reason}"


def _dump(frame: Frame, most_bytes: int) -> Dump:
    data = bytes.fromhex(frame.hex)[:most_bytes]
    more = f", the first {len(data)}" if len(data) < frame.length else ""
    return Dump(f"{frame.sender}: {frame.what}, {counted(frame.length, 'byte')}{more}", tuple(hexdump(data)))


def _facts(case: FirstBytes, told: Told) -> Iterator[str]:
    """What else is to be known of a case, line by line."""
    if case.offered is not None:
        hello = case.offered
        shares = f", with a key share for {', '.join(hello.key_shares)}" if hello.key_shares else ""
        name = f"; server name {hello.server_name}" if hello.server_name else "; no server name"
        suites = f"{counted(len(hello.cipher_suites), 'cipher suite')}: {', '.join(hello.cipher_suites)}"
        groups = f"groups {', '.join(hello.groups) or 'unnamed'}{shares}"
        within = f"; to speak {', '.join(hello.protocols)} within (ALPN)" if hello.protocols else ""
        yield f"The client offered {', '.join(hello.versions)}; {suites}; {groups}{name}{within}"
    if case.is_direct:
        yield "TLS was begun at once, without a question to the server"
    numbers = {row.outcome: row.value for row in told.rows if row.case == case.case}
    if numbers.get(RETRIED):
        every = counted(round(numbers[HANDSHAKES] or 0), "handshake")
        yield f"The server asked for a second ClientHello in {numbers[RETRIED]:.0f} of {every}"
    if case.login:
        yield f"Read until the login's end: {', '.join(case.login)}"
    read = groupby(f"{seen.command} {seen.text}".strip() for seen in case.statements)
    words = [(statement, len(list(times))) for statement, times in read]
    if words:
        said = (f"{statement} ({times} times)" if times > 1 else statement for statement, times in words)
        yield f"Read on one connection: {'; '.join(said)}"


COLUMNS = (
    GROUP,
    Column(VERSIONS, "TEXT", "the versions of TLS that were agreed on where they crossed the wire"),
    Column(CIPHERS, "TEXT", "the cipher suites"),
    Column(KEY_GROUPS, "TEXT", "the groups of the key exchange"),
)

TOPIC = Topic("captures", "What crossed the wire", rows, sections, sentences, COLUMNS)


_A_LINE = 16
_A_GROUP = 8


def hexdump(data: bytes) -> Iterator[str]:
    """A line for every sixteen bytes; what is not printable ASCII is a dot."""
    for place in range(0, len(data), _A_LINE):
        line = data[place : place + _A_LINE]
        groups = (line[at : at + _A_GROUP].hex(" ") for at in (0, _A_GROUP))
        shown = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in line)
        yield f"{place:08x}  {'  '.join(f'{group:<23}' for group in groups)}  |{shown}|"
