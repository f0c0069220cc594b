"""An external server: used with care in a schema of its own, and left as it was found.

Nothing but an ordinary account is needed. The laboratory works in the schema that the URL names, else in
`tlstax`, which is created if the account may do so and dropped at the end if it was created. In it there
are the tables that the workloads need, `tlstax_sbtest1` above all, known as ours by their comment.
A named lock (GET_LOCK) keeps a second
tlstax out of the same schema; the server releases it when the connection that holds it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from tlstax.contract import Account, TcpEndpoint
from tlstax.guests import connection as guest_connection
from tlstax.guests import refusals as guest_refusals
from tlstax.guests.access import GuestAccess
from tlstax.guests.leaving import leaving
from tlstax.guests.made import RECORD, Made, StatementRefused, Warn
from tlstax.guests.tls import GuestTls
from tlstax.mysql import schema, schema_objects, server_facts, session, table, tls_facts
from tlstax.mysql.database import Database, SqlError, TableContent
from tlstax.mysql.schema_lock import JUST_ENDED_S, SchemaLock
from tlstax.records.trial import Specimen
from tlstax.study.workloads import KEPT, TABLES, Shape
from tlstax.support.errors import Interrupted, MachineFault, TlstaxError, UserMistake
from tlstax.support.text import enumerated

OWN_SCHEMA = "tlstax"
GUEST_TABLES: Mapping[Shape, str] = {shape: f"tlstax_{name}" for shape, name in TABLES.items()}
"""Names that nobody else would give a table."""

OUR_TABLES = tuple(name + ending for name in GUEST_TABLES.values() for ending in ("", KEPT))
OWN_SCHEMA_COMMENT = f"{table.COMMENT} load table, in a schema that tlstax created"
LENT_SCHEMA_COMMENT = f"{table.COMMENT} load table"

CONNECTIONS_OF_OUR_OWN = 2
"""The connection that holds the lock, and one for the laboratory's questions."""

CLEAN_UP_TIMEOUT_S, LOCKED_AT_MOST_S = 60.0, 30
"""How long the server may take over one step of leaving, and how long that may wait for another's statement.

The second is the shorter, or a DROP that was given up here would be carried out there later.
"""

IDLE_S = 7 * 24 * 3600
"""How long our own connection may be silent; a server's wait_timeout may be shorter than a trial."""


NAMED_AT_MOST = 5


def _unsaid(_: str) -> None:
    """Nobody listens."""


class GuestServer:
    """A `Server` elsewhere; open one with `open`. Its `with` block ends by dropping what was created."""

    def __init__(self, access: GuestAccess, database: Database, warn: Warn) -> None:
        self._access, self._database, self._warn = access, database, warn
        self._schema = access.address.schema or OWN_SCHEMA
        self._schema_is_ours = self._is_left = self._is_anothers = False
        self._lock = SchemaLock(self._schema)
        self._made = Made(self._schema, warn)
        self._facts = tls_facts.read(database)
        self._version = server_facts.version(database)

    @classmethod
    def open(cls, access: GuestAccess, warn: Warn = _unsaid) -> Self:
        """Log in, settle in the schema, and see that nothing of another's is in the way.

        `warn` gets what the user should know although the work goes on: above all, what has to be left.
        UserMistake or MachineFault when it is not possible; nothing is left behind then.
        """
        database = guest_connection.connect(access, access.address.schema)
        try:
            with _reported(access):
                server = cls(access, database, warn)
                server._take_the_lock()
        except BaseException:
            guest_connection.close(database)
            raise
        try:
            with _reported(access):
                server._settle_in()
        except BaseException as error:
            server.__exit__(type(error), error, None)
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
        """The server's own word for its TLS library; None where it does not report it."""
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
        with _reported(self._access):
            name = GUEST_TABLES[content.shape]
            self._made.fills(name)
            return table.prepare(self._database, name, content, comment=self._comment(), progress=progress)

    def carry_out(self, database: Database, statement: str, *, once: bool) -> None:
        """Carry out a statement of the user's; what it creates is dropped at the end.

        What else appears meanwhile is named and left, where the statement is carried out `once`.
        """
        try:
            with _reported(self._access):
                before = schema_objects.listed(self._database, self._schema) if once else set()
                self._made.carry_out(self._database, database, statement)
                after = schema_objects.listed(self._database, self._schema) if once else set()
        except StatementRefused as refused:
            raise refused.error from refused
        known = {str(thing) for thing in self._made.known()}
        appeared = sorted(after - before - known)
        if appeared:
            self._warn(
                f"while a workload was prepared, objects appeared in {self._schema} that tlstax did not make "
                f"and does not drop: {_named(appeared)}"
            )

    def hold(self) -> None:
        """See that the schema is still ours alone; a connection that was cut is made again.

        MachineFault where another tlstax has had it meanwhile, or the server does not answer.
        """
        guest_connection.wait_at_most(self._database, CLEAN_UP_TIMEOUT_S)
        try:
            if self._lock.is_held(self._database):
                return
        except SqlError:
            pass
        guest_connection.close(self._database)
        try:
            with _reported(self._access):
                self._return()
        except UserMistake as error:
            raise MachineFault(error.message, remedy=error.remedy) from error

    def check_connections(self, wanted: int) -> None:
        """UserMistake when the server or the account is allowed fewer connections than are wanted."""
        with _reported(self._access):
            limit, per_user, in_use = server_facts.connection_limits(self._database)
        free = limit - in_use - (CONNECTIONS_OF_OUR_OWN - 1)
        if wanted > free:
            raise UserMistake(
                f"{wanted} connections were asked for, and {self._access.address} has {max(free, 0)} free "
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
        """Nothing happens: an external server is not ours to stop."""

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
        """Drop what was made, and the schema if it is ours and holds nothing else. May be called twice.

        MachineFault, which names what remains, when the server is gone or does not let us.
        """
        if self._is_left or self._is_anothers:
            return
        self._is_left = True
        try:
            with leaving(f"dropping what it made at {self._access.address}"), _reported(self._access):
                self.hold()
                self._clean_up()
        except TlstaxError as error:
            if self._is_anothers or not self._remains():
                raise
            raise self._left_behind(error) from error
        except Interrupted:
            if remains := self._remains():
                self._warn(remains)
            raise
        finally:
            guest_connection.close(self._database)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clean up; where the block failed, its own error is the one that ends it, and this is a warning."""
        try:
            self.stop()
        except TlstaxError as fault:
            if error is None:
                raise
            if self._is_anothers or self._remains():
                self._warn(fault.sentence())

    def _left_behind(self, error: TlstaxError) -> MachineFault:
        """That what was made remains, because of this."""
        one = " remains at " in self._remains()
        return MachineFault(
            f"{error.message}, so {self._remains()}", remedy="drop it" if one else "drop them"
        )

    def _remains(self) -> str:
        """What is not known to be gone; empty where all is."""
        names = [f"{self._schema}.{name}" for name in self._made.remaining()]
        if self._schema_is_ours:
            names.append(f"the schema {self._schema}")
        verb = "remains" if len(names) == 1 else "remain"
        return f"{enumerated(names)} {verb} at {self._access.address}" if names else ""

    def _take_the_lock(self) -> None:
        if not self._lock.take(self._database, JUST_ENDED_S):
            raise UserMistake(
                f"another tlstax is at work in the schema {self._schema} at {self._access.address}",
                remedy="wait for it to end, or name another schema in the URL",
            )

    def _settle_in(self) -> None:
        """Everything here happens under the lock, the making of the schema too."""
        if self._access.address.schema is None:
            self._schema_is_ours = schema.create(self._database, OWN_SCHEMA)
            schema.use(self._database, OWN_SCHEMA)
        session.set_patience(self._database, IDLE_S, LOCKED_AT_MOST_S)
        for name in (*OUR_TABLES, RECORD):
            if table.exists(self._database, name):
                table.check_ours(self._database, name)
                left_over = table.comment_of(self._database, name) == OWN_SCHEMA_COMMENT
                self._schema_is_ours = self._schema_is_ours or left_over
        self._made.begin(self._database, self._comment())

    def _comment(self) -> str:
        return OWN_SCHEMA_COMMENT if self._schema_is_ours else LENT_SCHEMA_COMMENT

    def _return(self) -> None:
        """Log in once more, and see that nobody else has settled in since the connection was cut."""
        self._database = guest_connection.connect(self._access, self._schema)
        session.set_patience(self._database, IDLE_S, LOCKED_AT_MOST_S)
        guest_connection.wait_at_most(self._database, CLEAN_UP_TIMEOUT_S)
        if not (self._made.is_on_record(self._database) and self._lock.take_again(self._database)):
            self._is_anothers = True
            guest_connection.close(self._database)
            raise MachineFault(
                f"the connection that kept others out of the schema {self._schema} at {self._access.address} "
                "was cut, and another tlstax has used the schema since",
                remedy="start again when that one has ended; what is there is left to it",
            )

    def _clean_up(self) -> None:
        session.heed_foreign_keys(self._database)
        for words in self._made.leave(self._database, OUR_TABLES):
            self._warn(words)
        if self._schema_is_ours:
            self._drop_schema()

    def _drop_schema(self) -> None:
        objects = schema_objects.listed(self._database, self._schema)
        stays = f"the schema {self._schema} was created by tlstax and stays there, because"
        if objects:
            self._warn(f"{stays} it holds what tlstax did not make: {_named(sorted(objects))}")
        elif not schema_objects.sees_all(self._database, self._schema):
            self._warn(
                f"{stays} {self._access.user} is not shown whether others have put routines or events "
                f"into it; drop it if nobody needs it, or grant EVENT and EXECUTE on {self._schema}.* first"
            )
        else:
            schema.drop(self._database, self._schema)
            self._schema_is_ours = False


def _named(things: list[str]) -> str:
    """As many as a sentence holds."""
    more = len(things) - NAMED_AT_MOST
    return ", ".join(things[:NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


@contextmanager
def _reported(access: GuestAccess) -> Iterator[None]:
    """Statements in this block fail in a sentence."""
    try:
        yield
    except SqlError as error:
        raise guest_refusals.fault_of(access, error) from error
