"""What our scripts report from within sysbench, and the events of the contract that follow from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, TypeAdapter

from tlstax.clients.adapter import Fault, failure
from tlstax.contract import (
    Counts,
    CpuTime,
    Done,
    ErrorCount,
    ErrorEvent,
    ErrorKind,
    Frozen,
    Handshakes,
    Negotiated,
    Ready,
    RowSample,
    TlsLibrary,
    TlsView,
)
from tlstax.study.product import product_of


class ClientSide(Frozen):
    """What libmariadb says of a connection; None on plaintext."""

    version: str | None
    cipher: str | None


class ServerSide(Frozen):
    """The server's status variables Ssl_version, Ssl_cipher and Ssl_sessions_reused on that connection."""

    version: str | None
    cipher: str | None
    sessions_reused: str | None


class Proof(Frozen):
    """What both sides say of a thread's first connection, and which software said it."""

    say: Literal["proof"]
    thread: NonNegativeInt
    client: ClientSide
    server: ServerSide
    server_version: str
    client_library: str
    tls_library: str

    def negotiated(self) -> tuple[TlsView | None, TlsView | None]:
        """Both views. MariaDB's count of resumed sessions stays 0 whatever happens, so it shows nothing."""
        client = server = None
        if self.client.cipher:
            client = TlsView(version=self.client.version or "", cipher=self.client.cipher, resumed=None)
        if self.server.cipher:
            reused = self.server.sessions_reused
            telling = reused is not None and (reused != "0" or product_of(self.server_version) != "mariadb")
            server = TlsView(
                version=self.server.version or "",
                cipher=self.server.cipher,
                resumed=reused != "0" if telling else None,
            )
        return client, server


class Sampled(Frozen):
    """A text query before the window; the rows that came back follow."""

    say: Literal["sample"]
    sql: str


class RowShown(Frozen):
    """One row of the sample before it: its only column."""

    say: Literal["row"]
    value: str | None


class ThreadReady(Frozen):
    """A thread is warm and holds still."""

    say: Literal["ready"]
    thread: NonNegativeInt
    warmup_events: NonNegativeInt


class Started(Frozen):
    """The adapter's word has arrived."""

    say: Literal["started"]
    at_ns: NonNegativeInt


class Over(Frozen):
    """A thread's last event is over."""

    say: Literal["over"]


class ThreadFinished(Frozen):
    """How the window went in a thread: when its last event was over, and what it counted.

    `restarts` are events that were begun anew after an error which sysbench ignores, by MySQL's number of it;
    they are among `errors`.
    """

    say: Literal["finished"]
    thread: NonNegativeInt
    at_ns: NonNegativeInt
    events: NonNegativeInt
    errors: NonNegativeInt
    restarts: dict[int, NonNegativeInt]


Message = Proof | Sampled | RowShown | ThreadReady | Started | Over | ThreadFinished
MESSAGE: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="say")])


@dataclass
class Reported:
    """All that our scripts have reported so far."""

    proofs: dict[int, Proof] = field(default_factory=dict)
    samples: list[tuple[str, list[str | None]]] = field(default_factory=list)
    ready: dict[int, ThreadReady] = field(default_factory=dict)
    started: Started | None = None
    over: int = 0
    finished: dict[int, ThreadFinished] = field(default_factory=dict)

    def add(self, message: Message) -> None:
        """Keep a message."""
        match message:
            case Proof():
                self.proofs[message.thread] = message
            case Sampled():
                self.samples.append((message.sql, []))
            case RowShown():
                self.samples[-1][1].append(message.value)
            case ThreadReady():
                self.ready[message.thread] = message
            case Started():
                self.started = message
            case Over():
                self.over += 1
            case ThreadFinished():
                self.finished[message.thread] = message


def ready_event(
    reported: Reported, *, pid: int, version: str, library_paths: tuple[str, str] | None
) -> Ready:
    """Every thread has proved itself and holds still; `library_paths` are libssl's and libcrypto's."""
    groups = Counter(proof.negotiated() for proof in reported.proofs.values())
    any_proof = next(iter(reported.proofs.values()))
    library = None
    if library_paths is not None:
        library = TlsLibrary(
            version=any_proof.tls_library, libssl_path=library_paths[0], libcrypto_path=library_paths[1]
        )
    return Ready(
        client="sysbench",
        client_version=f"{version} with MariaDB Connector/C {any_proof.client_library}",
        pid=pid,
        server_version=any_proof.server_version,
        tls_library=library,
        negotiated=tuple(
            Negotiated(connections=count, client=client, server=server)
            for (client, server), count in groups.items()
        ),
    )


def done_event(reported: Reported, *, cpu: CpuTime, reconnects: bool) -> Done:
    """Every thread has finished. Latencies are left out: sysbench keeps them in coarse classes only."""
    started_ns = reported.started.at_ns if reported.started else 0
    ended_ns = max(thread.at_ns for thread in reported.finished.values())
    operations = sum(thread.events for thread in reported.finished.values())
    failed = sum(thread.errors for thread in reported.finished.values())
    in_window = {n: reported.finished[n].events if reconnects else 0 for n in reported.proofs}
    before = {n: 1 + (reported.ready[n].warmup_events if reconnects else 0) for n in reported.proofs}
    return Done(
        elapsed_s=max(1, ended_ns - started_ns) / 1e9,
        operations=operations,
        scheduled=operations + failed,
        skipped=0,
        window=_counts(reported, in_window),
        lifetime=_counts(reported, {n: before[n] + in_window[n] for n in reported.proofs}),
        histograms_ns={},
        cpu=cpu,
        wire=None,
        errors=tuple(_errors(reported, failed)),
        row_samples=tuple(
            RowSample(sql=sql, rows=tuple((value,) for value in values)) for sql, values in reported.samples
        ),
    )


def _counts(reported: Reported, connections: dict[int, int]) -> Counts:
    """Connections by thread, each with the handshake that its thread's proof had.

    libmariadb makes a new SSL_CTX for every connection and never offers a session, so all are full.
    """
    handshakes: Counter[tuple[str, str]] = Counter()
    for thread, count in connections.items():
        client, _ = reported.proofs[thread].negotiated()
        if client is not None and count:
            handshakes[client.version, client.cipher] += count
    return Counts(
        connections=sum(connections.values()),
        handshakes=tuple(
            Handshakes(
                version=version, cipher=cipher, group=None, resumed=False, hello_retry=None, count=count
            )
            for (version, cipher), count in handshakes.items()
        ),
        authentications={},
    )


def _errors(reported: Reported, failed: int) -> Iterator[ErrorCount]:
    """What sysbench ignored, by the server's number, and what it counted beyond."""
    restarts: Counter[int] = Counter()
    for thread in reported.finished.values():
        restarts.update(thread.restarts)
    for code, count in sorted(restarts.items()):
        yield ErrorCount(kind="server_error", code=code, count=count)
    if failed > restarts.total():
        yield ErrorCount(kind="server_error", code=None, count=failed - restarts.total())


FATAL = "FATAL:"
"""How sysbench begins a line that means its end."""

_SERVER_ERROR = re.compile(
    r"FATAL: error (?P<connect>[0-9]{1,6}): (?P<connect_text>.*)"
    r"|returned error (?P<query>[0-9]{1,6}) \((?P<query_text>.*?)\)(?: for query|$)"
    r"|FATAL: MySQL error: (?P<prepare>[0-9]{1,6}) \"(?P<prepare_text>.*)\"",
    re.MULTILINE,
)
"""The three ways in which sysbench's driver gives an error number (drv_mysql.c)."""

_ADDRESS_NOT_AVAILABLE = "(99)"
"""errno EADDRNOTAVAIL as libmariadb prints it behind its sentence: no local port is free."""

_KINDS: dict[int, tuple[ErrorKind, Fault]] = {
    1045: ("access_denied", "server"),
    1044: ("access_denied", "server"),
    1698: ("access_denied", "server"),
    2002: ("connect", "network"),
    2003: ("connect", "network"),
    2005: ("resolve", "network"),
    2006: ("server_closed", "server"),
    2013: ("server_closed", "server"),
    2007: ("not_mysql", "job"),
    2026: ("tls_handshake", "server"),
}
"""Errors of the server (1000 to 1999) and of the client library (2000 to 2999) that have a kind of their
own; the library's are in libmariadb's errmsg.h."""


def failure_in(log: str) -> ErrorEvent | None:
    """The first error that sysbench gave a number, else the first line by which it gave up."""
    match = _SERVER_ERROR.search(log)
    if match is not None:
        place = next(name for name in ("connect", "query", "prepare") if match[name])
        return _numbered(int(match[place]), match[f"{place}_text"])
    line = next((line for line in log.splitlines() if FATAL in line), None)
    if line is None:
        return None
    return failure("internal", "client", f"sysbench gave up: {line.partition(FATAL)[2].strip()}")


def _numbered(code: int, text: str) -> ErrorEvent:
    kind, fault = _KINDS.get(code, ("server_error", "server") if code < 2000 else ("protocol", "server"))
    if text.startswith("Plugin "):
        kind, fault = "internal", "client"
    if code == 2026:
        kind, fault = _tls_failure(text)
    if code in {2002, 2003} and text.endswith(_ADDRESS_NOT_AVAILABLE):
        kind, fault = "limits", "client"
        text = "this machine has run out of local ports, which closed connections keep for a minute"
    return failure(kind, fault, text, code)


def _tls_failure(text: str) -> tuple[ErrorKind, Fault]:
    """The client library has one number for all of TLS and says the rest in words, OpenSSL's or its own."""
    if "not support" in text or "SSL is required" in text:
        return "no_tls", "server"
    if "certificate" in text or "issuer" in text:
        return "certificate", "server"
    return "tls_handshake", "server"
