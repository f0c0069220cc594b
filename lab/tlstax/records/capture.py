"""What a tap wrote down (conversations, turns, hellos, the first bytes), and what a general log has."""

from __future__ import annotations

from typing import Literal

from tlstax.contract import Frozen

Sender = Literal["client", "server"]

Spoken = Literal["mysql", "postgresql"]
"""A protocol: MySQL's, which MariaDB speaks too, or PostgreSQL's."""


class Hello(Frozen):
    """What a client offers in its first ClientHello (RFC 8446, section 4.1.2; RFC 5246, section 7.4.1.2).

    Versions, newest first, and cipher suites are as OpenSSL prints them, groups by their names in IANA's
    registry, a number in hexadecimal where they have none here. `key_shares` are the groups that it sends a
    share for, `signatures` what the server may sign with (RFC 8446, 4.2.3; empty before TLS 1.2), `protocols`
    what it says that it will speak within (ALPN, RFC 7301).
    `offers_session` is whether it offers to resume one: by a ticket, a session id that a server gave, or a
    PSK.
    """

    versions: tuple[str, ...]
    cipher_suites: tuple[str, ...]
    groups: tuple[str, ...]
    key_shares: tuple[str, ...]
    server_name: str | None
    offers_session: bool
    signatures: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()


class TlsSeen(Frozen):
    """A TLS handshake as it crossed the wire in the clear: what was offered, and what the server chose.

    `group` is None where the handshake is cut short or has none; `resumed` is whether the server took the
    session up. `finished` is whether both sides went on to encrypted data.
    """

    hello: Hello
    version: str | None
    cipher: str | None
    group: str | None
    hello_retry: bool
    resumed: bool
    finished: bool


class StatementSeen(Frozen):
    """A command that could be read in the clear: its name in the protocol, and its text (empty: none)."""

    command: str
    text: str = ""


class Frame(Frozen):
    """Bytes that one side sent in one piece: what they are, how many, and the first of them in hexadecimal.

    `what` is what can be read of them without a key: "TLSv1.2 Application Data", "COM_QUERY", "Bind,
    Execute, Sync".
    """

    sender: Sender
    what: str
    length: int
    hex: str


class Traffic(Frozen):
    """What crossed the wire in a span of time.

    `turns` is how often the client had sent something and the server then answered. To connect is to have
    sent something, so MySQL's greeting is one; the TCP connect itself is not in it: with one for each
    connection these are the round trips of contract/README.md. The tap holds every answer back a little, so
    that what a client sends without waiting comes before it.
    """

    turns: int
    bytes_sent: int
    bytes_received: int


class Conversation(Frozen):
    """One connection through the tap.

    `ended_by` is who hung up first, None where it still stood. `tls` is None on plaintext; `statements` are
    those that could be read, the first hundred, `frames` the first ones after the login, or after the
    TLS handshake where the login cannot be told from what follows. `traffic` is of its whole life.
    `in_window` is whether it began in the window; `turns_to_login` how many of its turns there were until
    the server's OK or its first ReadyForQuery, None where it cannot be seen.

    `spoken` is the protocol by the side that spoke first, in MySQL the server and in PostgreSQL the client;
    None where neither has, and in runs of before. `is_direct` is whether TLS began at once, without being
    asked for. `login` names what could be read until the login's end, equal ones that follow each other once.
    `before_hello_bytes` are those that the server sent in the clear after TLS was agreed on and before the
    ClientHello, which must be none: a client that takes them for protected is deceived (CVE-2021-23222).
    """

    tls: TlsSeen | None
    statements: tuple[StatementSeen, ...]
    frames: tuple[Frame, ...]
    traffic: Traffic
    ended_by: Sender | None
    in_window: bool = False
    turns_to_login: int | None = None
    spoken: Spoken | None = None
    is_direct: bool = False
    login: tuple[str, ...] = ()
    before_hello_bytes: int = 0


class Capture(Frozen):
    """What a tap saw of one trial.

    Clients entered at `entry_port` and were led to `server_port`. `connections` is how many there were,
    `encrypted` how many of them went on to encrypted data; `conversations` are the first ones before the
    window and the first ones that began in it. `window` is what crossed while the work was measured, over
    `operations` operations and `window_connections` new connections, with `window_frames` its first frames.
    """

    entry_port: int
    server_port: int
    connections: int
    encrypted: int = 0
    conversations: tuple[Conversation, ...]
    window: Traffic | None = None
    window_frames: tuple[Frame, ...] = ()
    operations: int = 0
    window_connections: int = 0


class Logged(Frozen):
    """A line of the server's general log: the connection, the command in the log's words, its text."""

    thread: int
    command: str
    text: str
