"""What TLS a server agrees to, and what a connect costs: handshakes, each with one thing offered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import (
    Account,
    Done,
    Endpoint,
    Job,
    Ready,
    Statement,
    TlsOn,
    TlsVersion,
    TlsView,
    Workload,
)
from tlstax.contract.job import MySqlServer, PostgreSqlServer, Server
from tlstax.mysql.session import ASKS_NOTHING
from tlstax.results.inspection import Asked, ConnectPhase, Topic
from tlstax.stats import histograms
from tlstax.study import tls_levels
from tlstax.study.tls_levels import KEY_GROUPS, group_name
from tlstax.support.errors import MachineFault

VERSIONS: tuple[TlsVersion, ...] = get_args(TlsVersion)

SUITES = ("TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256")
"""The cipher suites of TLS 1.3 that OpenSSL has on (RFC 8446, appendix B.4)."""

FAMILIES = {
    "ECDHE with AES-GCM": "ECDHE+AESGCM",
    "ECDHE with ChaCha20-Poly1305": "ECDHE+CHACHA20",
    "DHE": "DHE",
    "RSA key exchange": "kRSA:@SECLEVEL=1",
}
"""Kinds of cipher suites before TLS 1.3 in OpenSSL's words (ciphers(1)); the last has no forward secrecy."""

OWN_CONNECTIONS = 1
"""The laboratory's own, by which it reads what the server says of itself."""


MYSQL: Server = MySqlServer()

LEAST_SAID = {"mysql": ASKS_NOTHING, "postgresql": ";"}
"""The least that can be said to a server, by its kind in the contract; PostgreSQL takes an empty query."""


@dataclass(frozen=True)
class Question:
    """One thing to ask for, and with which options; `connections` is how many it takes."""

    topic: Topic
    name: str
    tls: TlsOn
    connections: int = 1
    server: Server = MYSQL

    def words(self) -> str:
        """What is asked for, for whoever watches."""
        return f"resumption of {self.name}" if self.topic == "resumption" else self.name


def questions(client: TlsOn, old: TlsOn | None = None, server: Server = MYSQL) -> tuple[Question, ...]:
    """All of them that there are for this kind of server, what clients left to themselves get first.

    `client` has what every handshake has: whom to verify and what to show. `old` has what else a server needs
    that agrees to nothing of today's: ciphers at a lower security level, and the curve of its key. Resumption
    takes two connections, one to get a session and one to resume it; PostgreSQL has none, and is asked to
    begin TLS at once instead.
    """
    base = old or client
    common = (
        Question("default", "a client left to itself", client),
        *(Question("version", f"TLS {version}", _version(base, version)) for version in VERSIONS),
        *(Question("suite", name, _offering(base, "1.3", "1.3", ciphersuites=name)) for name in SUITES),
        *(Question("suite", name, _family(base, words)) for name, words in FAMILIES.items()),
        # The group first, and behind it the curve without which the server cannot sign.
        *(
            Question(
                "group", name, base.model_copy(update={"groups": ":".join(filter(None, (name, base.groups)))})
            )
            for name in KEY_GROUPS
        ),
    )
    if isinstance(server, PostgreSqlServer):
        direct = server.model_copy(update={"ssl_negotiation": "direct"})
        return (
            *(replace(question, server=server) for question in common),
            Question("direct", "direct TLS", client, server=direct),
        )
    resumption = (
        Question("resumption", f"TLS {version}", _version(base, version, resumption=True), connections=2)
        for version in VERSIONS[-2:]
    )
    return (*common, *resumption)


def connections(asked: Sequence[Question]) -> int:
    """How many connections asking all of them takes at most, the laboratory's own among them."""
    return OWN_CONNECTIONS + sum(question.connections for question in asked)


def _offering(client: TlsOn, least: TlsVersion, most: TlsVersion, **more: object) -> TlsOn:
    return client.model_copy(update={"min_version": least, "max_version": most, **more})


def _version(client: TlsOn, version: TlsVersion, **more: object) -> TlsOn:
    ciphers = tls_levels.cipher_list(version) or client.cipher_list
    return _offering(client, version, version, cipher_list=ciphers, **more)


def _family(client: TlsOn, words: str) -> TlsOn:
    """Suites before TLS 1.3; of a server that agrees to nothing of today's in whatever version it has."""
    is_old = client.cipher_list is not None
    ciphers = f"{words.partition(':')[0]}:@SECLEVEL=0" if is_old else words
    return _offering(client, "1.0" if is_old else "1.2", "1.2", cipher_list=ciphers)


WITHIN_S = 20.0
"""For a handshake, a login and two answers, at any distance."""

CONNECTS = 8
"""Enough for a median; a server that is far away is asked for no more."""

PROVED = 1
"""The engine makes one more before it begins, to see what is negotiated."""

PHASES = ("tcp_connect", "greeting", "tls_handshake", "authentication")
"""In the order in which a connection meets them."""

CANNOT_ASK = frozenset({"bad_job", "tls_library"})
"""The client's own library does not know what was to be offered."""


UNREACHED = frozenset({"resolve", "connect", "access_denied", "limits", "internal"})
"""What no other question would fare better with."""


def ask(question: Question, endpoint: Endpoint, account: Account) -> Asked:
    """Connect once (twice, for resumption) as the question says, log in, and hang up in order.

    Every agreement ends in a whole login, so that the server counts no aborted one: after a number of those
    in a row it may refuse the host (max_connect_errors). Each question stands for itself: what becomes of it
    is its answer. Raises MachineFault where the others would fail as well.
    """
    named = Asked(topic=question.topic, name=question.name)
    try:
        with LoadClient(
            engine_command(), least_job(question.tls, endpoint, account, question.server)
        ) as client:
            ready = client.wait_ready(WITHIN_S)
            # A client that is done says goodbye, one that is only hung up on does not (Aborted_clients).
            client.go()
            client.wait_done(WITHIN_S)
    except ClientFailure as failure:
        return _refused(named, failure)
    view = _seen(ready)
    why_not = _why_not(question, view)
    return named.model_copy(update={"why_not": why_not} if why_not else {"agreed": view})


def _why_not(question: Question, view: TlsView | None) -> str:
    """Why an agreement is none to what was asked for; empty where it is."""
    if question.topic == "resumption" and not (view and view.resumed):
        return "the second connection was not resumed"
    used = group_name(view.group) if view else ""
    if question.topic == "group" and used != question.name:
        return f"the server agreed with {used or 'no group at all'}"
    return ""


def _refused(named: Asked, failure: ClientFailure) -> Asked:
    kinds = {error.kind for error in failure.errors}
    if not failure.errors or (kinds & UNREACHED and not failure.tls_was_refused()):
        raise MachineFault(f"{named.name} could not be tried: {failure}") from failure
    could_ask = not kinds & CANNOT_ASK or failure.tls_was_refused()
    return named.model_copy(update={"why_not": failure.errors[-1].message, "could_ask": could_ask})


def _seen(ready: Ready) -> TlsView | None:
    """What the client saw on its last connection."""
    views = [negotiated.client for negotiated in ready.negotiated]
    resumed = [view for view in views if view is not None and view.resumed]
    return (resumed or views or [None])[0]


def least_job(
    tls: TlsOn, endpoint: Endpoint, account: Account, server: Server, connects: int | None = None
) -> Job:
    """The least that there is to do: the client connects, asks what was negotiated, and says one thing.

    With `connects` it says N, each on a connection of its own, which the server has closed before the
    next is opened.
    """
    return Job(
        endpoint=endpoint,
        server=server,
        account=account,
        tls=tls,
        workload=Workload(
            reconnect=connects is not None, statements=(Statement(sql=LEAST_SAID[server.kind]),)
        ),
        connections=1,
        warmup_s=0.0,
        duration_s=WITHIN_S,
        operations=connects or 1,
        seed=1,
        row_samples=0,
        lingering=0,
    )


def connect_cost(
    tls: TlsOn, endpoint: Endpoint, account: Account, server: Server = MYSQL
) -> tuple[ConnectPhase, ...]:
    """Make `CONNECTS` connects, one after another. Raises MachineFault where that fails."""
    job = least_job(tls, endpoint, account, server, CONNECTS)
    try:
        with LoadClient(engine_command(), job) as client:
            client.wait_ready(WITHIN_S)
            client.go()
            return _cost(client.wait_done(2 * WITHIN_S))
    except ClientFailure as failure:
        raise MachineFault(f"what a connect costs could not be measured: {failure}") from failure


def _cost(done: Done) -> tuple[ConnectPhase, ...]:
    """All phases together, and each by itself."""
    if "connect" not in done.phase_wire or "connect" not in done.histograms_ns:
        raise MachineFault("what a connect costs could not be measured: none of the connects succeeded")
    names = ("connect", *(name for name in PHASES if name in done.phase_wire))
    return tuple(_phase(done, name) for name in names)


def _phase(done: Done, name: str) -> ConnectPhase:
    wire = done.phase_wire[name]
    (median_us,) = histograms.decode(done.histograms_ns[name]).percentiles_us((50.0,))
    return ConnectPhase(
        name=name,
        connects=wire.times,
        round_trips=wire.round_trips / wire.times,
        sent_bytes=wire.bytes_sent / wire.times,
        received_bytes=wire.bytes_received / wire.times,
        median_us=median_us,
    )
