"""What a product answers, module by module, and which product a server is.

The modules of a product's room have the same names and functions as those of any other, so whoever calls them
need not know whose they are. A room is imported when its product is asked for.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from tlstax.contract import Account, StreamTerms, TcpEndpoint
from tlstax.records.trial import ConnectionsSeen
from tlstax.sql.answering import Answering, Listener
from tlstax.sql.credentials import Credentials
from tlstax.sql.database import Database
from tlstax.sql.facts import ConnectionLimits, Identity, Terms, TlsFacts, Traffic
from tlstax.sql.tables import Tables
from tlstax.study.client_kinds import Copied
from tlstax.study.product import ProductName

Codes = frozenset[int] | frozenset[str]
"""The codes of errors that mean the same."""


class Databases(Protocol):
    """Connections, and what the codes of their errors mean."""

    def log_in_over_socket(self, socket_path: Path, account: Account) -> Database:
        """A connection with autocommit over a Unix socket. Raises SqlError."""
        ...

    def try_login_over_tls(self, endpoint: TcpEndpoint, account: Account, context: ssl.SSLContext) -> None:
        """Log in over TLS and leave at once. Raises SqlError."""
        ...

    @property
    def ACCESS_DENIED(self) -> Codes:  # noqa: N802 (a constant of the module, as the others)
        """The server lets the account not in."""
        ...

    @property
    def TABLE_EXISTS(self) -> Codes:  # noqa: N802
        """There is a table of the name already."""
        ...

    @property
    def PARSE_ERROR(self) -> Codes:  # noqa: N802
        """The server does not understand the statement."""
        ...

    @property
    def NOT_ALLOWED(self) -> Codes:  # noqa: N802
        """The account lacks the right."""
        ...

    @property
    def READ_ONLY(self) -> Codes:  # noqa: N802
        """Nothing can be changed there."""
        ...


class Status(Protocol):
    """The server's own counters, by the product's names of them. All but `connected` and its like ask it."""

    def read_status(self, connection: Database) -> dict[str, int]:
        """Every counter, but for those that reading them changes. Raises MachineFault."""
        ...

    def read_settled_status(self, connection: Database, expected: int) -> dict[str, int]:
        """The same, once no more than `expected` connections are left and what they counted is in it."""
        ...

    def connected(self, counters: Mapping[str, int]) -> int:
        """How many connections were open; 0 where the server does not report it."""
        ...

    def sessions_resumed(self, before: Mapping[str, int], after: Mapping[str, int]) -> int:
        """How many TLS sessions the server resumed between two readings."""
        ...

    @property
    def COUNTS_AT_ONCE(self) -> bool:  # noqa: N802 (a constant of the module)
        """Whether `traffic` has each statement when it is over, and not only when its session ends."""
        ...

    def traffic(self, connection: Database) -> Traffic:
        """How many statements the server has had of everybody. Raises MachineFault."""
        ...


class ServerFacts(Protocol):
    """What a server reports of itself. Functions raise SqlError unless they say otherwise."""

    def version_and_limit(self, database: Database) -> tuple[str, int]:
        """The version, and how many connections the server accepts at most."""
        ...

    def version(self, database: Database) -> str:
        """The version."""
        ...

    def identity(self, database: Database) -> Identity:
        """Which server this is, and of which cluster."""
        ...

    def answering(self, database: Database, listener: Listener | None) -> Answering:
        """Who answers on this connection; `listener` is the socket that its clients are sent to."""
        ...

    def connection_limits(self, database: Database) -> ConnectionLimits:
        """How many connections the server and this account may have, and how many there are."""
        ...

    def requires_tls(self, database: Database) -> bool | None:
        """Whether connections in the clear are refused; None where that cannot be known."""
        ...

    def lets_in_clear(self, database: Database) -> bool | None:
        """Whether pg_hba.conf lets this account in from here in the clear; None where that is not told."""
        ...

    def costly_settings(self, database: Database) -> tuple[str, ...]:
        """What is set by which connections take longer, or more are made, such as "log_hostname = on"."""
        ...

    def admission(self, database: Database) -> tuple[str, ...]:
        """How pg_hba.conf lets clients in over TCP, such as "host md5"; empty where it is not told."""
        ...

    def password_encryption(self, database: Database) -> str | None:
        """By what passwords are kept that are set from now on; None where the server does not say."""
        ...

    def most_connect_errors(self, database: Database) -> int | None:
        """After how many broken connects in a row the server blocks a host; None where it does not say."""
        ...

    def most_used_connections(self, database: Database) -> int | None:
        """How many connections there have been at once, as far as it remembers; None where it does not."""
        ...

    def as_kept(self, database: Database, name: str) -> str:
        """A table's name as the server keeps it."""
        ...

    def variables(self, database: Database, names: Sequence[str]) -> dict[str, str]:
        """What these settings are, as far as the server has them."""
        ...

    def account_plugins(self, database: Database) -> tuple[str, ...]:
        """By what an account can be proved there."""
        ...

    def compressions(self, database: Database) -> tuple[str, ...]:
        """The levels of `compression` that the server agrees on, "off" first."""
        ...

    def durability(self, admin: Database) -> str:
        """The level of `durability` in force, or the settings where it is none. Raises MachineFault."""
        ...

    def set_durability(self, admin: Database, wanted: str) -> None:
        """Have it as a level says, or as `durability` has told. Raises MachineFault."""
        ...


class ServerTls(Protocol):
    """TLS at a running server. Functions raise MachineFault unless they say otherwise."""

    @property
    def NO_TLS(self) -> str:  # noqa: N802 (a constant of the module)
        """The versions that leave a server no TLS."""
        ...

    def facts(self, database: Database) -> TlsFacts:
        """What the server says of it. Raises SqlError."""
        ...

    def offers_tls(self, database: Database) -> bool:
        """Whether who connects as this connection did is offered TLS."""
        ...

    def can_switch(self, admin: Database) -> bool:
        """Whether it can be changed while the server runs."""
        ...

    def accepted_versions(self, admin: Database) -> str:
        """The versions that the server is configured to accept."""
        ...

    def session_versions(self, admin: Database) -> str:
        """The same, as a session sees them; empty where nothing is reported. Raises SqlError."""
        ...

    def accept(self, admin: Database, wanted: str) -> None:
        """Accept these versions from new connections on; `NO_TLS` for none at all."""
        ...

    def certificate_reload(self, server_version: str) -> str:
        """The statement by which a server of this version reads its certificate's files again."""
        ...


class Accounts(Protocol):
    """The accounts of a private server. Functions that ask it raise SqlError."""

    @property
    def ADMINISTRATOR(self) -> str:  # noqa: N802 (a constant of the module)
        """The laboratory's own, over the Unix socket."""
        ...

    @property
    def LOAD_USER(self) -> str:  # noqa: N802
        """That of the load clients."""
        ...

    @property
    def LOAD_USER_BY_CERTIFICATE(self) -> str:  # noqa: N802
        """That of load clients which must show a certificate."""
        ...

    @property
    def SCHEMA(self) -> str:  # noqa: N802
        """What the load's tables are in, as a client names it at login."""
        ...

    @property
    def REMEMBERED(self) -> frozenset[str]:  # noqa: N802
        """By which plugins later logins are shorter than the first."""
        ...

    def user_by_plugin(self, plugin: str) -> str:
        """The load account that is proved by this plugin."""
        ...

    def statements(self, credentials: Credentials) -> list[str]:
        """What makes the accounts before the first login."""
        ...

    def make_by_plugin(self, admin: Database, plugin: str, password: str) -> None:
        """Make the load account that is proved by this plugin."""
        ...

    def let_it_see_connections(self, admin: Database) -> None:
        """Give the load account what an inspection reads of those that are connected."""
        ...

    def make_by_certificate(self, admin: Database, password: str) -> None:
        """Make the load account that demands a client certificate."""
        ...

    def terms(self, database: Database) -> Terms:
        """What this connection's account is bound to, as far as the server tells."""
        ...

    def kept_secrets(self, admin: Database) -> dict[str, str]:
        """What the server keeps of the load account's password, by account: a pooler logs in with it."""
        ...

    def demands_certificate(self, admin: Database, user: str) -> bool | None:
        """Whether this account is let in only with a certificate; None where there is none of the name."""
        ...

    def plugin_of_load_account(self, admin: Database) -> str:
        """The plugin by which the load account is proved."""
        ...


class ConnectionLog(Protocol):
    """How connections record themselves at the server (`sql/recorded_connections.py`)."""

    def create(self, admin: Database) -> None:
        """Make the table that they record themselves in. Raises SqlError."""
        ...

    def statement(self, server_version: str) -> str:
        """That by which a connection to a server of this version records itself, once however often said."""
        ...


class Streams(Protocol):
    """What a program that copies all of a server is to get."""

    def terms(self, admin: Database, copied: Copied, table: str, copies: int) -> StreamTerms:
        """What to ask for, and what each of N whole copies holds. Raises SqlError."""
        ...

    def clear(self, admin: Database) -> None:
        """Leave nothing at the server of what was made for earlier copies. Raises SqlError."""
        ...


class LoginLog(Protocol):
    """The server's log, which names each connection that it lets in. What asks raises MachineFault."""

    def begin(self, admin: Database) -> None:
        """Have the server write a line for each login from now on."""
        ...

    def end(self, admin: Database) -> None:
        """Have it write no more of them."""
        ...

    def seen(
        self, lines: Iterable[str], users: Collection[str], application: str | None
    ) -> tuple[ConnectionsSeen, ...]:
        """The logins of these users by clients of this name, None for any, counted by their encryption."""
        ...


@dataclass(frozen=True)
class Product:
    """The modules by which servers of a product are asked.

    `login_log` is None where the server's log says nothing of how a connection is encrypted.
    """

    name: ProductName
    database: Databases
    status: Status
    table: Tables
    server_facts: ServerFacts
    server_tls: ServerTls
    accounts: Accounts
    connection_log: ConnectionLog
    streams: Streams
    login_log: LoginLog | None = None


@cache
def product_named(name: ProductName) -> Product:
    """The product of this name; its room is imported now, if it was not before."""
    return _postgresql(name) if name == "postgresql" else _mysql(name)


def _mysql(name: ProductName) -> Product:
    """MySQL and MariaDB: one protocol, and statements that either understands or that say which is which."""
    from tlstax.mysql import (  # noqa: PLC0415 (others are not imported where this one is measured)
        accounts,
        connection_log,
        database,
        server_facts,
        server_tls,
        status,
        streams,
        table,
    )

    return Product(
        name=name,
        database=database,
        status=status,
        table=table.MYSQL_TABLES,
        server_facts=server_facts,
        server_tls=server_tls,
        accounts=accounts,
        connection_log=connection_log,
        streams=streams,
    )


def _postgresql(name: ProductName) -> Product:
    """PostgreSQL, 10 on."""
    from tlstax.postgres import (  # noqa: PLC0415 (others are not imported where this one is measured)
        accounts,
        connection_log,
        database,
        login_log,
        server_facts,
        server_tls,
        status,
        streams,
        table,
    )

    return Product(
        name=name,
        database=database,
        status=status,
        table=table.POSTGRES_TABLES,
        server_facts=server_facts,
        server_tls=server_tls,
        accounts=accounts,
        connection_log=connection_log,
        streams=streams,
        login_log=login_log,
    )
