"""Whether load clients agree, as lines of text that every format shows in its own way."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.findings.agreement.words import (
    case_words,
    interval_words,
    quantity_words,
    untold_words,
    value_words,
    why,
)
from tlstax.report.core import figures
from tlstax.results.document import Agreement, ClientAgreement, RunDocument

TITLE = "Whether the load clients agree"
READING = (
    "Geometric means over the blocks that both clients have, and the change against the first one. "
    "Operations a second are not compared: they tell of the client as much as of the server. From an "
    "operation's time all of the client's CPU is taken off, with what it uses while the server is at work. "
    "Waking a client that has fallen asleep over its wait is work of the server. Clients are said to "
    "agree where even a difference of a tenth would have been seen."
)


@dataclass(frozen=True)
class Cell:
    """A client, what its trials say, and where it differs what was measured beside that."""

    client: str
    words: str
    why: str = ""


@dataclass(frozen=True)
class Line:
    """One case in one quantity: the reference client's cell, then the others'."""

    case: str
    quantity: str
    cells: tuple[Cell, ...]

    def said_by(self, client: str) -> str:
        """What this client's trials say; a dash where they say nothing."""
        return next((cell.words for cell in self.cells if cell.client == client), figures.NOTHING)


def differences(document: RunDocument) -> tuple[str, ...]:
    """A sentence for each case in which a client differs."""
    return tuple(
        agreement.sentence
        for agreement in document.agreements
        if any(client.verdict == "differs" for client in agreement.clients)
    )


def lines(document: RunDocument) -> tuple[Line, ...]:
    """A line for each case and quantity, in the document's order."""
    return tuple(
        Line(
            case=case_words(agreement.case, document.design),
            quantity=quantity_words(agreement),
            cells=tuple(_cells(agreement)),
        )
        for agreement in document.agreements
    )


def _cells(agreement: Agreement) -> list[Cell]:
    first = Cell(agreement.reference, value_words(agreement.clients[0].reference_value, agreement))
    others = (
        Cell(client.client, _words(client, agreement), why(client, agreement)) for client in agreement.clients
    )
    return [first, *others]


def _words(client: ClientAgreement, agreement: Agreement) -> str:
    alike = f"{figures.ALIKE} " if client.verdict == "agrees" else ""
    untold = f"; {untold_words(client)}" if client.verdict == "could not be told" else ""
    return f"{alike}{value_words(client.value, agreement)} ({interval_words(client)}{untold})"
