"""A server inspected from outside: one login of our own, then one handshake for each question."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Protocol

from tlstax.contract import Account, Endpoint, TlsOn
from tlstax.external.access import ExternalAccess
from tlstax.external.chain import trusted_authorities
from tlstax.plan.elsewhere import Promise
from tlstax.results.inspection import KEPT_BACK, WOULD_BLOCK, Asked, ConnectPhase, InspectedServer
from tlstax.support.errors import Interrupted, MachineFault
from tlstax.support.text import counted
from tlstax.tools.inspection import questions
from tlstax.tools.inspection.asking import CONNECTS, PROVED, ask, connect_cost
from tlstax.tools.inspection.own_connection import Own, login, own_connection
from tlstax.topics.inspection.concerns import OLD_VERSIONS, concerns, path, payments
from tlstax.topics.inspection.known_drivers import known_drivers
from tlstax.topics.inspection.who_connects import who_connects

PASSWORD_ITSELF = ("sha256_password", "mysql_clear_password")
"""Methods by which a login sends the password, and no answer to a challenge."""

AT_ONCE = Promise(kept=1, closes=True, own=0)
"""One at a time, its own as well: the next is opened when the server has closed the last."""


class Watcher(Protocol):
    """Whoever is told what is being done."""

    def step(self, text: str) -> None:
        """Something begins."""


@dataclass
class _Found:
    """What is known so far."""

    asked: list[Asked] = field(default_factory=list)
    connect: tuple[ConnectPhase, ...] = ()
    connections: int = 0


def inspect(
    access: ExternalAccess, watch_s: float, watcher: Watcher, drivers: Collection[str] = ()
) -> InspectedServer:
    """Everything that the account sees, its counters over `watch_s` too; Ctrl-C keeps what was asked.

    `drivers` are those of which it is told whether they could connect, none for all that are known.

    Nothing is made there, and no more connections than are said beforehand, one at a time. What ends it
    before all is asked is in the document with what was found. A server whose certificate does not stand the
    check is asked for no more, since nobody logs in there. UserMistake or MachineFault where no connection
    is made.
    """
    known = known_drivers().only(drivers)
    client = _client(access)
    most = questions.connections(questions.questions(client)) + CONNECTS + PROVED
    watcher.step(
        f"{access.address} gets {counted(most, 'connection')} at most, one after the other: no more than "
        f"{AT_ONCE.total} at once with those that it has not wound up yet"
    )
    own = own_connection(access, watch_s, watcher.step)
    found = _Found(connections=own.connections)
    status: Literal["complete", "interrupted", "failed"] = "complete"
    why = ""
    try:
        if own.unverified:
            status, why = "failed", own.unverified
        elif own.offers_tls:
            _ask_all(access, client, own, found, watcher)
    except Interrupted:
        status, why = "interrupted", "interrupted"
    except MachineFault as fault:
        status, why = "failed", fault.sentence()
    document = InspectedServer(
        server=str(access.address),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        connections=found.connections,
        word=own.word,
        offers_tls=own.offers_tls,
        asked=tuple(found.asked),
        connect=found.connect,
        inside=own.inside,
        chain=own.chain,
        status=status,
        stopped_because=why,
    )
    host, is_known_authority = access.address.host, _is_known_authority(own)
    judged: dict[str, object] = {
        "concerns": concerns(
            document,
            host=host,
            refused=own.refused,
            refused_certificate=own.unverified,
            is_verified=access.tls.verify != "none" and not own.unverified,
        ),
        "payments": payments(document),
    }
    if status == "complete":
        judged["who_connects"] = who_connects(
            known, document, host=host, is_known_authority=is_known_authority
        )
    return document.model_copy(update=judged)


def _ask_all(access: ExternalAccess, client: TlsOn, own: Own, found: _Found, watcher: Watcher) -> None:
    """One question after another, then what a connect costs; what is known goes into `found` at once.

    A server blocks a host after a number of refusals in a row (max_connect_errors), until somebody flushes
    its hosts: before the last of them comes a login.
    """
    planned = questions.questions(client, own.old_tls.of(client) if own.old_tls else None)
    limit, refusals = own.most_connect_errors or len(planned) + 1, 0
    if 1 < limit <= len(planned):
        more = counted(len(planned) // (limit - 1) + 1, "more connection")
        watcher.step(
            f"{access.address} blocks a host after {limit} refusals in a row (max_connect_errors): logins "
            f"between the questions take {more} at most"
        )
    for number, question in enumerate(planned, start=1):
        watcher.step(f"asking for {question.words()} ({number} of {len(planned)})")
        if own.word.account_plugin in PASSWORD_ITSELF and question.name in OLD_VERSIONS:
            found.asked.append(
                Asked(topic=question.topic, name=question.name, why_not=KEPT_BACK, could_ask=False)
            )
            continue
        if limit == 1 and (question.topic != "default" or own.old_tls):
            found.asked.append(
                Asked(topic=question.topic, name=question.name, why_not=WOULD_BLOCK, could_ask=False)
            )
            continue
        if 1 < limit <= refusals + 1:
            found.connections += 1
            login(access, own)
            refusals = 0
        found.connections += question.connections
        answer = ask(question, _endpoint(access), _account(access))
        found.asked.append(answer)
        refusals = 0 if answer.agreed else refusals + 1
    if refusals and limit <= len(planned):
        found.connections += 1
        login(access, own)
    if found.asked[0].agreed is not None:
        watcher.step(f"what a connect costs, over {CONNECTS} of them")
        found.connections += CONNECTS + PROVED
        found.connect = connect_cost(client, _endpoint(access), _account(access))


def _is_known_authority(own: Own) -> bool | None:
    """Whether this machine trusts who signed the certificate; None where that cannot be told."""
    trusted, sent = trusted_authorities(), path(own.chain)
    return sent[-1].issuer in trusted if sent and trusted else None


def _client(access: ExternalAccess) -> TlsOn:
    tls = access.tls
    return TlsOn(
        verify=tls.verify,
        ca_file=tls.ca_file,
        certificate_file=tls.certificate_file,
        key_file=tls.key_file,
    )


def _endpoint(access: ExternalAccess) -> Endpoint:
    return access.address.endpoint


def _account(access: ExternalAccess) -> Account:
    return Account(user=access.user, password=access.password, database=access.address.schema)
