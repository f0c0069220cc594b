"""A server inspected from outside: one login of our own, then one handshake for each question.

The laboratory's own connection is made as a client left to itself makes one. Where no TLS is agreed to, once
more with what is no longer thought safe, so that the servers that need it most can be inspected. Such a
connection gives nobody the password, only the answer to a challenge.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, Protocol

from tlstax.contract import Account, PostgreSqlServer, TlsOn
from tlstax.contract.job import Server
from tlstax.external import connection as external_connection
from tlstax.external import failures
from tlstax.external.access import ExternalAccess
from tlstax.external.chain import Handshake, shown, trusted_authorities
from tlstax.plan.elsewhere import Promise
from tlstax.products.external import ExternalProduct, UseCounters, external_product
from tlstax.results.inspection import (
    KEPT_BACK,
    WOULD_BLOCK,
    Asked,
    Certificate,
    ConnectPhase,
    Inside,
    InspectedServer,
    Program,
    ServerWord,
)
from tlstax.sql import answers
from tlstax.sql.database import Database, GuardedDatabase, SqlError
from tlstax.support.errors import Interrupted, MachineFault, TlstaxError
from tlstax.support.text import counted
from tlstax.tools import tls_probe
from tlstax.tools.tls_probe import CONNECTS, PROVED, ask, connect_cost
from tlstax.topics.inspection.concerns import OLD_VERSIONS, concerns, path, payments, use
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
    known = known_drivers(access.product).only(drivers)
    client, server = _client(access), _server(access)
    most = tls_probe.connections(tls_probe.questions(client, server=server)) + CONNECTS + PROVED
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
    unjudged = InspectedServer(
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
    host = access.address.host
    judged = concerns(
        unjudged,
        host=host,
        refused=own.refused,
        refused_certificate=own.unverified,
        is_verified=access.tls.verify != "none" and not own.unverified,
        unverified_by=access.tls.unverified_by if access.product == "postgresql" else "",
    )
    document = unjudged.model_copy(update={"concerns": judged, "payments": payments(unjudged)})
    if status != "complete" or own.word.pooler_leg is not None:
        # What a pooler takes beside TLS and the login was not tried.
        return document
    who = who_connects(known, document, host=host, is_known_authority=_is_known_authority(own))
    return document.model_copy(update={"who_connects": who})


def _ask_all(access: ExternalAccess, client: TlsOn, own: Own, found: _Found, watcher: Watcher) -> None:
    """One question after another, then what a connect costs; what is known goes into `found` at once.

    A server blocks a host after a number of refusals in a row (max_connect_errors), until somebody flushes
    its hosts: before the last of them comes a login.
    """
    planned = tls_probe.questions(client, own.old_tls.of(client) if own.old_tls else None, _server(access))
    limit, refusals = own.most_connect_errors or len(planned) + 1, 0
    if 1 < limit <= len(planned):
        more = counted(len(planned) // (limit - 1) + 1, "more connection")
        watcher.step(
            f"{access.address} blocks a host after {limit} refusals in a row (max_connect_errors): logins "
            f"between the questions take {more} at most"
        )
    for number, question in enumerate(planned, start=1):
        watcher.step(f"asking for {question.words()} ({number} of {len(planned)})")
        sends_password = own.word.account_plugin in PASSWORD_ITSELF and question.name in OLD_VERSIONS
        if sends_password or (limit == 1 and (question.topic != "default" or own.old_tls)):
            why_not = KEPT_BACK if sends_password else WOULD_BLOCK
            found.asked.append(
                Asked(topic=question.topic, name=question.name, why_not=why_not, could_ask=False)
            )
            continue
        if 1 < limit <= refusals + 1:
            found.connections += 1
            login(access, own)
            refusals = 0
        found.connections += question.connections
        answer = ask(question, access.address.endpoint, _account(access))
        found.asked.append(answer)
        refusals = 0 if answer.agreed else refusals + 1
    if refusals and limit <= len(planned):
        found.connections += 1
        login(access, own)
    if found.asked[0].agreed is not None:
        watcher.step(f"what a connect costs, over {CONNECTS} of them")
        found.connections += CONNECTS + PROVED
        found.connect = connect_cost(client, access.address.endpoint, _account(access), _server(access))


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


def _account(access: ExternalAccess) -> Account:
    logged_in_to = access.database if access.product == "postgresql" else access.address.schema
    return Account(user=access.user, password=access.password, database=logged_in_to)


def _server(access: ExternalAccess) -> Server:
    """Which protocol is spoken there; a question of its own asks whether TLS may begin at once."""
    if access.product == "postgresql":
        return PostgreSqlServer(require_auth=access.require_auth)
    return tls_probe.MYSQL


LEGACY_SERVER_CONNECT = 0x4
"""SSL_OP_LEGACY_SERVER_CONNECT (SSL_CTX_set_options(3)), which Python names from 3.12 on."""

Wait = Callable[[float], None]


@dataclass(frozen=True)
class OldTls:
    """Settings under which a server is reached that agrees to nothing else, in OpenSSL's spelling.

    Python's ssl cannot offer `groups`, so they are for the load client alone. A server signs with no key on a
    curve that its client does not offer (RFC 8422, 5.1), and TLS 1.3 knows none of the rare ones.
    """

    ciphers: str
    groups: str | None = None

    def context(self, access: ExternalAccess) -> ssl.SSLContext:
        """The settings for Python's ssl, which verifies as the user wants it."""
        context = access.tls.context() or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(self.ciphers)
        context.options |= LEGACY_SERVER_CONNECT
        return context

    def of(self, client: TlsOn) -> TlsOn:
        """The same settings for the load client."""
        return client.model_copy(update={"groups": self.groups, "cipher_list": self.ciphers})


OLD_TLS = (OldTls("DEFAULT:!DHE:@SECLEVEL=0"), OldTls("DEFAULT:@SECLEVEL=0"))
"""What is tried one after another where a client left to itself is refused: versions before TLS 1.2 and short
keys, without and with Diffie-Hellman, whose groups may be shorter than OpenSSL takes at any level."""

RARE_CURVES = OldTls(
    "DEFAULT:@SECLEVEL=0",
    "P-256:P-384:P-521:secp256k1:brainpoolP256r1:brainpoolP384r1:brainpoolP512r1:secp224r1",
)
"""What the load client alone asks with, where neither was agreed to."""


@dataclass(frozen=True)
class Own:
    """What the laboratory's own connection shows.

    `old_tls` is what it was made with where a client left to itself was refused, for the reason `refused`.
    `unverified` is the sentence by which the certificate was refused: then nobody logged in.
    """

    word: ServerWord
    offers_tls: bool
    chain: tuple[Certificate, ...]
    inside: Inside
    connections: int = 1
    old_tls: OldTls | None = None
    refused: str = ""
    unverified: str = ""
    most_connect_errors: int | None = None


def own_connection(access: ExternalAccess, watch_s: float, say: Callable[[str], None]) -> Own:
    """Log in and ask. UserMistake or MachineFault where that cannot be done.

    A certificate that does not stand the check is no fault: what was shown until then is what is known. Where
    a client left to itself is refused, older TLS is tried, of which `say` is told before; where that is not
    agreed to either, nobody logs in, and what the server takes is left to the questions.
    """
    refused = ""
    for tried, old_tls in enumerate((None, *OLD_TLS), start=1):
        seen = Handshake()
        try:
            database = _connect(access, old_tls, seen)
        except TlstaxError as fault:
            if seen.is_unverified:
                return replace(_unseen(seen), unverified=fault.sentence())
            if seen.failure is None:
                raise
            if old_tls is None:
                refused = fault.message
                say(f"{refused}; older ways are tried, with {len(OLD_TLS)} more connections at most")
            continue
        own = _asked(access, database, watch_s)
        return replace(own, connections=tried, old_tls=old_tls, refused=refused)
    return replace(_unseen(seen), connections=1 + len(OLD_TLS), old_tls=RARE_CURVES, refused=refused)


def login(access: ExternalAccess, own: Own) -> None:
    """Log in as before, and hang up: the server forgets the refusals before it. Raises TlstaxError."""
    _connect(access, own.old_tls).close()


def _connect(
    access: ExternalAccess, old_tls: OldTls | None, seen: Handshake | None = None
) -> GuardedDatabase:
    context = old_tls.context(access) if old_tls is not None else None
    return external_connection.connect(access, access.address.schema, old_tls=context, seen=seen)


def _unseen(seen: Handshake) -> Own:
    """What is known of a server without a login: its greeting, and what it sent of a handshake."""
    word = ServerWord(
        version=seen.server_version,
        tls_library=None,
        account_plugin=None,
        requires_tls=None,
        account_is_encrypted=False,
    )
    nothing = Inside(since_start=None, watched=None, programs=(), unread=())
    return Own(word, offers_tls=True, chain=seen.chain(), inside=nothing)


def _asked(access: ExternalAccess, connected: GuardedDatabase, watch_s: float) -> Own:
    product = external_product(access.product)
    with closing(connected) as database:
        channel = database.channel
        try:
            return Own(
                word=word(database, product),
                offers_tls=product.server_tls.offers_tls(database),
                chain=shown(channel) if isinstance(channel, ssl.SSLSocket) else (),
                inside=inside(database, product, watch_s),
                most_connect_errors=product.server_facts.most_connect_errors(database),
            )
        except SqlError as error:
            raise failures.of_refusal(access, error) from error


def word(database: GuardedDatabase, product: ExternalProduct) -> ServerWord:
    """What the server says of itself to an ordinary account. Raises SqlError."""
    pooler_leg = product.session.pooler_leg(database)
    return ServerWord(
        version=product.server_facts.version(database),
        tls_library=product.server_tls.facts(database).library_version,
        account_plugin=getattr(database, "account_plugin", "") or None,
        requires_tls=product.server_facts.requires_tls(database),
        account_is_encrypted=isinstance(database.channel, ssl.SSLSocket),
        admission=product.server_facts.admission(database),
        scram_iterations=getattr(database, "scram_iterations", None),
        password_encryption=product.server_facts.password_encryption(database),
        pooler_leg=pooler_leg,
        costly_settings=product.server_facts.costly_settings(database),
        # Behind a pooler it is the pooler that comes to the server.
        lets_in_clear=None if pooler_leg else product.server_facts.lets_in_clear(database),
    )


def inside(database: Database, product: ExternalProduct, watch_s: float, wait: Wait = time.sleep) -> Inside:
    """How the server is used, as far as the account may see. Raises SqlError.

    Reads the counters, waits, and reads them again; in between, who is connected: three statements, all of
    the server's own counters.
    """
    counters = product.use_counters
    before, began = counters.read(database), time.monotonic()
    programs, unread = _programs(database, counters, before)
    wait(max(0.0, watch_s - (time.monotonic() - began)))
    after, over_s = counters.read(database), time.monotonic() - began
    return Inside(
        since_start=use({}, before, float(before.get("uptime_s", 0))),
        watched=use(before, after, over_s, counters.OWN) if watch_s > 0 else None,
        programs=programs,
        unread=unread,
    )


def _programs(
    database: Database, counters: UseCounters, counted_before: dict[str, int]
) -> tuple[tuple[Program, ...], tuple[str, ...]]:
    """Who is connected, or why that cannot be read."""
    try:
        found = counters.connected(database)
    except SqlError as error:
        return (), (f"who is connected, and how: {answers.message_of(error)}; {counters.PERMIT}",)
    return tuple(Program(**row._asdict()) for row in found), counters.unread(counted_before, found)
