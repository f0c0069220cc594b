"""An external server: used with care in a schema of its own, and left as it was found.

Nothing but an ordinary account is needed. The laboratory works in the schema that the URL names, else in
`tlstax`, which is created if the account may do so and dropped at the end if it was created. In it there
are the tables that the workloads need, `tlstax_sbtest1` above all, known as ours by a signed comment
(`made.py`). A lock of the server's (GET_LOCK, or an advisory one) keeps a second tlstax out of the same
schema; the server releases it when the connection that holds it ends. On the other nodes of a cluster the
record's newest row does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Self, TypeGuard

from tlstax.contract import Account, Endpoint
from tlstax.external import conditions, made, workload_guard
from tlstax.external import connection as external_connection
from tlstax.external import failures as external_failures
from tlstax.external.access import ExternalAccess
from tlstax.external.conditions import READS_ONLY, Intent
from tlstax.external.made import Made, Ownership, StatementRefused, Warn
from tlstax.external.near import Near, near
from tlstax.external.reading import Place
from tlstax.external.tls import ExternalTls
from tlstax.plan.elsewhere import Room
from tlstax.products.external import external_product
from tlstax.products.product import Product, product_named
from tlstax.records.trial import Specimen
from tlstax.specimens.server import Server
from tlstax.sql.database import Database, GuardedDatabase, SqlError
from tlstax.sql.ownership import several
from tlstax.sql.table_rows import TableContent
from tlstax.study.product import Family, product_of
from tlstax.study.workloads import KEPT, TABLES, Shape
from tlstax.study.workloads.user_defined import UserWorkload
from tlstax.support.errors import Interrupted, MachineFault, TlstaxError, UserMistake
from tlstax.support.interruption import leaving
from tlstax.support.text import enumerated

OWN_SCHEMA = "tlstax"
EXTERNAL_TABLES: Mapping[Shape, str] = {shape: f"tlstax_{name}" for shape, name in TABLES.items()}
"""Names that nobody else would give a table."""

OUR_TABLES = tuple(name + ending for name in EXTERNAL_TABLES.values() for ending in ("", KEPT))
GONE_WITHIN_S, LOOK_AGAIN_S = 2.0, 0.001
"""How long a server may take to be done with closed connections, and how often that is looked for."""

CLEAN_UP_TIMEOUT_S, LOCKED_AT_MOST_S = 60.0, 30
"""How long the server may take over one step of leaving, and how long that may wait for another's statement.

The second is the shorter, or a DROP that was given up here would be carried out there later.
"""

ROLE_LIMIT = "the CONNECTION LIMIT of the role or the database"
"""What keeps an account's connections few in PostgreSQL ("CREATE ROLE")."""


def tables_in(family: Family, schema: str) -> dict[Shape, str]:
    """What load clients call the table of each shape in this schema of a server of the family."""
    in_schema = external_product(family).schema.in_schema
    return {shape: in_schema(schema, name) for shape, name in EXTERNAL_TABLES.items()}


def _unsaid(_: str) -> None:
    """Nobody listens."""


class ExternalServer(Server):
    """A `Server` elsewhere; open one with `open`. Its `with` block ends by dropping what was created."""

    def __init__(
        self, access: ExternalAccess, database: GuardedDatabase, warn: Warn, key: bytes, *, makes: bool
    ) -> None:
        self._access, self._database, self._warn, self._makes = access, database, warn, makes
        self._of = external_product(access.product)
        named = access.address.schema
        self._schema = self._of.schema.own_name(database, named) if named else OWN_SCHEMA
        self._schema_is_ours = self._is_left = self._is_anothers = False
        self._strangers: frozenset[int] = frozenset()
        self._near: Near | None = None
        self._lock = self._of.session.SchemaLock(self._schema)
        identity = self._of.server_facts.identity(database)
        is_in_database = access.product == "postgresql"
        place = (access.database, self._schema) if is_in_database else (self._schema,)
        self._owner = Ownership(key, identity.data, *place)
        self._made = Made(self._of, self._schema, self._owner, identity.node, warn)
        self._facts = self._of.server_tls.facts(database)
        self._version = self._of.server_facts.version(database)

    @classmethod
    def open(cls, access: ExternalAccess, warn: Warn = _unsaid, intent: Intent = READS_ONLY) -> Self:
        """Log in, settle in the schema, and see that nothing of another's is in the way.

        `intent` is what the run does there; where it makes nothing, nothing is, and no schema is needed.
        `warn` gets what the user should know although the work goes on: above all, what has to be left.
        UserMistake or MachineFault when it is not possible, NothingMayBeMade where the server lets nothing be
        made; nothing is left behind then.
        """
        key = made.key()
        database = _connect(access, access.address.schema)
        try:
            with _reported(access):
                server = cls(access, database, warn, key, makes=intent.makes)
                conditions.check(database, access, server._schema, intent)
                server._take_the_lock()
        except BaseException as error:
            external_connection.close(database)
            if _is_forbidden(error, access):
                raise conditions.NothingMayBeMade(error.message, remedy=error.remedy) from error
            raise
        try:
            with _reported(access):
                if intent.makes:
                    server._settle_in()
        except BaseException as error:
            server.__exit__(type(error), error, None)
            if _is_forbidden(error, access):
                raise conditions.NothingMayBeMade(error.message, remedy=error.remedy) from error
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
    def product(self) -> Product:
        """Which product it is, by its own word, and by which modules it is asked."""
        return product_named(product_of(self._version))

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
        database = self._works_in if self._of.name == "mysql" else self._access.database
        return Account(user=self._access.user, password=self._access.password, database=database)

    @property
    def _works_in(self) -> str | None:
        """The schema that connections work in; None where there need not be one."""
        return self._schema if self._makes else self._access.address.schema

    @property
    def tables(self) -> Mapping[Shape, str]:
        """What the table of each shape is called."""
        return tables_in(self._access.product, self._schema)

    @property
    def tls(self) -> ExternalTls:
        """How the user wants TLS to be used, for load clients that are to verify or to show a certificate."""
        return self._access.tls

    @property
    def ca_file(self) -> str | None:
        """The authority that the user named, if verification was asked for."""
        return self._access.tls.ca_file

    @property
    def is_external(self) -> bool:
        """It is one that tlstax did not start."""
        return True

    @property
    def watched_pid(self) -> int | None:
        """Its process, where `near` found it within reach."""
        return self._near.pid if self._near is not None else None

    def know_account(self) -> None:
        """Log in over TLS, so that it needs no more than a challenge's answer from a client in the clear.

        With caching_sha2_password it keeps a hash of the password from any login in which it saw the whole of
        it, until FLUSH PRIVILEGES or a restart (reference manual, "Caching SHA-2 Pluggable Authentication").
        Where this login fails, the load client's own is what is reported.
        """
        self.is_alive()

    def settled_status(self, database: Database, expected: int) -> dict[str, int]:  # noqa: ARG002
        """Its counters: others come and go, and are not waited for."""
        return self._of.status.read_status(database)

    def endpoint(self) -> Endpoint:
        """The host and port of the URL, or its socket."""
        return self._access.address.endpoint

    def admin(self) -> GuardedDatabase:
        """A new connection of the user's account in the schema, with autocommit; the caller closes it."""
        return _connect(self._access, self._works_in)

    def prepare_table(self, content: TableContent, progress: Callable[[str], None] | None = None) -> int:
        """Make the table, or reuse an equal one of ours; its row count."""
        with _reported(self._access):
            name, made = EXTERNAL_TABLES[content.shape], self._made
            return self._of.table.prepare(
                self._database,
                self.tables[content.shape],
                content,
                mark=made.fills(name),
                progress=progress,
                between=lambda: made.renew(self._database),
            )

    def keep_copy(self, database: Database, shape: Shape) -> None:
        """Have a copy of this table beside it, which is dropped at the end."""
        name = EXTERNAL_TABLES[shape]
        self._of.table.keep_copy(database, self.tables[shape], shape, self._made.fills(name + KEPT))

    def carry_out(self, database: Database, statement: str, *, once: bool) -> None:
        """Carry out a statement of the user's; what it creates is dropped at the end.

        What else appears meanwhile is named and left, where the statement is carried out `once`.
        """
        try:
            with _reported(self._access):
                before = self._of.schema.listed(self._database, self._schema) if once else set()
                place: Place = "prepare" if once else "restore"
                self._made.carry_out(self._database, database, statement, place)
                after = self._of.schema.listed(self._database, self._schema) if once else set()
        except StatementRefused as refused:
            raise refused.error from refused
        known = {str(thing) for thing in self._made.known()}
        appeared = sorted(after - before - known)
        if appeared:
            self._warn(
                f"while a workload was prepared, objects appeared in {self._schema} that tlstax did not make "
                f"and does not drop: {several(appeared)}"
            )

    def check_workload(self, own: UserWorkload) -> None:
        """UserMistake where what load clients will say reaches an object that is not this run's."""
        with _reported(self._access):
            for place, written, sql in workload_guard.statements(own, self.tables[own.table]):
                if place in {"on_connect", "transactions"}:
                    look = partial(self._made.check, self._database, sql, place)
                    workload_guard.with_words(own, place, written, look)

    def hold(self) -> None:
        """See that the schema and what is in it are still ours; a connection that was cut is made again.

        MachineFault where another tlstax has had it meanwhile, another table stands in the place of one of
        ours, or the server does not answer.
        """
        self._hold()
        if self._makes:
            with _reported(self._access):
                self._made.check_load_tables(self._database)

    def _hold(self) -> None:
        self._database.wait_at_most(CLEAN_UP_TIMEOUT_S)
        try:
            if self._lock.is_held(self._database):
                self._stay()
                return
        except SqlError:
            pass
        external_connection.close(self._database)
        try:
            with _reported(self._access):
                self._return()
        except UserMistake as error:
            raise MachineFault(error.message, remedy=error.remedy) from error

    def near(self) -> Near | None:
        """Its process, where it runs on this machine, which is watched from then on; None elsewhere."""
        self._near = near(self._database)
        return self._near

    def no_plaintext(self) -> UserMistake | None:
        """That nobody logs in here in the clear, with a remedy; None where this account may."""
        with _reported(self._access):
            return conditions.no_plaintext(self._database, self._access)

    def room(self, asked: int | None = None) -> Room:
        """How many connections the server has free; `asked` is how many the user allows a run."""
        with _reported(self._access):
            limits = self._of.server_facts.connection_limits(self._database)
        called = {"limit_of_account": ROLE_LIMIT} if self._access.product == "postgresql" else {}
        # One of those in use is this one.
        return Room(
            max_connections=limits.max_connections,
            in_use=max(0, limits.in_use - 1),
            of_account=limits.max_user_connections or None,
            by_account=max(0, limits.by_account - 1),
            asked=asked,
            server=str(self._access.address),
            **called,
        )

    def connected(self) -> frozenset[int]:
        """The account's connections that the server has now, by its numbers; none where it does not say."""
        self._database.wait_at_most(external_connection.CONNECT_TIMEOUT_S)
        try:
            return self._of.session.of_account(self._database)
        except SqlError:
            return frozenset()
        finally:
            self._database.wait_at_most(external_connection.STATEMENT_TIMEOUT_S)

    def wait_until_gone(self, stays: frozenset[int]) -> None:
        """Wait until the server is done with all of the account's connections but these.

        Whoever else uses the account may have come meanwhile and stay: they are known after `GONE_WITHIN_S`,
        and waited for no more.
        """
        self._wait_while(lambda: self.connected() - stays)

    def _wait_while(self, there: Callable[[], frozenset[int]]) -> None:
        deadline = time.monotonic() + GONE_WITHIN_S
        while left := there() - self._strangers:
            if time.monotonic() > deadline:
                self._strangers |= left
            time.sleep(LOOK_AGAIN_S)

    def is_alive(self) -> bool:
        """Whether a login succeeds; it is gone from the server when that is known."""
        try:
            database = self.admin()
        except TlstaxError:
            return False
        own = frozenset({database.number})
        external_connection.close(database)
        self._wait_while(lambda: self.connected() & own)
        return True

    def recover(self, deaths: int, say: Callable[[str], None]) -> Database:  # noqa: ARG002
        """A new connection after it answered no login.

        The fault says why there is none: the user's where it refuses the account, and otherwise the server's.
        """
        try:
            return self.admin()
        except TlstaxError as fault:
            kind = type(fault) if isinstance(fault.__cause__, SqlError) else MachineFault
            raise kind(
                f"{self.specimen.name} no longer lets the run in: {fault.message}", remedy=fault.remedy
            ) from fault

    def stop(self) -> None:
        """Drop what was made, and the schema if it is ours and holds nothing else. May be called twice.

        MachineFault, which names what remains, when the server is gone or does not let us.
        """
        if self._is_left or self._is_anothers:
            return
        self._is_left = True
        if not self._makes:
            external_connection.close(self._database)
            return
        try:
            with leaving(f"dropping what it made at {self._access.address}"), _reported(self._access):
                self._hold()
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
            external_connection.close(self._database)

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
        if not self._lock.take(self._database, self._of.session.JUST_ENDED_S):
            raise UserMistake(
                f"another tlstax is at work in the schema {self._schema} at {self._access.address}",
                remedy="wait for it to end, or name another schema in the URL",
            )

    def _settle_in(self) -> None:
        """Everything here happens under the lock, the making of the schema too."""
        if self._access.address.schema is None:
            self._make_schema()
            self._of.schema.use(self._database, OWN_SCHEMA)
        self._be_patient()
        named = self._access.address.schema is not None
        self._made.begin(self._database, OUR_TABLES, named=named)

    def _be_patient(self) -> None:
        session = self._of.session
        session.set_patience(self._database, session.IDLE_S, LOCKED_AT_MOST_S)

    def _make_schema(self) -> None:
        """Create our own schema, or find out whether the one that is there is what a killed run created.

        The claim is on our disk before the schema is created, and says afterwards that it was. A server that
        keeps comments of schemas (MariaDB) has a signed one in the same statement, and that decides. Others
        leave a moment after which only "intended" is known: then the schema may be anybody's, and is named.
        """
        database, claim, schema = self._database, self._owner.claim(), self._of.schema
        before, comment = claim.state(), schema.comment_of(database, OWN_SCHEMA)
        if not schema.exists(database, OWN_SCHEMA):
            claim.write("intended")
            words = None
            if comment is not None:
                words = self._owner.comment("SCHEMA", OWN_SCHEMA, "schema")
            # Before it is created: whoever interrupts this finds it to be ours.
            self._schema_is_ours = True
            try:
                self._schema_is_ours = schema.create(database, OWN_SCHEMA, words)
            except SqlError as error:
                if not error.is_of_connection:
                    self._schema_is_ours = False
                    claim.remove()
                raise
            if self._schema_is_ours:
                claim.write("created")
        elif before != "none" and comment is not None:
            self._schema_is_ours = self._owner.owns("SCHEMA", OWN_SCHEMA, comment)
        else:
            self._schema_is_ours = before == "created"
            if before == "intended" and not schema.why_kept(database, OWN_SCHEMA, self._access.user):
                self._warn(
                    f"a run that was killed may have created the schema {OWN_SCHEMA}; that is not certain, "
                    f"so it stays there; if nobody needs it: {schema.drop_statement(OWN_SCHEMA)};"
                )
                return
        if not self._schema_is_ours:
            claim.remove()

    def _stay(self) -> None:
        """Under the lock: see that no other node of a cluster has let another tlstax in, and stay."""
        if self._made.has_begun:
            is_ours = self._made.is_on_record(self._database)
            if is_ours is False:
                raise self._lost()
            if is_ours:
                self._made.renew(self._database)

    def _return(self) -> None:
        """Log in once more, and see that nobody else has settled in since the connection was cut."""
        self._database = _connect(self._access, self._schema if self._made.has_begun else None)
        self._be_patient()
        self._database.wait_at_most(CLEAN_UP_TIMEOUT_S)
        is_ours = not self._made.has_begun or self._made.is_on_record(self._database)
        if not (is_ours and self._lock.take_again(self._database)):
            raise self._lost()
        if self._made.has_begun:
            self._made.renew(self._database, self._of.server_facts.identity(self._database).node)

    def _lost(self) -> MachineFault:
        self._is_anothers = True
        external_connection.close(self._database)
        return MachineFault(
            f"the connection that kept others out of the schema {self._schema} at {self._access.address} "
            "was cut, and another tlstax has used the schema since",
            remedy="start again when that one has ended; what is there is left to it",
        )

    def _clean_up(self) -> None:
        self._of.session.heed_foreign_keys(self._database)
        for words in self._made.leave(self._database, OUR_TABLES):
            self._warn(words)
        if self._schema_is_ours:
            self._drop_schema()

    def _drop_schema(self) -> None:
        """Drop it only where it holds nothing of any kind that this server has; else it is the user's."""
        database, schema = self._database, self._of.schema
        if not schema.exists(database, self._schema):
            pass
        elif why := schema.why_kept(database, self._schema, self._access.user):
            self._warn(
                f"the schema {self._schema} was created by tlstax and stays there, because {why}; "
                f"if nobody needs it: {schema.drop_statement(self._schema)};"
            )
        else:
            schema.drop(database, self._schema)
        self._owner.claim().remove()
        self._schema_is_ours = False


def _is_forbidden(error: BaseException, access: ExternalAccess) -> TypeGuard[UserMistake]:
    """Whether the server let nothing be made: it is read-only, or the account has not the right."""
    cause, means = error.__cause__, external_product(access.product).database
    return (
        isinstance(error, UserMistake)
        and isinstance(cause, SqlError)
        and (cause.code in means.NOT_ALLOWED or cause.code in means.READ_ONLY)
    )


def _connect(access: ExternalAccess, name: str | None) -> GuardedDatabase:
    """Log in; the server lets nothing be dropped there that tables of others refer to."""
    database = external_connection.connect(access, name)
    try:
        with _reported(access):
            external_product(access.product).session.heed_foreign_keys(database)
    except BaseException:
        external_connection.close(database)
        raise
    return database


@contextmanager
def _reported(access: ExternalAccess) -> Iterator[None]:
    """Statements in this block fail in a sentence."""
    try:
        yield
    except SqlError as error:
        raise external_failures.of_refusal(access, error) from error
