"""Whether the load clients agree, as a section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tlstax.findings.agreement.words import (
    case_words,
    interval_words,
    quantity_words,
    value_words,
    why,
)
from tlstax.findings.core.wording import capitalised
from tlstax.results.document import Agreement, ClientAgreement, RunDocument
from tlstax.topics.core import figures
from tlstax.topics.core.section import Detail, Items, Pairs, Section, Words
from tlstax.topics.core.table import Table

TITLE = "Whether the load clients agree"
READING = (
    "Geometric means over the blocks that both clients have, and the change against the first one. "
    "Operations a second are not compared: they tell of the client as much as of the server. From an "
    "operation's time all of the client's CPU is taken off, with what it uses while the server is at work. "
    "Waking a client that has fallen asleep over its wait is work of the server. Clients are said to "
    "agree where even a difference of a tenth would have been seen."
)


class _Said(NamedTuple):
    """A client, what its trials say, and where it differs what was measured beside that."""

    client: str
    words: str
    why: str = ""


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What each client says of every case; where room is short below each other, else as a table."""
    if not document.agreements:
        return
    found = [(case_words(one.case, document.design), one, _said(one)) for one in document.agreements]
    if detail == "short":
        yield Section((*(_below_each_other(*line) for line in found), Words(READING, aside=True)), TITLE)
        return
    differ = (one for one in document.agreements if any(c.verdict == "differs" for c in one.clients))
    differing = Items(tuple(capitalised(one.sentence) for one in differ))
    if detail == "page":
        clients = tuple(dict.fromkeys(cell.client for *_, said in found for cell in said))
        rows = tuple(
            (case, capitalised(quantity_words(one)), *_by_client(said, clients)) for case, one, said in found
        )
        table = Table(TITLE, ("What is compared", *clients), rows, (), of_words=True)
        yield Section((Words(READING, aside=True), table, differing), TITLE)
        return
    rows = tuple(
        (f"{quantity_words(one)}: {case}", cell.client, cell.words)
        for case, one, said in found
        for cell in said
    )
    yield Section((Table(TITLE, ("client", "measured"), rows, ()), differing, Words(READING)))


def _below_each_other(case: str, agreement: Agreement, said: Sequence[_Said]) -> Pairs:
    rows = (row for cell in said for row in ((cell.client, cell.words), ("", cell.why)) if row[1])
    return Pairs(f"{capitalised(quantity_words(agreement))}: {case}", tuple(rows))


def _by_client(said: Sequence[_Said], clients: Sequence[str]) -> Iterator[str]:
    """A cell for each of these clients; a dash for one whose trials say nothing."""
    known = {cell.client: cell.words for cell in said}
    return (known.get(client, figures.NOTHING) for client in clients)


def _said(agreement: Agreement) -> list[_Said]:
    """The reference client's cell, then the others'."""
    first = _Said(agreement.reference, value_words(agreement.clients[0].reference_value, agreement))
    others = (_Said(one.client, _words(one, agreement), why(one, agreement)) for one in agreement.clients)
    return [first, *others]


def _words(client: ClientAgreement, agreement: Agreement) -> str:
    alike = f"{figures.ALIKE} " if client.verdict == "agrees" else ""
    inconclusive = "; inconclusive" if client.verdict == "inconclusive" else ""
    return f"{alike}{value_words(client.value, agreement)} ({interval_words(client)}{inconclusive})"
