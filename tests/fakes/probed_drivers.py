"""What a probe might gather of made-up drivers: exact conversations and log lines, and no driver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tlstax.contract import Negotiated, Ready, TlsView
from tlstax.records.capture import Capture, Conversation, Hello, Logged, StatementSeen, TlsSeen, Traffic
from tlstax.study.driver_catalogue import DRIVERS, Driver
from tlstax.tools.probes.drivers.probed import INSERT, Asked, Gathered, TlsAsked

NAME = "pymysql-1.1"
SERVER = "mysql-9.7"
CONNECTIONS = 4


def driver() -> Driver:
    return DRIVERS[NAME]


def ready(*, encrypted: bool) -> Ready:
    """The program asked one connection what it had negotiated."""
    view = TlsView(version="TLSv1.3", cipher="TLS_AES_128_GCM_SHA256", resumed=False) if encrypted else None
    return Ready(
        client=NAME,
        client_version="1.1.3",
        pid=4711,
        server_version="9.7.4",
        tls_library=None,
        negotiated=(Negotiated(connections=1, client=None, server=view, client_tells=False),),
    )


def handshake(*, resumed: bool = False, version: str = "TLSv1.3") -> TlsSeen:
    hello = Hello(
        versions=("TLSv1.3", "TLSv1.2"),
        cipher_suites=("TLS_AES_128_GCM_SHA256",),
        groups=("x25519", "secp256r1"),
        key_shares=("x25519",),
        server_name=None,
        offers_session=resumed,
    )
    return TlsSeen(
        hello=hello,
        version=version,
        cipher="TLS_AES_128_GCM_SHA256",
        group="secp256r1",
        hello_retry=True,
        resumed=resumed,
        finished=True,
    )


@dataclass(frozen=True)
class Own:
    """What the driver says at first, before each statement and at last; its turns on each connection.

    Without turns they are as many as that takes.
    """

    first: tuple[str, ...] = ("SET NAMES utf8mb4",)
    each: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()

    def said(self, statements: int) -> list[str]:
        """The statements of one connection, ours with what the driver adds to them."""
        return [*self.first, *([*self.each, INSERT] * statements), *self.last]


PLAIN = Own()


def log_of(connections: Iterable[Iterable[str]], *, using: str) -> tuple[Logged, ...]:
    """The server's log of these connections, each from its login to its goodbye."""
    lines = []
    for thread, texts in enumerate(connections, 10):
        lines.append(Logged(thread=thread, command="Connect", text=f"u@127.0.0.1 on tlstax using {using}"))
        lines += [Logged(thread=thread, command="Query", text=text) for text in texts]
        lines.append(Logged(thread=thread, command="Quit", text=""))
    return tuple(lines)


def asked(
    tls: TlsAsked,
    statements: int,
    *,
    encrypted: bool = False,
    resumed: bool = False,
    own: Own = PLAIN,
) -> Asked:
    """A job over four connections after one on which the program asks; each takes one turn a statement.

    Beside its statements, a connection takes two turns (the greeting, the login), and two more for a
    handshake with a HelloRetryRequest.
    """
    texts = own.said(statements)
    seen = handshake(resumed=resumed) if encrypted else None
    wire = tuple(StatementSeen(command="COM_QUERY", text=text) for text in texts) if not encrypted else ()
    taken = own.turns or (len(texts) + (4 if encrypted else 2),) * CONNECTIONS

    def talk(count: int, statements: tuple[StatementSeen, ...]) -> Conversation:
        traffic = Traffic(turns=count, bytes_sent=100, bytes_received=100)
        return Conversation(tls=seen, statements=statements, frames=(), traffic=traffic, ended_by="client")

    before = [talk(3, (StatementSeen(command="COM_QUERY", text="SHOW SESSION STATUS LIKE 'Ssl%'"),))]
    return Asked(
        tls=tls,
        statements=statements,
        operations=CONNECTIONS,
        ready=ready(encrypted=encrypted),
        capture=Capture(
            entry_port=4000,
            server_port=3306,
            connections=CONNECTIONS + 1,
            conversations=(*before, *(talk(count, wire) for count in taken)),
        ),
        log=log_of(
            [["SHOW SESSION STATUS LIKE 'Ssl%'"], *([texts] * CONNECTIONS)],
            using="SSL/TLS" if encrypted else "TCP/IP",
        ),
        sessions_taken_up=CONNECTIONS if resumed else 0,
    )


def gathered(*jobs: Asked, **more: object) -> Gathered:
    return Gathered.model_validate({"name": NAME, "server": SERVER, "asked": jobs, **more})
