"""PgBouncer, which speaks PostgreSQL's protocol and lends its connections to the server to its clients.

It ends a client's TLS, begins TLS of its own towards the server, does both or neither; it passes none
through. A server's connection belongs to a client for as long as that is connected (session mode) or for a
transaction (transaction mode), and to the next one then: logins at the server are its own, and fewer. It
shows the server's own certificate, and verifies the server's authority. Clients prove themselves by SCRAM.
Where it is given what the server keeps of their passwords, and no password, it logs in for them with the keys
that a client's proof tells it. Where it is given passwords, it derives keys of its own from each, to verify a
client by and to log in with: 4,096 rounds of HMAC each time (`build_adhoc_scram_secret` in src/scram.c), but
for clients once and for all where it keeps them (its pull request 1338).

It stands near the server where it ends TLS, else near the client. It has one thread. Like PostgreSQL it
refuses to run as root.

Source: PgBouncer, "config" and "usage" (the admin console); PostgreSQL, "Frontend/Backend Protocol".
"""

from __future__ import annotations

import re
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BufferedIOBase
from pathlib import Path

from tlstax.network.paths.design import Design, Ends, Laid, Plan, Ports, Program
from tlstax.records.trial import ConnectionsSeen
from tlstax.specimens import processes
from tlstax.specimens.manifest import Kept
from tlstax.study.tls_levels import BEGINS_TLS, ENDS_TLS
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK

MOST_CONNECTIONS = 10_000
BACKLOG = 4096
"""Its own 128 would let a storm wait for its queue, and not for its work."""

CONSOLE_USER = "tlstax"
ANSWERS_WITHIN_S, LOOK_AGAIN_S = 5.0, 0.005
PROTOCOL = 3 << 16
"""Version 3.0 of the protocol, as a startup message says it."""

_LOGIN = re.compile(r" login attempt: db=(?!pgbouncer )\S+ user=\S+ tls=(?P<tls>\S+)")

CONFIGURATION = """\
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = {address}
listen_port = {entry}
listen_backlog = {backlog}
unix_socket_dir = {directory}
unix_socket_mode = 0700
auth_type = hba
auth_hba_file = {directory}/hba
auth_file = {directory}/users
admin_users = {console}
pool_mode = {mode}
max_client_conn = {most}
default_pool_size = {most}
server_idle_timeout = 0
server_lifetime = 86400
stats_period = 86400
log_connections = 1
log_disconnections = 0
client_tls_sslmode = {client}
client_tls_cert_file = {certificates.certificate_file}
client_tls_key_file = {certificates.key_file}
server_tls_sslmode = {server}
server_tls_ca_file = {certificates.ca_file}
"""


class PgBouncer(Design):
    """It has one program, and so nothing between two ends; what is on either side of it both sides report.

    `logins` are by its log, which names each client with its TLS version and cipher suite.
    """

    said_by = "PgBouncer's log and console"
    logins: tuple[ConnectionsSeen, ...] | None = ()

    def __init__(self, name: str) -> None:
        self._ends_tls, self._begins_tls = name in ENDS_TLS, name in BEGINS_TLS
        self._mode = "transaction" if name.endswith("-transaction") else "session"
        self._console: Path | None = None

    def lay(self, directory: Path, kept: Kept, ends: Ends, ports: Ports) -> Laid:
        """Its configuration, who may come from where, and what the server keeps of the passwords."""
        beside = self._ends_tls and not self._begins_tls
        place, address = (ends.far, ends.far_address) if beside else (ends.near, LOOPBACK)
        host, _, port = (ends.server_from_far if beside else ends.server_from_near).rpartition(":")
        self._console = directory / f".s.PGSQL.{ports.entry}"
        who = processes.unprivileged_user("PgBouncer")
        known = {CONSOLE_USER: "", **ends.secrets}
        written = {
            "users": "".join(f'"{user}" "{secret}"\n' for user, secret in known.items()),
            "hba": f"local pgbouncer {CONSOLE_USER} trust\nhost all all 0.0.0.0/0 scram-sha-256\n",
            "pgbouncer.ini": CONFIGURATION.format(
                host=host,
                port=port,
                address=address,
                entry=ports.entry,
                directory=directory,
                console=CONSOLE_USER,
                backlog=BACKLOG,
                mode=self._mode,
                most=MOST_CONNECTIONS,
                client="require" if self._ends_tls else "disable",
                server="verify-ca" if self._begins_tls else "disable",
                certificates=ends.certificates,
            ),
        }
        for name, text in written.items():
            file = directory / name
            file.touch(0o600)
            file.write_text(text, encoding="utf-8")
        processes.give_away(directory, who)
        plan = Plan(
            place,
            kept.program,
            (str(directory / "pgbouncer.ini"),),
            in_front=tuple(processes.entering(who)),
        )
        return Laid((plan,), address)

    def began(self, programs: Sequence[Program]) -> None:
        """Its log counts from here on. MachineFault where its console does not answer."""
        programs[0].new_lines()
        if self._console is None or console_rows(self._console, "SHOW VERSION") is None:
            raise MachineFault(f"PgBouncer's console does not answer: {programs[0].last_line()}")

    def connections(self, programs: Sequence[Program]) -> int | None:
        """The clients that have come to log in since. It lets go of the server's connections then.

        So the server has counted all that was done on them before it is asked.
        """
        came = (_LOGIN.search(line) for line in programs[0].new_lines())
        counts = Counter("" if login["tls"] == "no" else login["tls"] for login in came if login)
        parts = [(count, *tls.partition("/")) for tls, count in counts.items()]
        self.logins = tuple(
            ConnectionsSeen(connections=count, version=version or None, cipher=cipher or None)
            for count, version, _, cipher in parts
        )
        if self._console is not None:
            console_rows(self._console, "RECONNECT")
            until = time.monotonic() + ANSWERS_WITHIN_S
            while console_rows(self._console, "SHOW SERVERS") and time.monotonic() < until:
                time.sleep(LOOK_AGAIN_S)
        return counts.total()


def console_rows(console: Path, command: str) -> list[tuple[str, ...]] | None:
    """What the admin console behind this Unix socket answers to a command; None where it does not."""
    with suppress(OSError, EOFError), socket.socket(socket.AF_UNIX) as end:
        end.settimeout(ANSWERS_WITHIN_S)
        end.connect(str(console))
        with end.makefile("rwb") as stream:
            words = f"user\0{CONSOLE_USER}\0database\0pgbouncer\0\0".encode("ascii")
            stream.write(struct.pack(">II", 8 + len(words), PROTOCOL) + words)
            stream.flush()
            for _ in _messages(stream):
                """The login, which proves nothing."""
            text = command.encode("ascii") + b"\0"
            stream.write(b"Q" + struct.pack(">I", 4 + len(text)) + text)
            stream.flush()
            return [_values(body) for kind, body in _messages(stream) if kind == b"D"]
    return None


def _messages(stream: BufferedIOBase) -> Iterator[tuple[bytes, bytes]]:
    """The messages until the other side is ready for a query (ReadyForQuery). EOFError where it ends."""
    kind = b""
    while kind != b"Z":
        head = stream.read(5)
        if len(head) < 5:
            raise EOFError
        kind, length = head[:1], int(struct.unpack(">I", head[1:])[0])
        if kind == b"E":
            raise EOFError
        yield kind, stream.read(length - 4)


def _values(body: bytes) -> tuple[str, ...]:
    """The columns of a row (DataRow); what is NULL is empty."""
    (columns,), at, values = struct.unpack_from(">H", body), 2, []
    for _ in range(columns):
        (length,) = struct.unpack_from(">i", body, at)
        values.append(body[at + 4 : at + 4 + max(0, length)].decode("utf-8", errors="replace"))
        at += 4 + max(0, length)
    return tuple(values)
