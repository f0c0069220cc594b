"""A server that is not ours: used with care in a schema of its own, and left as it was found.

Nothing but an ordinary account is needed. The laboratory works in the schema that the URL names, else in
`tlstax`, which is created if the account may do so and dropped at the end if it was created. In it there
are the tables that the workloads need, `tlstax_sbtest1` above all, known as ours by their comment.
A named lock (GET_LOCK) keeps a second
tlstax out of the same schema; the server releases it when the connection that holds it ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from pymysql.err import MySQLError

from tlstax.contract import Account, TcpEndpoint
from tlstax.errors import MachineFault, TlstaxError, UserMistake
from tlstax.guests import connection as guest_connection
from tlstax.guests import refusals as guest_refusals
from tlstax.guests.access import GuestAccess
from tlstax.guests.tls import GuestTls
from tlstax.records import Specimen
from tlstax.specimens import table, tls_facts
from tlstax.specimens.server import Database, TableContent
from tlstax.workloads import KEPT, TABLES, Shape

OWN_SCHEMA = "tlstax"
GUEST_TABLES: Mapping[Shape, str] = {shape: f"tlstax_{name}" for shape, name in TABLES.items()}
"""Names that nobody else would give a table."""

OUR_TABLES = tuple(name + ending for name in GUEST_TABLES.values() for ending in ("", KEPT))
OWN_SCHEMA_COMMENT = f"{table.COMMENT} load table, in a schema that tlstax created"
LENT_SCHEMA_COMMENT = f"{table.COMMENT} load table"

SCHEMA_EXISTS = 1007
CONNECTIONS_OF_OUR_OWN = 2
"""The connection that holds the lock, and one for the laboratory's questions."""

CLEAN_UP_TIMEOUT_S = 60.0
IDLE_S = 7 * 24 * 3600
"""How long our own connection may be silent; a server's wait_timeout may be shorter than a trial."""


class GuestServer:
    """A `Server` elsewhere; open one with `open`. Its `with` block ends by dropping what was created."""

    def __init__(self, access: GuestAccess, house: Database) -> None:
        self._access = access
        self._house = house
        self._schema = access.address.schema or OWN_SCHEMA
        self._schema_is_ours = False
        self._filled: list[str] = []
        self._adopted: list[str] = []
        self._facts = tls_facts.read(house)
        self._version = str(self._row("SELECT VERSION()")[0])

    @classmethod
    def open(cls, access: GuestAccess) -> Self:
        """Log in, settle in the schema, and see that nothing of another's is in the way.

        UserMistake or MachineFault when that is not possible; nothing is left behind then.
        """
        house = guest_connection.connect(access, access.address.schema)
        try:
            with _told(access):
                server = cls(access, house)
                server._settle_in()
        except BaseException:
            guest_connection.close(house)
            raise
        return server

    @property
    def specimen(self) -> Specimen:
        """The server as it presents itself; where it came from is not known."""
        return Specimen(
            name=str(self._access.address),
            kind="server",
            version=self._version,
            origin=f"a server at {self._access.address}",
            why="asked for by its URL",
        )

    @property
    def version(self) -> str:
        """What SELECT VERSION() says."""
        return self._version

    @property
    def tls_library_version(self) -> str | None:
        """The server's own word for its TLS library; None where it does not tell."""
        return self._facts.library_version

    @property
    def load_account(self) -> Account:
        """The user's own account."""
        return Account(user=self._access.user, password=self._access.password, database=self._schema)

    @property
    def tables(self) -> Mapping[Shape, str]:
        """What the table of each shape is called."""
        return GUEST_TABLES

    @property
    def table_name(self) -> str:
        """The table of sysbench's shape."""
        return GUEST_TABLES["sbtest"]

    @property
    def tls(self) -> GuestTls:
        """How the user wants TLS to be used, for load clients that are to verify or to show a certificate."""
        return self._access.tls

    @property
    def ca_file(self) -> str | None:
        """The authority that the user named, if verification was asked for."""
        return self._access.tls.ca_file

    @property
    def pid(self) -> None:
        """Not ours to watch."""
        return

    def endpoint(self) -> TcpEndpoint:
        """The host and port of the URL."""
        return TcpEndpoint(host=self._access.address.host, port=self._access.address.port)

    def unix_endpoint(self) -> None:
        """None is known."""
        return

    def admin(self) -> Database:
        """A new connection of the user's account in the schema, with autocommit; the caller closes it."""
        return guest_connection.connect(self._access, self._schema)

    def prepare_table(self, content: TableContent, progress: Callable[[str], None] | None = None) -> int:
        """Make the table, or reuse an equal one of ours; its row count."""
        comment = OWN_SCHEMA_COMMENT if self._schema_is_ours else LENT_SCHEMA_COMMENT
        with _told(self._access):
            name = GUEST_TABLES[content.shape]
            self._filled.append(name)
            return table.prepare(self._house, name, content, comment=comment, progress=progress)

    def adopt(self, tables: Iterable[str]) -> None:
        """These tables are dropped at the end, as ours are."""
        self._adopted += tables

    def check_connections(self, wanted: int) -> None:
        """UserMistake when the server or the account is allowed fewer connections than are wanted."""
        with _told(self._access):
            limit, per_user = map(int, self._row("SELECT @@max_connections, @@session.max_user_connections"))
            in_use = int(self._row("SHOW GLOBAL STATUS LIKE 'Threads_connected'")[1])
        free = limit - in_use - (CONNECTIONS_OF_OUR_OWN - 1)
        if wanted > free:
            raise UserMistake(
                f"{wanted} connections were asked for, and {self._access.address} has {max(free, 0)} to give "
                f"(max_connections is {limit}, {in_use} are in use)",
                remedy="ask for fewer, or raise max_connections",
            )
        if per_user and wanted + CONNECTIONS_OF_OUR_OWN > per_user:
            raise UserMistake(
                f"{wanted} connections were asked for, and {self._access.user} is allowed {per_user} at "
                f"{self._access.address}, {CONNECTIONS_OF_OUR_OWN} of which the laboratory needs itself",
                remedy="ask for fewer, or raise the account's max_user_connections",
            )

    def pause(self) -> None:
        """Nothing happens: a guest does not stop its host."""

    def resume(self) -> None:
        """Nothing happens."""

    def is_alive(self) -> bool:
        """Whether a login succeeds."""
        try:
            guest_connection.close(self.admin())
        except TlstaxError:
            return False
        return True

    def log_tail(self, lines: int = 20) -> str:  # noqa: ARG002
        """Empty: its log is not ours to read."""
        return ""

    def stop(self) -> None:
        """Drop our table, and the schema if it is ours and holds nothing else. May be called twice.

        MachineFault, which names what remains, when the server is gone or does not let us.
        """
        if self._house.open:
            try:
                with _told(self._access):
                    self._reconnect_if_cut()
                    self._clean_up()
            except TlstaxError as error:
                raise self._left_behind(error) from error
            finally:
                guest_connection.close(self._house)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clean up; where the block failed, its own error is the one that is told."""
        try:
            self.stop()
        except TlstaxError as fault:
            if error is None:
                raise
            error.add_note(fault.sentence())

    def _left_behind(self, error: TlstaxError) -> MachineFault:
        """That the tables which were filled remain, because of this."""
        names = [f"{self._schema}.{name}" for name in self._filled or [GUEST_TABLES["sbtest"]]]
        one = len(names) == 1
        remain = f"the table {names[0]} remains" if one else f"the tables {', '.join(names)} remain"
        return MachineFault(f"{error.message}, so {remain} there", remedy="drop it" if one else "drop them")

    def _settle_in(self) -> None:
        if self._access.address.schema is None:
            self._schema_is_ours = self._create_schema()
            self._run(f"USE `{OWN_SCHEMA}`")
        self._run("SET SESSION wait_timeout = %s", IDLE_S)
        self._lock()
        for name in OUR_TABLES:
            if table.exists(self._house, name):
                table.check_ours(self._house, name)
                left_over = table.comment_of(self._house, name) == OWN_SCHEMA_COMMENT
                self._schema_is_ours = self._schema_is_ours or left_over

    def _create_schema(self) -> bool:
        """True when it was not there before."""
        try:
            self._run(f"CREATE DATABASE `{OWN_SCHEMA}`")
        except MySQLError as error:
            if error.args[0] == SCHEMA_EXISTS:
                return False
            raise
        return True

    def _lock(self) -> None:
        """One tlstax at a time; the lock's name is short enough for MySQL whatever the schema's is."""
        name = "tlstax-" + hashlib.sha256(self._schema.encode()).hexdigest()[:32]
        if self._row("SELECT GET_LOCK(%s, 0)", name)[0] != 1:
            raise UserMistake(
                f"another tlstax is at work in the schema {self._schema} at {self._access.address}",
                remedy="wait for it to end, or name another schema in the URL",
            )

    def _reconnect_if_cut(self) -> None:
        """The connection may have been cut while trials ran; cleaning up needs one that answers soon."""
        guest_connection.wait_at_most(self._house, CLEAN_UP_TIMEOUT_S)
        try:
            self._house.ping(reconnect=False)
        except MySQLError:
            self._house = guest_connection.connect(self._access, self._schema)
            guest_connection.wait_at_most(self._house, CLEAN_UP_TIMEOUT_S)

    def _clean_up(self) -> None:
        for name in OUR_TABLES:
            if table.exists(self._house, name):
                table.check_ours(self._house, name)
                table.drop(self._house, name)
        if self._adopted:
            # Tables of the user's own may refer to each other, and all of them go.
            self._run("SET SESSION foreign_key_checks = 0")
        for name in self._adopted:
            self._run(f"DROP TABLE IF EXISTS `{name.replace('`', '``')}`")
        if self._schema_is_ours and self._row(
            "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s", self._schema
        ) == (0,):
            self._run(f"DROP DATABASE `{self._schema}`")

    def _run(self, statement: str, *values: object) -> None:
        with self._house.cursor() as cursor:
            cursor.execute(statement, values or None)

    def _row(self, statement: str, *values: object) -> tuple[Any, ...]:
        with self._house.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchone() or ("", 0)


@contextmanager
def _told(access: GuestAccess) -> Iterator[None]:
    """Statements in this block fail in a sentence."""
    try:
        yield
    except MySQLError as error:
        raise guest_refusals.told(access, error) from error
