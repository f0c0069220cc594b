"""What PostgreSQL's log says of each connection: whom it let in, by which method, over which TLS.

The server counts no handshakes. With `log_connections` it writes a line for each login instead: its own word
for every connection, with the name by which the client calls itself. Lines come whole, each once, from
whoever reads the log on from where they were.

Source: PostgreSQL 10 to 18, `PerformAuthentication` and `set_authn_id`; documentation, "Error Reporting and
Logging". The method is logged from 14 on, the client's name from 11 on; the compression of TLS was until
13, where it is off.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from tlstax.postgres import settings
from tlstax.postgres.database import apart
from tlstax.records.trial import ConnectionsSeen
from tlstax.sql import answers
from tlstax.sql.database import Database

SETTINGS: Final = {"log_connections": "on"}
"""What a server needs to write these lines.

In front of each is `log_line_prefix`, by default "%m [%p] ": the process in brackets joins a login's lines.
"""

INCLUDED: Final = "logins.conf"
"""The file in the data's directory in which a private server is told so, if its configuration includes it.

ALTER SYSTEM would wait for the disk, and this is said twice for each client that is measured.
"""

_LINE = re.compile(
    r"\[(?P<process>[0-9]+)\] LOG:  (?P<replicates>replication )?connection "
    r"(?P<what>authenticated|authorized): (?P<rest>.*)"
)
_METHOD = re.compile(r'(?:identity=".*" |user=".*" )?method=(?P<method>[^ ]+) \(.*\)')
_TLS = re.compile(
    r"(?P<who>.*) SSL enabled \(protocol=(?P<version>[^ ,]+), cipher=(?P<cipher>[^ ,)]+)"
    r"(?:, bits=(?P<bits>[0-9]+))?(?:, compression=[^ ,)]+)?\)"
)
_WHO = re.compile(
    r"user=(?P<user>.*?)(?: database=(?P<database>.*?))?(?: application_name=(?P<application>.*))?"
)


class LoggedConnection(NamedTuple):
    """A login as the log has it: `method` is pg_hba.conf's, None before 14.

    `database` is empty of one that replicates. `application` is what the client calls itself, None where it
    does not or the server is older than 11. `version`, `cipher` and `bits` are those of TLS, None in the
    clear; 10 does not say the last.
    """

    user: str
    database: str
    method: str | None = None
    version: str | None = None
    cipher: str | None = None
    bits: int | None = None
    application: str | None = None


def connections(lines: Iterable[str]) -> Iterator[LoggedConnection]:
    """The logins that these lines of the log tell of, in their order; other lines are passed over.

    The user and the database are those of names without blanks.
    """
    methods: dict[str, str] = {}
    for line in lines:
        found = _LINE.search(line.rstrip("\r\n"))
        if found is None:
            continue
        process = found["process"]
        if found["what"] == "authenticated":
            proved = _METHOD.fullmatch(found["rest"])
            if proved is not None:
                methods[process] = proved["method"]
            continue
        tls = _TLS.fullmatch(found["rest"])
        who = _WHO.fullmatch(tls["who"] if tls else found["rest"])
        if who is None or (who["database"] is None) is not bool(found["replicates"]):
            continue
        login = LoggedConnection(
            who["user"], who["database"] or "", methods.pop(process, None), application=who["application"]
        )
        if tls is not None:
            bits = int(tls["bits"]) if tls["bits"] else None
            login = login._replace(version=tls["version"], cipher=tls["cipher"], bits=bits)
        yield login


def begin(admin: Database) -> None:
    """Have the server write a line for each login from now on. Raises MachineFault."""
    _log_connections(admin, "on")


def end(admin: Database) -> None:
    """Have it write no more of them. Raises MachineFault."""
    _log_connections(admin, "off")


def seen(
    lines: Iterable[str], users: Collection[str], application: str | None
) -> tuple[ConnectionsSeen, ...]:
    """The logins of these users, counted by version and cipher suite, the most frequent first.

    Those under another name than `application` are others', unless that is None; those without a name are not
    told apart.
    """
    counts = Counter(
        (login.version, login.cipher)
        for login in connections(lines)
        if login.user in users and (application is None or login.application in {None, application})
    )
    return tuple(
        ConnectionsSeen(connections=count, version=version, cipher=cipher)
        for (version, cipher), count in counts.most_common()
    )


def _log_connections(admin: Database, whether: str) -> None:
    server = apart(admin)
    ((directory,),) = answers.demand(server, "SHOW data_directory")
    line = f"log_connections = {whether}"
    answers.demand(server, "COPY (SELECT %s) TO %s", line, f"{directory}/{INCLUDED}")
    settings.read_again(server)
