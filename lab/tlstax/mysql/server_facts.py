"""What a running server reports of itself: its version, which one it is, its limits and what it can do.

Source: MySQL reference manual, "Information Functions", "Server System Variables", "Connection Compression
Control" and "InnoDB Startup Options and System Variables". Functions raise SqlError unless they say
otherwise.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from tlstax.mysql import session
from tlstax.sql import answers
from tlstax.sql.answering import Answering, Listener, answered
from tlstax.sql.database import Database
from tlstax.sql.facts import ConnectionLimits, Identity
from tlstax.study.level_names import COMPRESSIONS, DURABILITY
from tlstax.support.errors import MachineFault
from tlstax.support.text import natural

_NODE_VARIABLES = ("server_uid", "hostname", "port", "datadir", "server_id")
"""MariaDB has no `server_uuid`; its `server_uid` is of the network card and the port, not of the data."""

_NO_CLUSTER = {"", "00000000-0000-0000-0000-000000000000"}


def version(database: Database) -> str:
    """What SELECT VERSION() answers."""
    return str(answers.row(database, "SELECT VERSION()", columns=1)[0])


def answering(database: Database, listener: Listener | None) -> Answering:
    """Who answers on this connection; `listener` is the socket that its clients are sent to."""
    told, directory = answers.row(database, "SELECT VERSION(), @@datadir", columns=2)
    return answered(database, listener, str(told), str(directory))


def version_and_limit(database: Database) -> tuple[str, int]:
    """The version, and how many connections the server accepts at most."""
    reported, limit = answers.row(database, "SELECT VERSION(), @@max_connections", columns=2)
    return str(reported), answers.number(limit)


def connection_limits(database: Database) -> ConnectionLimits:
    """The limits of the server and of this connection's account, and how many connections there are now."""
    asked = "SELECT @@max_connections, @@session.max_user_connections"
    limit, per_user = map(answers.number, answers.row(database, asked, columns=2))
    in_use = answers.row(database, "SHOW GLOBAL STATUS LIKE 'Threads_connected'", columns=2)[1]
    own = len(session.of_account(database)) if per_user else 0
    return ConnectionLimits(limit, per_user, answers.number(in_use), own)


def most_used_connections(database: Database) -> int:
    """How many connections there have been at once, since the server began or its status was flushed."""
    asked = "SHOW GLOBAL STATUS LIKE 'Max_used_connections'"
    return answers.number(answers.row(database, asked, columns=2)[1])


def identity(database: Database) -> Identity:
    """Which server this is. Nodes of a Galera cluster or of MySQL's group replication have one cluster."""
    names = ("server_uuid", *_NODE_VARIABLES, "group_replication_group_name")
    asked = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN {names}"
    found = answers.pairs(database, asked)
    status = answers.rows(database, "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'", columns=2)
    cluster = str(status[0][1]) if status else ""
    if cluster in _NO_CLUSTER:
        cluster = found.get("group_replication_group_name", "")
    named = found.get("server_uuid") or repr([found.get(name, "") for name in _NODE_VARIABLES])
    return Identity(hashlib.sha256(named.encode()).hexdigest(), cluster)


def as_kept(database: Database, name: str) -> str:
    """A table's name as the server keeps it: in small letters where `lower_case_table_names` is 1."""
    asked = "SELECT IF(@@lower_case_table_names = 1, LOWER(%s), %s)"
    return answers.name(answers.row(database, asked, name, name, columns=1)[0])


def requires_tls(database: Database) -> bool | None:
    """Whether connections in the clear are refused; None where the server has no variable for it.

    `require_secure_transport` is there from MySQL 5.7.8 and MariaDB 10.5.2 on.
    """
    found = answers.rows(database, "SHOW GLOBAL VARIABLES LIKE 'require_secure_transport'", columns=2)
    return str(found[0][1]).upper() in {"ON", "1"} if found else None


def lets_in_clear(database: Database) -> bool | None:  # noqa: ARG001
    """None: what is demanded of an account, its terms say."""
    return None


def costly_settings(database: Database) -> tuple[str, ...]:  # noqa: ARG001
    """None are known."""
    return ()


def admission(database: Database) -> tuple[str, ...]:  # noqa: ARG001
    """Nothing: accounts say by themselves how each is proved."""
    return ()


def password_encryption(database: Database) -> None:
    """None: each account has its own plugin."""


def most_connect_errors(database: Database) -> int | None:
    """After how many broken connects in a row the server blocks a host; None where it does not say.

    MySQL's manual, "Blocked hosts": a login that succeeds sets the count back.
    """
    found = answers.rows(database, "SHOW GLOBAL VARIABLES LIKE 'max_connect_errors'", columns=2)
    return natural(str(found[0][1])) if found else None


def variables(database: Database, names: Sequence[str]) -> dict[str, str]:
    """What these system variables are set to, as far as the server has them."""
    found = answers.pairs(database, "SHOW GLOBAL VARIABLES")
    return {name: found[name] for name in names if name in found}


def account_plugins(database: Database) -> tuple[str, ...]:
    """Every authentication plugin that is in use, in alphabetical order (INFORMATION_SCHEMA.PLUGINS)."""
    asked = (
        "SELECT PLUGIN_NAME FROM INFORMATION_SCHEMA.PLUGINS "
        "WHERE PLUGIN_TYPE = 'AUTHENTICATION' AND PLUGIN_STATUS = 'ACTIVE'"
    )
    return tuple(sorted(str(name) for name in answers.column(database, asked, place=0)))


ALGORITHMS, HAS_ZLIB = "protocol_compression_algorithms", "have_compress"
"""What MySQL allows since 8.0.18, "uncompressed" among it (MySQL reference manual, Connection Compression
Control); and whether any other server has zlib."""


def compressions(database: Database) -> tuple[str, ...]:
    """The levels of `compression` that the server agrees on, "off" first."""
    asked = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('{ALGORITHMS}', '{HAS_ZLIB}')"
    said = answers.pairs(database, asked)
    zlib_alone = "zlib" if said.get(HAS_ZLIB) == "YES" else ""
    allowed = {"off", *said.get(ALGORITHMS, zlib_alone).split(",")}
    return tuple(level for level in COMPRESSIONS if level in allowed)


_FLUSHING = "innodb_flush_log_at_trx_commit"
_SETTING = re.compile(f"{_FLUSHING}=([0-9]+)")


def durability(admin: Database) -> str:
    """The level of `durability` in force, or the setting itself where it is none of the levels'.

    MachineFault where the server does not answer.
    """
    value = answers.as_number(answers.demand(admin, f"SELECT @@GLOBAL.{_FLUSHING}")[0][0])
    if value is None:
        raise MachineFault(f"the server answers no number for {_FLUSHING}")
    return next((level for level, number in DURABILITY.items() if number == value), f"{_FLUSHING}={value}")


def set_durability(admin: Database, wanted: str) -> None:
    """Have it as a level says, or as `durability` has told. MachineFault where the server does not do so."""
    setting = _SETTING.fullmatch(wanted)
    value = int(setting[1]) if setting else DURABILITY[wanted]
    answers.demand(admin, f"SET GLOBAL {_FLUSHING} = %s", value)
