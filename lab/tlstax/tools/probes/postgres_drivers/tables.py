"""What a probe of PostgreSQL's drivers showed, as sections that every format shows, and as rows of CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO

from tlstax.records.capture import Conversation, Frame, Sender
from tlstax.study.driver_catalogue import HELD_BACK_US
from tlstax.support.grouping import grouped
from tlstax.support.text import enumerated
from tlstax.tools.probes.drivers.probe_table import of_ways, yes
from tlstax.tools.probes.drivers.probed import Cost
from tlstax.tools.probes.postgres_drivers.document import (
    OVERS,
    Attack,
    Outcome,
    PostgresDriverRow,
    PostgresProbe,
    ServerState,
    Trick,
    WordRow,
)
from tlstax.tools.probes.postgres_drivers.words import MEANINGS
from tlstax.topics.core.figures import NOTHING, UNKNOWN
from tlstax.topics.core.section import Block, Items, Section, Words
from tlstax.topics.core.table import Cell, Number, Table

OUTCOMES: Mapping[Outcome, str] = {"encrypted": "TLS", "in the clear": "clear", "refused": "refused"}

STATE_HEADS: Mapping[ServerState, str] = {
    "right": "right",
    "unknown authority": "authority",
    "other host": "host",
    "expired": "expired",
    "no TLS": "no TLS",
}

STATES_EXPLAINED = (
    "How each meets the server: with a certificate in order; with one of an authority that it is not given, "
    "for another host, or expired, each wrong in that one way alone; and where the server has no TLS."
)

ATTACK_HEADS = (
    "no",
    "error",
    "behind",
    "certificate",
    "password",
    "MD5",
    "wrong",
    "none",
    "at once",
    "passed on",
)

ATTACKS_EXPLAINED = (
    "No, error: whether it goes on in the clear where somebody answers its question for TLS with no, or with "
    "an error (told: it shows that error's words as if they were the server's). Behind: whether it takes "
    "what is sent behind the yes, before TLS, for protected (dropped: it goes on without it; clear: it "
    "begins anew without TLS; no: it ends). "
    "Certificate: whether it takes one that nobody vouches for. Then what it gives to somebody who plays the "
    "server in the clear, over TLS by that certificate, or both: the password, or its hash (MD5), to whoever "
    "asks for it; its statement, although SCRAM's proof was wrong, there was none, or nothing was asked; or "
    "although it was all passed on to the real server, and read. "
    "\u2013 means that it did not come to that."
)

FACT_HEADS = ("clear", "TLS", "direct", "statement", "SCRAM", "ALPN", "hellos", "anew")

FACTS_EXPLAINED = (
    "How often it waits for the server, TCP's own included, to connect in the clear, over TLS that is asked "
    "for and over TLS that begins at once, and for a statement. SCRAM: PLUS where it is bound to the TLS "
    "channel. Hellos: two where the server asked for another key share. Anew: whether a changed file of "
    "authorities is in force for the next connection. Nothing is resumed: PostgreSQL issues no tickets."
)

COST_HEADS = ("connect", "TLS", "statement", "TLS", "CPU of\nconnect", "TLS")

COSTS_EXPLAINED = (
    "In \u00b5s, first in the clear and then over TLS with the certificate verified, on one connection. "
    "Connect's time is the median of the driver's whole connect call, and its CPU time that of connecting, "
    "asking and closing, less a statement's."
)

HELD_BACK = (
    "With {} a connect over TLS takes {:.0f} ms or more longer than in the clear, CPU time aside. A driver "
    "that leaves Nagle's algorithm on waits as long: its first message over TLS is held back until the last "
    "one of the handshake is acknowledged, which Linux delays by 40 ms. TCP_NODELAY on the driver's socket "
    "ends it."
)

Cells = Callable[[WordRow], tuple[str, ...]]


def sections(document: PostgresProbe) -> Iterator[Section]:
    """All that was found: what each word makes of each server, the hostile wire, the rest, and notes."""
    probed = [row for row in document.drivers if row.failed is None]
    server = f" on {document.server} ({document.server_version})" if document.server else ""
    yield Section((Words(f"What drivers of PostgreSQL do{server}"),))
    blocks = _tables(probed, "Which server they take", tuple(STATE_HEADS.values()), _state_cells)
    yield Section((*blocks, Words(STATES_EXPLAINED, aside=True)))
    if any(word.attacks for row in probed for word in row.words):
        blocks = _tables(probed, "On a hostile wire", ATTACK_HEADS, attack_cells)
        yield Section((*blocks, Words(ATTACKS_EXPLAINED, aside=True)))
    title, lines = "Round trips, and what else crosses the wire", [(r.name, *_fact_cells(r)) for r in probed]
    facts = Table(title, FACT_HEADS, lines, (), of="driver", literal=True)
    yield Section((facts, Words(FACTS_EXPLAINED, aside=True)))
    if any(row.plain.connect_us or row.encrypted.connect_us for row in probed):
        yield Section((_costs(probed), Words(COSTS_EXPLAINED, aside=True), *_held_back(probed)))
    yield Section(tuple(_notes(document)))


def _tables(
    rows: Sequence[PostgresDriverRow], title: str, heads: tuple[str, ...], cells: Cells
) -> Iterator[Block]:
    """A table for each word, a line for all drivers that do the same; of one driver a line for each word."""
    if len(rows) == 1:
        lines = [(MEANINGS[word.meaning], *cells(word)) for word in _taken(rows[0])]
        yield Table(f"{title}: {rows[0].name}", heads, lines, (), of="word", literal=True)
        return
    for meaning, name in MEANINGS.items():
        told = [(row.name, word) for row in rows for word in _taken(row) if word.meaning == meaning]
        alike = grouped(told, lambda line: cells(line[1]))
        if alike:
            lines = [(", ".join(driver for driver, _ in own), *shown) for shown, own in alike.items()]
            yield Table(f"{title}, told: {name}", heads, lines, (), of="driver", literal=True)


def _taken(row: PostgresDriverRow) -> list[WordRow]:
    """The words that the driver took."""
    return [word for word in row.words if word.refused_word is None]


def _state_cells(word: WordRow) -> tuple[str, ...]:
    return tuple(OUTCOMES[met] if (met := word.outcome(state)) else UNKNOWN for state in STATE_HEADS)


def attack_cells(word: WordRow) -> tuple[str, ...]:
    """What a word lets come to on a hostile wire, as ATTACK_HEADS has it."""
    error = word.attack("error", "clear")
    told = "told" if error is not None and error.repeats_error else "no"
    return (
        _goes_on(word.attack("offer taken away", "clear")),
        "yes" if error is not None and error.connected else told if error is not None else NOTHING,
        _behind(word.attack("bytes behind the answer", "clear")),
        NOTHING if word.takes_any_certificate is None else yes(word.takes_any_certificate),
        _given(word, "clear password", lambda attack: attack.gave == "password"),
        _given(word, "md5", lambda attack: attack.gave == "hash"),
        *(_given(word, trick, lambda attack: attack.ran) for trick in _SCRAM),
    )


_SCRAM: tuple[Trick, ...] = ("wrong proof", "no proof", "nothing asked", "passed on")


def _goes_on(attack: Attack | None) -> str:
    return NOTHING if attack is None else yes(attack.connected)


def _behind(attack: Attack | None) -> str:
    """Who finds the bytes ends it, begins anew in the clear, or drops them and goes on over TLS."""
    if attack is None or attack.connected:
        return _goes_on(attack)
    if attack.in_clear:
        return "clear"
    return "dropped" if attack.gave == "proof" and not attack.words else "no"


def _given(word: WordRow, trick: Trick, is_given: Callable[[Attack], bool]) -> str:
    came = {over: attack for over in OVERS if (attack := word.attack(trick, over)) is not None}
    if word.takes_any_certificate is False:
        came.pop("TLS", None)
    given = [over for over, attack in came.items() if is_given(attack)]
    if not came:
        return NOTHING
    return "both" if len(given) == len(OVERS) else given[0] if given else "no"


def _fact_cells(row: PostgresDriverRow) -> tuple[Cell, ...]:
    by_meaning = {word.meaning: word for word in _taken(row)}
    strict = by_meaning.get("verify-full") or by_meaning.get("require")
    clear, direct = by_meaning.get("disable"), by_meaning.get("direct")
    bound = {
        login.mechanism
        for word in row.words
        for login in word.logins
        if login.over == "TLS" and word.meaning in {"require", "verify-full"} and login.mechanism
    }
    plus = "PLUS" if "SCRAM-SHA-256-PLUS" in bound else "plain" if bound else UNKNOWN
    statement = next((w.round_trips_per_statement for w in row.words if w.round_trips_per_statement), None)
    return (
        _trips(clear),
        _trips(strict),
        NOTHING if direct is None else _trips(direct),
        str(statement or UNKNOWN),
        plus,
        yes(bool(row.application_protocols) if row.tls_version else None),
        UNKNOWN if row.hello_retry is None else "2" if row.hello_retry else "1",
        yes(row.reads_authorities_anew),
    )


def _trips(word: WordRow | None) -> str:
    return (
        UNKNOWN if word is None or word.round_trips_per_connect is None else str(word.round_trips_per_connect)
    )


def _costs(rows: Sequence[PostgresDriverRow]) -> Table:
    names = ("connect_us", "statement_us", "connect_cpu_us")
    lines = [(row.name, *map(_cost, of_ways(row.plain, row.encrypted, *names))) for row in rows]
    return Table("What it costs", COST_HEADS, lines, (), of="driver")


def _cost(cost: Cost | None) -> Cell:
    if cost is None:
        return UNKNOWN
    return Number(cost.point, cost.low, cost.high, said="{:,.0f}".format)


def _held_back(rows: Sequence[PostgresDriverRow]) -> Iterator[Block]:
    """Which drivers wait over TLS, and for what: one sentence, or none."""
    names = [row.name for row in rows if _waits_us(row) >= HELD_BACK_US]
    if names:
        yield Words(HELD_BACK.format(enumerated(names), HELD_BACK_US / 1000))


def _waits_us(row: PostgresDriverRow) -> float:
    """How much longer a connect takes over TLS than its CPU time explains, at the least; 0 where unknown."""
    longer = _at_least(row.encrypted.connect_us, row.plain.connect_us)
    computing = _at_least(row.plain.connect_cpu_us, row.encrypted.connect_cpu_us)
    return 0.0 if longer is None or computing is None else longer + min(0.0, computing)


def _at_least(one: Cost | None, other: Cost | None) -> float | None:
    """The least that one may be above another, by the ends of their intervals; None where one has none."""
    if one is None or other is None or one.low is None or other.high is None:
        return None
    return one.low - other.high


def _notes(document: PostgresProbe) -> Iterator[Block]:
    """Words that a driver does not take, what it says by itself, and how the probe ended."""
    yield Items(tuple(_own_statements(document)), heading="What they send of their own accord on connecting")
    refused = [
        f"{row.name}, told {word.written}: {word.refused_word}"
        for row in document.drivers
        for word in row.words
        if word.refused_word is not None
    ]
    yield Items(tuple(refused), heading="What they do not take", all_of_them=True)
    ended = [f"{row.name} was not probed: {row.failed}" for row in document.drivers if row.failed]
    if document.run:
        ended.append(f"Costs are from run {document.run} ({document.stopped_because}).")
    if document.status == "interrupted":
        ended.append("It was interrupted; this is what was known by then.")
        ended.extend(_left_out(document))
    for sentence in ended:
        yield Words(sentence)


def _left_out(document: PostgresProbe) -> Iterator[str]:
    """What an interruption left out: words of the driver that was being probed, and whole drivers."""
    for row in document.drivers:
        if row.untried:
            untried = "; ".join(MEANINGS[meaning] for meaning in row.untried)
            yield f"{row.name} was not told: {untried}."
    if document.unprobed:
        yield f"Not probed: {', '.join(document.unprobed)}."


def _own_statements(document: PostgresProbe) -> Iterator[str]:
    alike = grouped(
        [row for row in document.drivers if row.statements_on_connect is not None],
        lambda row: row.statements_on_connect,
    )
    for statements, rows in alike.items():
        said = "; ".join(statements or ()) or "nothing"
        yield f"{', '.join(row.name for row in rows)}: {said}"


COLUMNS = (
    "driver",
    "version",
    "meaning",
    "written",
    "by",
    "over",
    "outcome",
    "gave",
    "connected",
    "ran",
    "words",
    "wire",
)
"""`wire` is what crossed it, in the names of its messages: `>` from the driver, `<` from the server."""


def csv_text(document: PostgresProbe) -> str:
    """A row for each server that each word met, for each login in order, and for each attack."""
    text = StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    for row in document.drivers:
        for word in row.words:
            common = {
                "driver": row.name,
                "version": row.version,
                "meaning": word.meaning,
                "written": word.written,
            }
            for own in _csv_rows(word):
                writer.writerow({**common, **{name: _harmless(value) for name, value in own.items()}})
    return text.getvalue()


def _csv_rows(word: WordRow) -> Iterator[dict[str, object]]:
    for met in word.met:
        yield {
            "by": met.server,
            "outcome": met.outcome,
            "words": met.words,
            "wire": " | ".join(map(_heard, met.conversations)),
        }
    for login in word.logins:
        yield {
            "by": "login in order",
            "over": login.over,
            "outcome": login.mechanism or "",
            "words": login.words,
            "wire": _messages(login.messages),
        }
    for attack in word.attacks:
        yield {
            "by": attack.trick,
            "over": attack.over,
            "gave": attack.gave,
            "connected": attack.connected,
            "ran": attack.ran,
            "words": attack.words,
            "wire": " | ".join((_messages(attack.messages), *map(_heard, attack.conversations))),
        }


def _messages(frames: Sequence[Frame]) -> str:
    """The messages of both sides, without what a server tells of itself at the end of a login."""
    shown = (frame for frame in frames if frame.what not in _TOLD)
    return " ".join(f"{_SIGNS[frame.sender]}{frame.what.replace(' ', '_')}" for frame in shown)


_SIGNS: Mapping[Sender, str] = {"client": ">", "server": "<"}
_TOLD = frozenset({"ParameterStatus", "BackendKeyData"})


def _heard(talk: Conversation) -> str:
    """What a tap heard of a connection: how it began, its TLS, and what was asked in the clear."""
    encrypted = (
        [f"TLS {talk.tls.version} {talk.tls.cipher}"] if talk.tls is not None and talk.tls.finished else []
    )
    asked = [" ".join(own.text.split()) or own.command for own in talk.statements]
    return ", ".join((*talk.login, *encrypted, *asked))


def _harmless(value: object) -> object:
    """A driver's words, which no spreadsheet is to run as a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@"} else value
