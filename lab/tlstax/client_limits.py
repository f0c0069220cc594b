"""What load clients of other makers cannot do: the cases that a study leaves out, and why. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tlstax.contract import OpenLoop, Schedule
from tlstax.factors import ENGINE, OWN, STORM
from tlstax.user_workload import UserSequence, UserWorkload

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

_COUNTING = frozenset({"insert", "delete", "people-insert", "people-delete"})
"""Built-in workloads that draw each id once, over all connections together."""

_TEXT_IN_SYSBENCH = frozenset({"insert", "reconnect"})
"""Built-in workloads that sysbench does without preparing anything."""

_PEOPLE = "people-"

_BEFORE_TLS_1_2 = ("mysql-5.", "mariadb-10.1-")
"""How the names of servers begin that have no TLS 1.2; clients that try TLS unasked get in by no option."""

_NATIVE_PASSWORDS = ("mariadb-", "mysql-5.")
"""How the names of servers begin whose accounts have mysql_native_password; MySQL 9 has left it out."""

_WITHOUT_NATIVE_PASSWORDS = f"{MYSQLSLAP}9."


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
    if levels.get("workload") == STORM:
        return _why_no_storm(client, levels, schedule)
    if client == ENGINE:
        return ""
    for impossible, words in _common(levels, schedule):
        if impossible:
            return f"{client} {words}"
    if client == SYSBENCH:
        words = _why_not_sysbench(str(levels.get("workload", "")), levels, workloads)
        return f"{client} {words}" if words else ""
    return _why_not_mysqlslap(client, levels, workloads)


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
        (levels.get("group", "default") != "default", "cannot be told a key exchange group"),
        (
            levels.get("client_tls_library", OWN) != OWN,
            "keeps the TLS library that it comes with",
        ),
    ]


def _why_not_sysbench(
    workload: str, levels: Mapping[str, str | int | float], workloads: Mapping[str, UserWorkload]
) -> str:
    if workload in workloads or workload.startswith(_PEOPLE):
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
            client.startswith(_WITHOUT_NATIVE_PASSWORDS) and server.startswith(_NATIVE_PASSWORDS),
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
    return next((f"{client} {words}" for impossible, words in limits if impossible), "")


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
