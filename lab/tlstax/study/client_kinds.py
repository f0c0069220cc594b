"""The load clients that studies may name: what is known before one is started, and what it cannot do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from tlstax.contract import ClosedLoop, OpenLoop, Schedule
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.driver_catalogue import DRIVERS, Driver
from tlstax.study.level_names import (
    CACHING_SHA2,
    DIRECT,
    DIRECT_TLS,
    ENGINE,
    NATIVE_PASSWORD,
    OWN,
    POINT_SELECT,
    RECONNECT,
    SCRAM_PLUS,
    STREAM,
    UNIX_SOCKET,
    Level,
)
from tlstax.study.product import DEFAULT, ProductName
from tlstax.study.server_abilities import ServerAbilities
from tlstax.study.workloads import Rows, by_numbers
from tlstax.study.workloads.user_defined import is_one_sequence
from tlstax.support.text import counted

if TYPE_CHECKING:
    from tlstax.study.factors import CaseLevels


Copied = Literal["dump", "base backup", "log", "changes"]
"""What a program copies: a table's rows, all files of a server, the log of its changes, or these decoded."""

MOST_SLOTS = 64
"""The most copies of decoded changes in a trial, each of which has a slot of its own."""

Limit = tuple[bool, str]
"""Whether a case goes beyond what a client can do, and what the client does instead, to follow its name."""


@dataclass(frozen=True)
class Wanted:
    """A case that a client is to measure, with its workload.

    `schedule` is when operations start; `server` is what the case's server can do, None where that is not
    known; `product` is which it is.
    """

    case: CaseLevels
    workload: CaseWorkload
    schedule: Schedule = field(default_factory=ClosedLoop)
    server: ServerAbilities | None = None
    product: ProductName = DEFAULT

    @property
    def is_of_postgresql(self) -> bool:
        """Whether the case's server is a PostgreSQL."""
        return self.product == "postgresql"


_MYSQL_PROTOCOL: frozenset[ProductName] = frozenset({"mysql", "mariadb"})
_POSTGRESQL: frozenset[ProductName] = frozenset({"postgresql"})


@dataclass(frozen=True)
class ClientKind:
    """A load client: its level of `client`, what it is called in sentences, and what it can do.

    `limits` names what it cannot do of a case, the first that holds being the reason to leave the case out.
    One that `asks` asks its connections what they have negotiated before the window, counts its handshakes
    and keeps rows to be checked; of any other the server's word alone counts. One that `connects_in_window`
    makes the connections that work within the window, and each records itself at the server. One that
    `works_in_rounds` does all operations of a round in one go, and the data is put back between rounds;
    one that `makes_storms` opens all its connections at once, round after round. One that `takes_turns`
    works in slices of a few milliseconds whenever it is told; any other cannot stop in the middle of a run.
    One that `tells_full_load` reports what it did of a slice while all of its connections were at work.
    One that `is_put_over_libraries` is started over another TLS library; others load it as the job says.
    One that `has_locks_counted` counts its own locks beside a server that counts its.
    It `speaks` to these products. Its connections are proved by the server's log, which names each as it is
    let in, at those where it is `logged_at`.
    Beside one that `has_one_thread` nobody has more than one processor to work on.
    One that `copies` is a program that copies a server's data or its log: it does the workload `stream` and
    no other. What the load's database counts says nothing of one that connects to the server `beside` it.
    `verifies` says of one that reports this version of itself whether it can be relied on to verify the
    server's certificate on every connection, None where nobody has looked.
    """

    name: str
    words: str
    limits: Callable[[Wanted], Iterable[Limit]]
    is_driver: bool = False
    asks: bool = True
    connects_in_window: bool = False
    has_one_thread: bool = False
    works_in_rounds: bool = False
    makes_storms: bool = False
    takes_turns: bool = False
    tells_full_load: bool = False
    is_put_over_libraries: bool = False
    has_locks_counted: bool = False
    speaks: frozenset[ProductName] = _MYSQL_PROTOCOL
    logged_at: frozenset[ProductName] = frozenset()
    copies: Copied | None = None
    beside: bool = False
    verifies: Callable[[str], bool | None] = lambda _: None

    def is_silent_at(self, product: ProductName) -> bool:
        """Whether nothing but the server's counters, and what it accepts, tells of its connections there."""
        return not (self.asks or self.connects_in_window or product in self.logged_at)

    def why_not(self, wanted: Wanted) -> str:
        """Why it cannot measure the case; empty where it can."""
        if wanted.product not in self.speaks:
            whose = "PostgreSQL's" if wanted.is_of_postgresql else "MySQL's"
            return f"{self.name} does not speak {whose} protocol"
        if (self.copies is None) is (wanted.case.workload == STREAM):
            return (
                f"{self.name} copies no whole server: {STREAM} is for pg-dump, mysqldump and their like"
                if self.copies is None
                else f"{self.name} copies all of a server: its workload is {STREAM}"
            )
        return next((f"{self.name} {words}" for beyond, words in self.limits(wanted) if beyond), "")


def _of_other_makers(wanted: Wanted) -> Iterable[Limit]:
    """What no client but the engine has an option for, and that it keeps its TLS library."""
    yield from _of_options(wanted)
    yield _is_compressed(wanted)
    yield wanted.case.client_tls_library != OWN, "keeps the TLS library that it comes with"


def _is_compressed(wanted: Wanted) -> Limit:
    return wanted.case.is_compressed, "is not told by tlstax to compress, nor asked whether it does"


def _of_options(wanted: Wanted) -> Iterable[Limit]:
    """What no client but the engine has an option for."""
    case = wanted.case
    yield isinstance(wanted.schedule, OpenLoop), "cannot be given a rate"
    yield case.resumes, "resumes no session"
    yield case.group != "default", "takes no key exchange group"


_ENGINE: ClientKind = ClientKind(
    ENGINE,
    "the engine",
    lambda _: (),
    makes_storms=True,
    takes_turns=True,
    tells_full_load=True,
    speaks=frozenset(get_args(ProductName)),
    verifies=lambda _: True,
)


FLOOR = "floor"

FLOOR_TLS = "1.3"
"""It asks its connections nothing, so that a MySQL which accepts this version alone has to prove it."""


def _of_floor(wanted: Wanted) -> Iterable[Limit]:
    case = wanted.case
    yield (
        case.workload not in {POINT_SELECT, RECONNECT},
        f"sends one short statement again and again: {POINT_SELECT}, or {RECONNECT}",
    )
    yield isinstance(wanted.schedule, OpenLoop), "cannot be given a rate"
    yield case.queries is not None, "works for a time, and does no number of queries"
    yield case.resumes, "resumes no session"
    yield case.is_compressed, "compresses nothing"
    yield (
        case.is_encrypted and case.tls != FLOOR_TLS and not wanted.is_of_postgresql,
        f"does not ask which TLS it has, and is proved by a server that accepts {FLOOR_TLS} alone",
    )


_FLOOR: ClientKind = ClientKind(
    FLOOR,
    "the bare floor",
    _of_floor,
    asks=False,
    takes_turns=True,
    has_one_thread=True,
    speaks=frozenset(get_args(ProductName)),
    logged_at=_POSTGRESQL,
)


SYSBENCH = "sysbench"

_ONLY_TEXT = frozenset({"insert", "reconnect"})
"""Built-in workloads that it does without preparing anything."""

_NOT_SYSBENCH = (
    "people-",
    "words-",
    "session-",
    "answer-",
    "rows-",
    "sent-",
    "insert-",
    "connect-",
    "ping",
    "reconnect-ping",
)
"""How the names of the built-in workloads that it does not have begin."""

_VERIFIES_UNASKED_BEFORE = (3, 4)
"""MariaDB Connector/C up to 3.3 checks the chain of each certificate once it has an authority's file. Over
3.4 it depends on how sysbench was built: with another server's authority Debian 13's 1.0.20+ds-7 got in, and
sid's 1.0.20+ds-9 did not."""


def _of_sysbench(wanted: Wanted) -> Iterable[Limit]:
    yield from _of_other_makers(wanted)
    workload = wanted.case.workload
    yield wanted.workload.own is not None or workload.startswith(_NOT_SYSBENCH), "has no such workload"
    yield (
        workload == "delete",
        "draws ids to delete at random, so that more and more of them are already gone",
    )
    yield (
        wanted.workload.is_prepared and workload in _ONLY_TEXT,
        f"does {workload} only with a text query (protocol = text)",
    )


def _sysbench_verifies(version: str) -> bool:
    library = re.search(r"Connector/C ([0-9]{1,4})\.([0-9]{1,4})", version)
    return library is not None and (int(library[1]), int(library[2])) < _VERIFIES_UNASKED_BEFORE


_SYSBENCH: ClientKind = ClientKind(SYSBENCH, SYSBENCH, _of_sysbench, verifies=_sysbench_verifies)


MYSQLSLAP_PREFIX = "mysqlslap-"
"""How the names of its levels begin; the version of its server follows."""

WORKERS_IGNORE_SSL_MODE = frozenset({"8.0.33"})
"""Versions whose working connections were seen to ignore --ssl-mode: over TCP they encrypt where the server
can, over a Unix socket they do not. It only explains; the verdict is the server's word alone."""


def _mysqlslap(version: str, *, knows_native_passwords: bool) -> ClientKind:
    name = f"{MYSQLSLAP_PREFIX}{version}"

    def limits(wanted: Wanted) -> Iterable[Limit]:
        yield from _of_other_makers(wanted)
        yield from _of_any_version(wanted)
        if not knows_native_passwords:
            yield (
                _logs_in_natively(wanted),
                f"does not know mysql_native_password, by which clients log in to {wanted.case.server or ''}",
            )
        yield from _of_its_work(wanted)

    return ClientKind(
        name,
        f"mysqlslap {version}",
        limits,
        asks=False,
        connects_in_window=True,
        works_in_rounds=True,
        verifies=lambda reported: False if reported in WORKERS_IGNORE_SSL_MODE else None,
    )


def _of_any_version(wanted: Wanted) -> Iterable[Limit]:
    yield wanted.case.tls in {"1.0", "1.1"}, "speaks only TLS 1.2 and 1.3"
    yield (
        # It tries TLS unasked, and gets in to such a server by no option.
        wanted.server is not None and not wanted.server.has_modern_tls,
        f"speaks only TLS 1.2 and 1.3, and {wanted.case.server} has neither",
    )


def _logs_in_natively(wanted: Wanted) -> bool:
    only_natively = wanted.server is not None and CACHING_SHA2 not in wanted.server.account_plugins
    return only_natively or wanted.case.auth == NATIVE_PASSWORD


def _of_its_work(wanted: Wanted) -> Iterable[Limit]:
    own = wanted.workload.own
    reconnects = wanted.case.reconnects or (own is not None and own.reconnect)
    yield reconnects, "cannot prove each of the connections that it would make for one query"
    sized = by_numbers(wanted.case.workload)
    yield (
        isinstance(sized, Rows) and sized.is_made_of_values,
        "would set the values of such long rows anew, over and over",
    )
    yield wanted.workload.is_prepared, "sends statements only as text (protocol = text)"
    yield (
        wanted.case.connections > 1 and wanted.workload.counts,
        "gives all its connections the same statements, and each id is to be used once",
    )


MYSQLSLAPS: tuple[ClientKind, ...] = (
    _mysqlslap("8.0.33", knows_native_passwords=True),
    _mysqlslap("9.7", knows_native_passwords=False),
)


PGBENCH = "pgbench"

_OF_PGBENCH = frozenset(
    {POINT_SELECT, RECONNECT, "select-range", "update", "oltp-read-only", "ping", "reconnect-ping"}
)
"""Built-in workloads whose values are numbers, each drawn by itself: pgbench's scripts draw nothing else."""


def _of_pgbench(wanted: Wanted) -> Iterable[Limit]:
    yield from _of_options(wanted)
    yield _is_compressed(wanted)
    yield wanted.case.cipher != "default", "takes no cipher suite: libpq has no option for it"
    yield (
        wanted.workload.own is not None or wanted.case.workload not in _OF_PGBENCH,
        "draws numbers alone: no text, and no value that is used once over all connections",
    )


_PGBENCH: ClientKind = ClientKind(
    PGBENCH,
    PGBENCH,
    _of_pgbench,
    asks=False,
    is_put_over_libraries=True,
    has_locks_counted=True,
    speaks=_POSTGRESQL,
    logged_at=_POSTGRESQL,
    verifies=lambda _: True,
)
"""libpq verifies as its `sslmode` says, on each connection (PostgreSQL documentation, "SSL Support")."""


def _of_streams(wanted: Wanted) -> Iterable[Limit]:
    case = wanted.case
    yield from _of_options(wanted)
    yield case.client_tls_library != OWN, "keeps the TLS library that it comes with"
    yield case.connections > 1, "is one connection at a time (connections = 1)"
    yield case.cipher != "default", "is not told which cipher suite to offer"
    yield case.auth != "default", "logs in as the account of all streams (auth = default)"
    yield case.client_certificate == "on", "is given no certificate of its own"
    yield case.path != DIRECT, "is sent to the server itself (path = direct)"


def _of_decoded_changes(wanted: Wanted) -> Iterable[Limit]:
    yield from _of_streams(wanted)
    words = (
        f"uses up a slot of the server in each copy, and has {MOST_SLOTS} (queries = {MOST_SLOTS} at most)"
    )
    yield (wanted.case.queries or 1) > MOST_SLOTS, words


def _of_mysql_streams(wanted: Wanted) -> Iterable[Limit]:
    yield from _of_streams(wanted)
    yield from _of_any_version(wanted)
    yield (
        wanted.product == "mysql" and _logs_in_natively(wanted),
        f"does not know mysql_native_password, by which clients log in to {wanted.case.server or ''}",
    )


def _of_unseen(wanted: Wanted) -> Iterable[Limit]:
    yield from _of_mysql_streams(wanted)
    yield (
        wanted.case.is_encrypted and wanted.case.tls != FLOOR_TLS,
        f"does not tell which TLS it has, and is proved by a server that accepts {FLOOR_TLS} alone",
    )


def _of_mariadb_binlog(wanted: Wanted) -> Iterable[Limit]:
    yield from _of_unseen(wanted)
    yield wanted.case.is_compressed, "has no option to compress what it reads (mariadb-dump has)"


def _stream(  # noqa: PLR0913 (what a kind is, by its names)
    name: str,
    words: str,
    copies: Copied,
    product: ProductName,
    limits: Callable[[Wanted], Iterable[Limit]],
    *,
    beside: bool = False,
    connects_in_window: bool = False,
) -> ClientKind:
    return ClientKind(
        name,
        words,
        limits,
        asks=False,
        connects_in_window=connects_in_window,
        speaks=frozenset({product}),
        logged_at=frozenset({product}) & _POSTGRESQL,
        copies=copies,
        beside=beside,
        verifies=lambda _: True,
    )


STREAMS: tuple[ClientKind, ...] = (
    _stream("pg-dump", "pg_dump", "dump", "postgresql", _of_streams),
    _stream("pg-basebackup", "pg_basebackup", "base backup", "postgresql", _of_streams, beside=True),
    _stream("pg-receivewal", "pg_receivewal", "log", "postgresql", _of_streams, beside=True),
    _stream("pg-recvlogical", "pg_recvlogical", "changes", "postgresql", _of_decoded_changes, beside=True),
    _stream("mysqldump", "mysqldump", "dump", "mysql", _of_mysql_streams, connects_in_window=True),
    _stream("mysqlbinlog", "mysqlbinlog", "log", "mysql", _of_unseen),
    _stream("mariadb-dump", "mariadb-dump", "dump", "mariadb", _of_unseen),
    _stream("mariadb-binlog", "mariadb-binlog", "log", "mariadb", _of_mariadb_binlog),
)
"""Programs that copy all of a server's data, or of its log. Those that verify do so on each connection."""


_TRANSACTIONS = frozenset({"oltp-read-only", "oltp-read-write"})
"""Built-in workloads whose operations are transactions."""


def kind_of_driver(name: str) -> ClientKind:
    """The driver of that name; one that is on no list is asked nothing beyond what all drivers are."""
    driver = DRIVERS.get(name)
    if driver is None:
        return ClientKind(name, name, _of_other_makers, is_driver=True, takes_turns=True)

    def limits(wanted: Wanted) -> Iterable[Limit]:
        yield from _of_other_makers(wanted)
        yield from _of_its_line(driver, wanted)

    words = f"{driver.product.removeprefix('MySQL ')} {driver.version}"
    of_postgresql = driver.speaks == "postgresql"
    return ClientKind(
        name,
        words,
        limits,
        is_driver=True,
        takes_turns=True,
        logged_at=_POSTGRESQL if of_postgresql else frozenset(),
        speaks=_POSTGRESQL if of_postgresql else _MYSQL_PROTOCOL,
    )


def _of_its_line(driver: Driver, wanted: Wanted) -> Iterable[Limit]:
    case, own = wanted.case, wanted.workload.own
    yield case.cipher != "default", "takes no cipher suite from tlstax"
    yield case.tls == DIRECT_TLS and not driver.begins_tls, "asks for TLS before it begins it"
    yield case.auth == SCRAM_PLUS, "is not told by tlstax to bind SCRAM to its TLS channel"
    yield (
        case.workload in _TRANSACTIONS or (own is not None and not is_one_sequence(own)),
        "does the same statements in every operation, and no transactions",
    )
    yield case.path == UNIX_SOCKET and not driver.unix_socket, "connects only over TCP"
    prepares = "prepared" in driver.protocols
    yield wanted.workload.is_prepared and not prepares, "prepares nothing (protocol = text)"
    yield not wanted.workload.is_prepared and "text" not in driver.protocols, "sends only prepared statements"
    yield (
        driver.connections is not None and case.connections > driver.connections,
        f"keeps only {counted(driver.connections or 0, 'connection')}",
    )


PROGRAMS: tuple[ClientKind, ...] = (_ENGINE, _SYSBENCH, _FLOOR, *MYSQLSLAPS, _PGBENCH, *STREAMS)
"""Load clients that are no drivers."""

KINDS: dict[str, ClientKind] = {kind.name: kind for kind in PROGRAMS} | {
    name: kind_of_driver(name) for name in DRIVERS
}
"""By their names, which are the levels of the factor `client`."""


def kind_of(name: str) -> ClientKind:
    """The load client of that name.

    A study can name a listed one alone (`factors.check_level`). One of another name is a driver: it was
    measured elsewhere, from a folder of drivers that this machine has not, or has left the list since.
    """
    return KINDS.get(name) or kind_of_driver(name)


def client_words(client: Level) -> str:
    """What a load client is called: "the engine", "mysqlslap 8.0.33", "Connector/J 8.0.16"."""
    return kind_of(str(client)).words
