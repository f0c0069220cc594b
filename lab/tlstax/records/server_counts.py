"""What a server counted of its clients' work, in terms that all products share.

Stored are a server's counters under its own names. Nothing but this file reads those names: checks,
statistics and reports ask for a `Count`, and are told None where the product counts nothing of the kind.
Another proof must then take its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from tlstax.study.product import ProductName, product_of, release_of

Count = Literal[
    "connections",
    "handshakes",
    "session_lookups",
    "selects",
    "inserts",
    "updates",
    "deletes",
    "prepared_executions",
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
    "transactions",
]
"""What is counted. A look-up of a session is of one that the server then resumed."""

COUNTS: Final[tuple[Count, ...]] = get_args(Count)

WORDS: Final[Mapping[Count, str]] = {
    "connections": "connections",
    "handshakes": "TLS handshakes",
    "session_lookups": "look-ups of resumed sessions",
    "selects": "SELECT statements",
    "inserts": "INSERT statements",
    "updates": "UPDATE statements",
    "deletes": "DELETE statements",
    "prepared_executions": "executions of prepared statements",
    "rows_inserted": "rows inserted",
    "rows_updated": "rows updated",
    "rows_deleted": "rows deleted",
    "transactions": "committed transactions",
}

_MANY = re.compile("(connection|handshake|look-up|statement|execution|row|transaction)s")


def in_words(number: int, many: str) -> str:
    """A number of what is counted, which `many` are the words for: "1 TLS handshake", "2 rows inserted"."""
    words = _MANY.sub(r"\1", many, count=1) if number == 1 else many
    return f"{number} {words}"


MISSED_SHARE = 100
"""A loose counter may miss one of these: far more than it does, far fewer than a wrong treatment would."""


@dataclass(frozen=True)
class Counting:
    """How a server counts: the counters that add up to each count, by their own names.

    A count that is not among `counters` is not counted by this server, and `silent` says whose fault that is.
    The `loose` ones may miss some, as they are added to without a lock; what is done on a connection may be
    in the `late` ones only when it has ended. Counters of commands begin with `commands`; those in `again`
    count commands that others count too.
    """

    product: str

    counters: Mapping[Count, tuple[str, ...]]
    silent: str = ""
    loose: frozenset[Count] = frozenset()
    late: frozenset[Count] = frozenset()
    commands: str = ""
    again: frozenset[str] = frozenset()

    def of(self, status_delta: Mapping[str, int], count: Count) -> int | None:
        """How far this count went up, by a change of the server's counters; None where it is not counted."""
        counters = self.counters.get(count)
        return None if counters is None else sum(status_delta.get(counter, 0) for counter in counters)

    def name(self, count: Count) -> str:
        """What users find the count under at the server: "Com_insert and Com_insert_select"."""
        return " and ".join(self.counters.get(count, ()))

    def least(self, count: Count, made: int) -> int:
        """The least that this count may show where the server's clients `made` N."""
        may_miss = -(-made // MISSED_SHARE) if count in self.loose else 0
        return made - may_miss

    def fits(self, count: Count, counted: int, made: int) -> bool:
        """Whether this count may show `counted` where there were `made`."""
        return self.least(count, made) <= counted <= made

    def of_commands(self, status_delta: Mapping[str, int]) -> dict[str, int]:
        """How often each command was run, by its name ("select", "set_option"), each command once."""
        return {
            name.removeprefix(self.commands): times
            for name, times in status_delta.items()
            if self.commands and name.startswith(self.commands) and name not in self.again
        }

    def counters_of(self, counts: Iterable[Count]) -> tuple[str, ...]:
        """The counters that these counts are read from."""
        return tuple(counter for count in counts for counter in self.counters.get(count, ()))


_MYSQL = Counting(
    product="MySQL",
    counters={
        "connections": ("Connections",),
        "handshakes": ("Ssl_finished_accepts",),
        "session_lookups": ("Ssl_session_cache_hits",),
        "selects": ("Com_select",),
        "inserts": ("Com_insert", "Com_insert_select"),
        "updates": ("Com_update", "Com_update_multi"),
        "deletes": ("Com_delete", "Com_delete_multi"),
        "prepared_executions": ("Com_stmt_execute",),
        "rows_inserted": ("Innodb_rows_inserted",),
        "rows_updated": ("Innodb_rows_updated",),
        "rows_deleted": ("Innodb_rows_deleted",),
    },
    commands="Com_",
    again=frozenset({"Com_stmt_execute"}),
)
"""MySQL reference manual, "Server Status Variables". Its Handler_write and the like would have rows
of temporary tables too. The handshakes are OpenSSL's counter, which is atomic
(SSL_CTX_sess_accept_good(3))."""

_MARIADB = replace(
    _MYSQL,
    product="MariaDB",
    silent="MariaDB",
    counters={
        **{count: counters for count, counters in _MYSQL.counters.items() if count != "session_lookups"},
        "rows_inserted": ("Handler_write",),
        "rows_updated": ("Handler_update",),
        "rows_deleted": ("Handler_delete",),
    },
    loose=frozenset[Count]({"handshakes"}),
)
"""MariaDB counts no look-ups, and InnoDB's rows no longer. It adds to its counter of handshakes without a
lock (`ssl_acceptor_stats_update`; the `addq` of 11.8 on x86-64 has no `lock` prefix), so two that finish at
once on two processors may be counted as one."""

_POSTGRESQL = Counting(
    product="PostgreSQL",
    silent="PostgreSQL",
    counters={
        "connections": ("pg_stat_database.sessions",),
        "transactions": ("pg_stat_database.xact_commit",),
        "rows_inserted": ("pg_stat_database.tup_inserted",),
        "rows_updated": ("pg_stat_database.tup_updated",),
        "rows_deleted": ("pg_stat_database.tup_deleted",),
    },
    late=frozenset[Count]({"transactions", "rows_inserted", "rows_updated", "rows_deleted"}),
)
"""PostgreSQL documentation, "The Cumulative Statistics System", pg_stat_database: a server process adds what
it has counted between transactions, no more often than once a second, and at its end. Rows of transactions
that were rolled back count too. It counts neither TLS handshakes nor statements by their kinds, but every
statement outside a transaction is one, and so is the login of each connection, which reads the catalogue."""

_FIRST_WITH_SESSIONS = (14, 0, 0)
"""The release that came with the column `sessions` (release notes of PostgreSQL 14)."""

LOGIN_TRANSACTIONS = 1
"""How many transactions PostgreSQL commits for each connection before its first statement (InitPostgres)."""

_BY_PRODUCT: Final[Mapping[ProductName, Counting]] = {
    "mysql": _MYSQL,
    "mariadb": _MARIADB,
    "postgresql": _POSTGRESQL,
}

_OF_TLS: Final[frozenset[Count]] = frozenset({"handshakes", "session_lookups"})


def counting_of(version: str, tls_library: str | None, status_delta: Mapping[str, int]) -> Counting:
    """How a server of this version counts, with this library by its own word (None: it has no word).

    yaSSL counts neither handshakes nor resumed sessions: MariaDB says that it has it, MySQL 5 has no word for
    its library. Where such a server counts after all in `status_delta`, because it was built over OpenSSL,
    the counts must agree.
    """
    counting = _BY_PRODUCT[product_of(version)]
    if counting is _POSTGRESQL:
        return _without_sessions() if release_of(version) < _FIRST_WITH_SESSIONS else counting
    word = tls_library or ""
    has_yassl = "yassl" in word.lower() or (not word and version.startswith("5."))
    if not has_yassl or counting.of(status_delta, "handshakes"):
        return counting
    kept = {count: counters for count, counters in counting.counters.items() if count not in _OF_TLS}
    return replace(counting, counters=kept, silent="yaSSL")


def _without_sessions() -> Counting:
    kept: dict[Count, tuple[str, ...]] = {
        count: counters for count, counters in _POSTGRESQL.counters.items() if count != "connections"
    }
    return replace(_POSTGRESQL, silent="PostgreSQL before 14", counters=kept)


def count_named(counter: str) -> str:
    """The count that a product's counter stands for, by which older records name it; else as it is."""
    for counting in _BY_PRODUCT.values():
        for count, counters in counting.counters.items():
            if counter in counters:
                return count
    return counter
