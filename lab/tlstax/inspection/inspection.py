"""A server inspected from outside: one login of our own, then one handshake for each question."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Protocol

from tlstax.contract import Account, TcpEndpoint, TlsOn
from tlstax.findings.inspection.concerns import concerns
from tlstax.findings.inspection.payments import payments
from tlstax.guests import connection as guest_connection
from tlstax.guests.access import GuestAccess
from tlstax.inspection import chain, questions
from tlstax.inspection.asking import ask
from tlstax.inspection.connects import CONNECTS, PROVED, connect_cost
from tlstax.inspection.inside import inside
from tlstax.inspection.questions import Question
from tlstax.inspection.server_word import word
from tlstax.mysql import tls_facts
from tlstax.mysql.answers import message_of
from tlstax.mysql.database import SqlError
from tlstax.results.inspection import Asked, Certificate, ConnectCost, Inside, InspectedServer, ServerWord
from tlstax.support.errors import Interrupted, MachineFault
from tlstax.support.text import counted


class Watcher(Protocol):
    """Whoever is told what is being done."""

    def step(self, text: str) -> None:
        """Something begins."""


@dataclass(frozen=True)
class _Own:
    """What the laboratory's own connection shows."""

    word: ServerWord
    offers_tls: bool
    chain: tuple[Certificate, ...]
    inside: Inside


@dataclass
class _Found:
    """What is known so far."""

    asked: list[Asked] = field(default_factory=list)
    connect: ConnectCost | None = None
    connections: int = 0


def inspect(access: GuestAccess, watch_s: float, watcher: Watcher) -> InspectedServer:
    """Everything that the account sees, its counters over `watch_s` too; Ctrl-C keeps what was asked.

    Nothing is made there, and no more connections than are said beforehand, one at a time. A handshake that
    fails for another reason than TLS ends it, with what was found. UserMistake or MachineFault where the
    account cannot log in at all.
    """
    client = _client(access)
    planned = questions.questions(client)
    most = questions.connections(planned) + CONNECTS + PROVED
    watcher.step(f"{access.address} gets {counted(most, 'connection')} at most, one at a time")
    own = _own_connection(access, watch_s)
    found = _Found(connections=questions.OWN_CONNECTIONS)
    status: Literal["complete", "interrupted", "failed"] = "complete"
    why = ""
    try:
        if own.offers_tls:
            _ask_all(access, client, planned, found, watcher)
    except Interrupted:
        status, why = "interrupted", "interrupted"
    except MachineFault as fault:
        status, why = "failed", fault.sentence()
    now = datetime.now(UTC)
    return InspectedServer(
        server=str(access.address),
        at=now.isoformat(timespec="seconds"),
        connections=found.connections,
        word=own.word,
        offers_tls=own.offers_tls,
        asked=tuple(found.asked),
        connect=found.connect,
        inside=own.inside,
        chain=own.chain,
        concerns=concerns(
            own.word,
            found.asked,
            own.chain,
            own.inside.programs,
            host=access.address.host,
            offers_tls=own.offers_tls,
            now=now,
        ),
        payments=payments(found.asked, own.chain, found.connect, own.inside.watched),
        status=status,
        stopped_because=why,
    )


def _ask_all(
    access: GuestAccess, client: TlsOn, planned: Sequence[Question], found: _Found, watcher: Watcher
) -> None:
    """One question after another, then what a connect costs; what is known goes into `found` at once."""
    for number, question in enumerate(planned, start=1):
        watcher.step(f"asking for {question.words()} ({number} of {len(planned)})")
        found.connections += question.connections
        found.asked.append(ask(question, _endpoint(access), _account(access)))
    if found.asked[0].agreed is not None:
        watcher.step(f"what a connect costs, over {CONNECTS} of them")
        found.connections += CONNECTS + PROVED
        found.connect = connect_cost(client, _endpoint(access), _account(access))


def _own_connection(access: GuestAccess, watch_s: float) -> _Own:
    """What is seen on a connection of the laboratory's own."""
    with closing(guest_connection.connect(access, access.address.schema)) as database:
        try:
            channel = getattr(database, "_sock", None)
            return _Own(
                word=word(database),
                offers_tls=tls_facts.offers_tls(database),
                chain=chain.shown(channel) if isinstance(channel, ssl.SSLSocket) else (),
                inside=inside(database, watch_s),
            )
        except SqlError as error:
            raise MachineFault(f"{access.address} did not answer: {message_of(error)}") from error


def _client(access: GuestAccess) -> TlsOn:
    tls = access.tls
    return TlsOn(
        verify=tls.verify,
        ca_file=tls.ca_file,
        certificate_file=tls.certificate_file,
        key_file=tls.key_file,
    )


def _endpoint(access: GuestAccess) -> TcpEndpoint:
    return TcpEndpoint(host=access.address.host, port=access.address.port)


def _account(access: GuestAccess) -> Account:
    return Account(user=access.user, password=access.password, database=access.address.schema)
