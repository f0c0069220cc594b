"""What a running PostgreSQL reports of itself: its version, which one it is, its limits, its durability.

Source: PostgreSQL documentation, "System Information Functions", "pg_settings", "pg_hba_file_rules" and
"Write Ahead Log" (Settings). Functions raise SqlError unless they say otherwise.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from tlstax.postgres import hba, settings
from tlstax.postgres.database import apart, named_database
from tlstax.results.inspection import TRUST_BEHIND
from tlstax.sql import answers
from tlstax.sql.answering import Answering, Listener, answered
from tlstax.sql.database import Database, SqlError
from tlstax.sql.facts import ConnectionLimits, Identity
from tlstax.support.errors import MachineFault

_RESERVED: Final = ("superuser_reserved_connections", "reserved_connections")
"""Settings by which connections are kept from ordinary accounts; the second is there from 16 on."""


def version(database: Database) -> str:
    """Its name and version, such as "PostgreSQL 18.4"."""
    return f"PostgreSQL {answers.row(apart(database), 'SHOW server_version', columns=1)[0]}"


def answering(database: Database, listener: Listener | None) -> Answering:
    """Who answers on this connection; `listener` is the socket that its clients are sent to.

    The process is the postmaster, which listens; those that serve connections are its children. Raises
    SqlError as well where the account may not be told where its data are.
    """
    server = apart(database)
    (directory,) = answers.row(server, "SHOW data_directory", columns=1)
    return answered(server, listener, version(server), str(directory))


def version_and_limit(database: Database) -> tuple[str, int]:
    """The version, and how many connections the server accepts of ordinary accounts at most."""
    return version(database), _most_connections(database)


def connection_limits(database: Database) -> ConnectionLimits:
    """The limits of the server and of this connection's account, and how many connections there are now.

    The account's is that of its role or of its database, whichever leaves less; 0 where neither has one. An
    ordinary account is not told what others' processes are: any of them that is somebody's and in a database
    is taken for a connection.
    """
    asked = (
        "SELECT (SELECT rolconnlimit FROM pg_roles WHERE rolname = session_user),"  # noqa: S608
        " COUNT(*) FILTER (WHERE usename = session_user), d.datconnlimit,"
        " COUNT(*) FILTER (WHERE datid = d.oid), COUNT(pid)"
        " FROM pg_database d LEFT JOIN pg_stat_activity ON datid IS NOT NULL AND usesysid IS NOT NULL"
        " AND COALESCE(backend_type, 'client backend') = 'client backend'"
        f" WHERE d.datname = {named_database(database)} GROUP BY d.oid, d.datconnlimit"
    )
    found = answers.row(apart(database), asked, columns=5)
    role, of_role, of_database, in_database, in_use = map(answers.number, found)
    bounds = [(own, used) for own, used in ((role, of_role), (of_database, in_database)) if own >= 0]
    own, used = min(bounds, key=lambda bound: bound[0] - bound[1], default=(0, 0))
    return ConnectionLimits(_most_connections(database), own, in_use, used)


def as_kept(database: Database, name: str) -> str:  # noqa: ARG001 (as it is read)
    """A table's name as the server keeps it."""
    return name


def most_used_connections(database: Database) -> int | None:  # noqa: ARG001
    """None: PostgreSQL does not keep how many connections there have been at once."""
    return None


def identity(database: Database) -> Identity:
    """Which server this is. A primary and its standbys have one cluster, by `system_identifier`.

    An ordinary account is not told the directory; when the server began tells it from its standbys then.
    """
    asked = "SELECT system_identifier::text, pg_postmaster_start_time()::text FROM pg_control_system()"
    cluster, began = answers.row(apart(database), asked, columns=2)
    cluster = answers.name(cluster)
    found = settings.read(database, ("data_directory", "port"))
    named = repr([cluster, found.get("data_directory") or str(began), found.get("port", "")])
    return Identity(hashlib.sha256(named.encode()).hexdigest(), cluster)


def requires_tls(database: Database) -> bool | None:
    """Whether connections over a network in the clear are refused; None where the account may not know.

    By the lines of pg_hba.conf, without those for the server's own machine, whose connections are on no wire.
    """
    lines = hba.read(database)
    if lines is None:
        return None
    return all(kind == "hostssl" or line.is_for_loopback for kind, line in hba.reached(lines))


def lets_in_clear(database: Database) -> bool | None:
    """Whether this account is let in from here in the clear; None where the account may not know."""
    lines = hba.read(database)
    client = None if lines is None else hba.own_client(database, lines, encrypted=False)
    if lines is None or client is None:
        return None
    method = hba.method_for(lines, client)
    return None if method is None else method != hba.REJECT


_COSTLY: Final = {
    "log_hostname": "",
    "idle_session_timeout": " ms",
    "pre_auth_delay": " s",
    "post_auth_delay": " s",
}
"""Settings that cost each connection something, or have more made, with their units; off, or 0, by default.

Documentation, "Error Reporting and Logging", "Client Connection Defaults" and "Developer Options".
"""


def costly_settings(database: Database) -> tuple[str, ...]:
    """Those of `_COSTLY` that are set for this account, such as "log_hostname = on".

    As its sessions have them at their beginning: the laboratory's own has no end when it is idle.
    """
    names = ", ".join(["%s"] * len(_COSTLY))
    asked = f"SELECT name, reset_val FROM pg_settings WHERE name IN ({names})"  # noqa: S608 (places)
    found = {
        str(name): str(value) for name, value in answers.rows(apart(database), asked, *_COSTLY, columns=2)
    }
    return tuple(
        f"{name} = {found[name]}{unit}"
        for name, unit in _COSTLY.items()
        if found.get(name, "off") not in {"off", "0"}
    )


def admission(database: Database) -> tuple[str, ...]:
    """How pg_hba.conf lets clients in over TCP, such as "host md5"; empty where it is not told.

    Lines for the server's own machine are left out, and those that no connection comes as far as, but for
    trust: "host trust (behind other lines)".
    """
    lines = hba.read(database) or ()
    found = {f"{kind} {line.method}" for kind, line in hba.reached(lines) if not line.is_for_loopback}
    waiting = {own.kind for own in hba.behind(lines) if own.method == "trust" and not own.is_for_loopback}
    return (*sorted(found), *(f"{kind} {TRUST_BEHIND}" for kind in sorted(waiting)))


def password_encryption(database: Database) -> str | None:
    """How passwords are kept that are set from now on: "scram-sha-256" or "md5".

    Before 14 the setting may say "on", which is md5 (release notes of PostgreSQL 10 and 14).
    """
    said = settings.read(database, ("password_encryption",)).get("password_encryption")
    return "md5" if said in {"on", "true", "yes", "1"} else said


def most_connect_errors(database: Database) -> int | None:  # noqa: ARG001
    """None: PostgreSQL blocks no host, however many of its connects break off."""
    return None


def variables(database: Database, names: Sequence[str]) -> dict[str, str]:
    """What these settings are set to, without units, as far as the server has them."""
    found = settings.read(database, names) if names else {}
    return {name: found[name] for name in names if name in found}


def account_plugins(database: Database) -> tuple[str, ...]:
    """Every method by which pg_hba.conf lets somebody in, in alphabetical order; only a superuser may ask."""
    asked = (
        "SELECT DISTINCT auth_method FROM pg_hba_file_rules WHERE error IS NULL AND auth_method <> 'reject'"
    )
    return tuple(sorted(str(name) for name in answers.column(apart(database), asked, place=0)))


def compressions(database: Database) -> tuple[str, ...]:  # noqa: ARG001
    """The levels of `compression` that the server agrees on: its protocol has none."""
    return ("off",)


_DURABILITY: Final[Mapping[str, Mapping[str, str]]] = {
    "full": {"fsync": "on", "synchronous_commit": "on"},
    "write": {"fsync": "off", "synchronous_commit": "on"},
    "none": {"fsync": "on", "synchronous_commit": "off"},
}
"""Levels of `durability`: at a commit the log is on the disk, is with the operating system (it is written,
and `fsync` off leaves out what would wait for the disk), or is neither (it is written up to three times
`wal_writer_delay` later)."""

_WORDS = re.compile(r"fsync=(?P<fsync>on|off), synchronous_commit=(?P<synchronous_commit>[a-z_]+)")


def durability(admin: Database) -> str:
    """The level of `durability` in force, or the settings themselves where they are none of the levels'.

    MachineFault where the server does not answer.
    """
    try:
        found = settings.read(admin, ("fsync", "synchronous_commit"))
    except SqlError as error:
        raise MachineFault(
            f"the server does not say what a commit waits for ({answers.message_of(error)})"
        ) from error
    named = (level for level, wanted in _DURABILITY.items() if wanted == found)
    return next(named, f"fsync={found.get('fsync')}, synchronous_commit={found.get('synchronous_commit')}")


def set_durability(admin: Database, wanted: str) -> None:
    """Have it as a level says, or as `durability` has told; for whoever commits from now on.

    MachineFault where the server does not do so.
    """
    words = _WORDS.fullmatch(wanted)
    settings.change(admin, words.groupdict() if words else _DURABILITY[wanted])


def _most_connections(database: Database) -> int:
    found = settings.read(database, ("max_connections", *_RESERVED))
    return answers.number(found.get("max_connections")) - sum(
        answers.number(found[name]) for name in _RESERVED if name in found
    )
