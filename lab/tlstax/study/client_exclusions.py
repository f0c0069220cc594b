"""What load clients of other makers cannot do: the cases that a study leaves out, and why."""

from __future__ import annotations

from collections.abc import Mapping

from tlstax.contract import OpenLoop, Schedule
from tlstax.study.driver_catalogue import DRIVERS, Driver
from tlstax.study.factors import (
    CACHING_SHA2,
    DEFAULT_AUTH,
    ENGINE,
    LEFT_TO_THE_DRIVER,
    NATIVE_PASSWORD,
    OPTION,
    OWN,
    STORM,
    UNIX_SOCKET,
    UNSET,
    is_driver,
)
from tlstax.study.workloads.user_defined import UserSequence, UserWorkload, is_one_sequence
from tlstax.support.text import counted

SYSBENCH = "sysbench"
MYSQLSLAP = "mysqlslap-"
"""How the levels of `client` that are a mysqlslap begin; the version of its server follows."""

_PREPARED = frozenset(
    {
        "point-select",
        "select-range",
        "insert",
        "update",
        "delete",
        "oltp-read-only",
        "oltp-read-write",
    }
)
"""Built-in workloads whose statements are prepared unless `protocol` says otherwise."""

_TRANSACTIONS = frozenset({"oltp-read-only", "oltp-read-write"})
"""Built-in workloads whose operations are transactions."""

_COUNTING = frozenset({"insert", "delete", "people-insert", "people-delete"})
"""Built-in workloads that draw each id once, over all connections together."""

_TEXT_IN_SYSBENCH = frozenset({"insert", "reconnect"})
"""Built-in workloads that sysbench does without preparing anything."""

_NOT_IN_SYSBENCH = ("people-", "words-")
"""How the names of built-in workloads begin that sysbench has not."""

_BEFORE_TLS_1_2 = ("mysql-5.", "mariadb-10.1-")
"""How the names of servers begin that have no TLS 1.2; clients that try TLS unasked get in by no option."""

_NATIVE_PASSWORDS = ("mariadb-", "mysql-5.")
"""How the names of servers begin whose accounts have mysql_native_password; MySQL 9 has left it out."""

_WITHOUT_NATIVE_PASSWORDS = f"{MYSQLSLAP}9."

_WITHOUT_NATIVE, _WITHOUT_SHA2 = ("mysql-9.",), ("mysql-5.", "mariadb-")
"""How the names of servers begin that have no accounts with mysql_native_password, and with
caching_sha2_password."""


def works_in_rounds(client: str) -> bool:
    """Whether the client does its operations in rounds and puts the data back between them."""
    return client.startswith(MYSQLSLAP)


def why_not(
    levels: Mapping[str, str | int | float], workloads: Mapping[str, UserWorkload], schedule: Schedule
) -> str:
    """Why the case with these levels cannot be measured with its client; empty where it can.

    `workloads` are the user's own, by name. What only shows when a job is read is the client's to refuse.
    """
    client = str(levels.get("client", ENGINE))
    words = _why_no_account(levels) or _why_no_driver(client, levels)
    if words or levels.get("workload") == STORM:
        return words or _why_no_storm(client, levels, schedule)
    if client == ENGINE:
        return ""
    words = next((words for impossible, words in _common(levels, schedule) if impossible), "")
    if not words and is_driver(client):
        words = _why_not_driver(DRIVERS[client], levels, workloads) if client in DRIVERS else ""
    elif not words and client == SYSBENCH:
        words = _why_not_sysbench(str(levels.get("workload", "")), levels, workloads)
    elif not words:
        words = _why_not_mysqlslap(client, levels, workloads)
    return f"{client} {words}" if words else ""


def _why_no_account(levels: Mapping[str, str | int | float]) -> str:
    """Why the server has no account of that plugin; empty where it may have one."""
    plugin, server = str(levels.get("auth", DEFAULT_AUTH)), str(levels.get("server", ""))
    without = {NATIVE_PASSWORD: _WITHOUT_NATIVE, CACHING_SHA2: _WITHOUT_SHA2}.get(plugin, ())
    return f"{server} has no accounts with {plugin}" if server.startswith(without) else ""


def _why_no_driver(client: str, levels: Mapping[str, str | int | float]) -> str:
    """Why only a driver can be measured in the case; empty where others can, or where it is one.

    Options that are unset ask for nothing.
    """
    if is_driver(client):
        return ""
    if levels.get("tls") in LEFT_TO_THE_DRIVER:
        return f"{client} is no driver: it is told how to encrypt, and tls = {levels['tls']} does not say it"
    for name, level in levels.items():
        if name.startswith(OPTION) and level != UNSET:
            return f"{client} is no driver and has no option {name.removeprefix(OPTION)}"
    if int(levels.get("batch", 1)) > 1:
        return f"{client} is no driver and sends no batches"
    return ""


def _why_not_driver(
    driver: Driver, levels: Mapping[str, str | int | float], workloads: Mapping[str, UserWorkload]
) -> str:
    workload = str(levels.get("workload", ""))
    own = workloads.get(workload)
    protocol = str(levels.get("protocol", "default"))
    prepared = _is_prepared(protocol, workload, own)
    several = own is not None and not is_one_sequence(own)
    limits = [
        (levels.get("cipher", "default") != "default", "takes no cipher suite from tlstax"),
        (
            workload in _TRANSACTIONS or several,
            "does the same statements in every operation, and no transactions",
        ),
        (levels.get("path") == UNIX_SOCKET and not driver.unix_socket, "comes over TCP alone"),
        (prepared and "prepared" not in driver.protocols, "prepares nothing (protocol = text)"),
        (not prepared and "text" not in driver.protocols, "sends prepared statements alone"),
        (
            driver.connections is not None and int(levels.get("connections", 1)) > driver.connections,
            f"keeps {counted(driver.connections or 0, 'connection')} alone",
        ),
    ]
    return next((words for impossible, words in limits if impossible), "")


def _why_no_storm(client: str, levels: Mapping[str, str | int | float], schedule: Schedule) -> str:
    if client != ENGINE:
        return f"{client} cannot make a storm: it opens its connections once, or one after another"
    if isinstance(schedule, OpenLoop):
        return "a storm cannot be given a rate: it opens its connections as fast as it can"
    if "queries" in levels:
        return "a storm asks no queries: it has a number of rounds and of connections"
    return ""


def _common(levels: Mapping[str, str | int | float], schedule: Schedule) -> list[tuple[bool, str]]:
    return [
        (isinstance(schedule, OpenLoop), "cannot be given a rate"),
        (levels.get("resumption", "off") == "on", "resumes no session"),
        (levels.get("group", "default") != "default", "takes no key exchange group"),
        (
            levels.get("client_tls_library", OWN) != OWN,
            "keeps the TLS library that it comes with",
        ),
    ]


def _why_not_sysbench(
    workload: str, levels: Mapping[str, str | int | float], workloads: Mapping[str, UserWorkload]
) -> str:
    if workload in workloads or workload.startswith(_NOT_IN_SYSBENCH):
        return "has no such workload"
    if workload == "delete":
        return "draws ids at random to delete, so that ever more of them are gone already"
    protocol = str(levels.get("protocol", "default"))
    prepared = protocol == "prepared" or (protocol == "default" and workload in _PREPARED)
    if prepared and workload in _TEXT_IN_SYSBENCH:
        return f"does {workload} with a text query alone (protocol = text)"
    return ""


def _why_not_mysqlslap(
    client: str, levels: Mapping[str, str | int | float], workloads: Mapping[str, UserWorkload]
) -> str:
    workload, server = str(levels.get("workload", "")), str(levels.get("server", ""))
    own = workloads.get(workload)
    several = int(levels.get("connections", 1)) > 1
    limits = [
        (levels.get("tls") in {"1.0", "1.1"}, "speaks TLS 1.2 and 1.3 alone"),
        (server.startswith(_BEFORE_TLS_1_2), f"speaks TLS 1.2 and 1.3 alone, and {server} has neither"),
        (
            client.startswith(_WITHOUT_NATIVE_PASSWORDS)
            and (server.startswith(_NATIVE_PASSWORDS) or levels.get("auth") == NATIVE_PASSWORD),
            f"does not know mysql_native_password, by which clients log in to {server}",
        ),
        (
            workload == "reconnect" or (own is not None and own.reconnect),
            "cannot prove each of the connections that it would make for one query",
        ),
        (
            _is_prepared(str(levels.get("protocol", "default")), workload, own),
            "sends statements as text alone (protocol = text)",
        ),
        (
            several and (workload in _COUNTING or (own is not None and _counts(own))),
            "gives all its connections the same statements, and each id is to be used once",
        ),
    ]
    return next((words for impossible, words in limits if impossible), "")


def _is_prepared(protocol: str, workload: str, own: UserWorkload | None) -> bool:
    if protocol != "default":
        return protocol == "prepared"
    if own is None:
        return workload in _PREPARED
    statements = [statement for transaction in own.transactions for statement in transaction.statements]
    return any((statement.protocol or own.protocol) == "prepared" for statement in statements)


def _counts(own: UserWorkload) -> bool:
    """Whether the user's workload draws from a sequence."""
    drawn = [transaction.parameters for transaction in own.transactions]
    drawn += [
        statement.parameters for transaction in own.transactions for statement in transaction.statements
    ]
    return any(isinstance(parameter, UserSequence) for found in drawn for parameter in found.values())
