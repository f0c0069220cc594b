"""What users' SQL does to others at an external PostgreSQL: `sql_postgres.py COUNT SEED [--without-guard]`.

As `sql.py` does it with MySQL and MariaDB: COUNT statements of `sql_postgres_statements.py`, half of them
mutated, in places of a workload. What the guard lets through is carried out by the account that owns the
database, which has things of others: tables, views, functions and operators that write, sequences,
another schema. After each, the catalogues, the rows of others and their sequences must be as before and no
row of others locked; at the end nothing new may be there. What was lost is printed, and makes the status 1.
With `--without-guard` all is carried out: then much must be lost.
"""

# ruff: noqa: S608 - every name is our own
from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pg8000 import native
from pg8000.exceptions import DatabaseError, InterfaceError
from sql import BATCH, PLACES, Tally, as_sent, workload_with
from sql_postgres_statements import HARMLESS, mutation, statement

from tlstax.external import access as external_access
from tlstax.external.access import AccessOptions, ExternalAccess
from tlstax.external.reading import Place
from tlstax.external.server import EXTERNAL_TABLES, ExternalServer
from tlstax.external.workload_guard import check_workloads
from tlstax.postgres import accounts
from tlstax.postgres.database import PostgresDatabase
from tlstax.products.external import external_product
from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.database import Database, SqlError
from tlstax.sql.table_rows import TableContent
from tlstax.support.errors import MachineFault, UserMistake

PRODUCT, PASSWORD, TABLE = "postgresql-18", "Sesame, open!", "lent." + EXTERNAL_TABLES["sbtest"]
PATIENCE_MS: Final = 5_000
FAILURES = (DatabaseError, InterfaceError, OSError, UnicodeError, ValueError)

PREPARE = (
    "CREATE TABLE lent.mine (id int PRIMARY KEY, note varchar(200))",
    "INSERT INTO lent.mine VALUES (1, 'a'), (2, 'b')",
    "CREATE TABLE lent.mine2 (id int PRIMARY KEY, note varchar(200))",
)
_WRITES = "LANGUAGE sql AS $$ UPDATE lent.their_log SET at_all = at_all + 1 RETURNING"
OPERATORS = ("lent.~~", "lent.~~*", "lent.!~~", "lent.>=", "lent.<>")
THEIRS = (
    "CREATE SCHEMA lent", "CREATE SCHEMA other",
    "CREATE TYPE lent.their_kind AS (a int)",
    "CREATE TABLE lent.theirs (id int PRIMARY KEY, note varchar(200), kind lent.their_kind)",
    "INSERT INTO lent.theirs VALUES (7, 'x', ROW(1)), (8, 'y', ROW(2))",
    "CREATE TABLE lent.their_texts (id text, note text)",
    "INSERT INTO lent.their_texts VALUES ('1', 'x')",
    "CREATE TABLE lent.their_log (at_all int)", "INSERT INTO lent.their_log VALUES (0)",
    f"CREATE FUNCTION lent.their_writer() RETURNS int {_WRITES} 1 $$",
    f"CREATE FUNCTION other.their_writer() RETURNS int {_WRITES} 1 $$",
    f"CREATE FUNCTION lent.upper(varchar, int) RETURNS int {_WRITES} 1 $$",
    f"CREATE FUNCTION lent.year(varchar) RETURNS int {_WRITES} 1 $$",
    f"CREATE FUNCTION lent.hex(int) RETURNS int {_WRITES} 1 $$",
    f"CREATE FUNCTION lent.their_column(lent.theirs) RETURNS int {_WRITES} 1 $$",
    f"CREATE FUNCTION other.differs(int, varchar) RETURNS boolean {_WRITES} true $$",
    *(
        f"CREATE OPERATOR {name} (LEFTARG = int, RIGHTARG = varchar, FUNCTION = other.differs)"
        for name in OPERATORS
    ),
    "CREATE PROCEDURE lent.their_procedure() LANGUAGE sql AS 'DELETE FROM lent.theirs'",
    "CREATE VIEW lent.their_view AS SELECT lent.their_writer() AS one",
    "CREATE VIEW lent.their_updatable AS SELECT id, note FROM lent.theirs",
    "CREATE TABLE lent.their_triggered (id int)",
    "CREATE FUNCTION lent.their_trigger() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN UPDATE lent.their_log SET at_all = 9; RETURN NEW; END $$",
    "CREATE TRIGGER their_trigger BEFORE INSERT ON lent.their_triggered FOR EACH ROW"
    " EXECUTE FUNCTION lent.their_trigger()",
    "CREATE TABLE lent.their_guarded (id int, note text)", "INSERT INTO lent.their_guarded VALUES (1, 'a')",
    "ALTER TABLE lent.their_guarded ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE lent.their_guarded FORCE ROW LEVEL SECURITY",
    "CREATE POLICY their_policy ON lent.their_guarded USING (lent.their_writer() > 0)",
    "CREATE TABLE lent.their_parent (id int, note text)",
    "CREATE TABLE lent.their_parted (id int) PARTITION BY RANGE (id)",
    "CREATE DOMAIN lent.their_domain AS text CHECK (lent.their_writer() > 0)",
    "CREATE SEQUENCE lent.their_numbers",
    "CREATE TABLE other.t (id int PRIMARY KEY, note varchar(200))", "INSERT INTO other.t VALUES (1, 'z')",
)  # fmt: skip
CATALOGS = (
    *(
        "pg_namespace",
        "pg_attrdef",
        "pg_constraint",
        "pg_index",
        "pg_proc",
        "pg_type",
        "pg_trigger",
        "pg_rewrite",
    ),
    *(
        "pg_description",
        "pg_policy",
        "pg_db_role_setting",
        "pg_roles",
        "pg_auth_members",
        "pg_database",
        "pg_cast",
    ),
    *(
        "pg_sequence",
        "pg_default_acl",
        "pg_operator",
        "pg_extension",
        "pg_largeobject_metadata",
        "pg_inherits",
    ),
    "pg_publication",
)
PASSING = "'{relpages,reltuples,relallvisible,relallfrozen,relfrozenxid,relminmxid,datfrozenxid,datminmxid}'"
TABLES = (
    "theirs",
    "their_texts",
    "their_log",
    "their_triggered",
    "their_parent",
    "their_numbers",
)


@dataclass
class House:
    """Somebody else's server; the role `ann` owns the database `lent` of it, and all that is in there."""

    server: PrivateServer

    def owner(self, *statements: str) -> None:
        """Carry them out as the administrator, beside the database."""
        with self.server.admin() as admin:
            assert isinstance(admin, PostgresDatabase)
            for one in statements:
                admin.apart.rows(one)

    def ann(self, *statements: str) -> list[tuple[object, ...]]:
        """Carry them out in the database, as others do; the last one's rows."""
        with closing(self.connected()) as connection:
            return [tuple(map(tuple, connection.run(one) or [])) for one in statements][-1]  # type: ignore[return-value]

    def connected(self) -> native.Connection:
        """A connection of the account's."""
        port = self.server.endpoint().port
        return native.Connection(
            "ann", host="127.0.0.1", port=port, password=PASSWORD, database="lent", timeout=30
        )

    def access(self) -> ExternalAccess:
        """How the laboratory gets in."""
        url = f"postgres://ann@127.0.0.1:{self.server.endpoint().port}/lent?schema=lent"
        return external_access.settle(AccessOptions(url), ask=lambda _: PASSWORD, warn=lambda _: None)

    def let_in(self) -> None:
        """Once: let those with a password in from here."""
        with self.server.admin() as admin:
            assert isinstance(admin, PostgresDatabase)
            ((path,),) = admin.apart.rows("SHOW hba_file")
            file = Path(str(path))
            own = [line for line in file.read_text().splitlines() if "tlstax" in line]
            file.write_text("\n".join([*own, "host all all 127.0.0.1/32 scram-sha-256", ""]))
            admin.apart.rows("SELECT pg_reload_conf()")

    def furnish(self) -> None:
        """Make everything of theirs anew."""
        secret = accounts.scram_secret(PASSWORD)
        self.owner("DROP DATABASE IF EXISTS lent WITH (FORCE)")
        self.owner(
            *(f"DROP ROLE IF EXISTS {role}" for role in ("fred", "eve", "ann")),
            "CREATE ROLE eve LOGIN",
            f"CREATE ROLE ann LOGIN CREATEROLE CREATEDB PASSWORD '{secret}'",
            "GRANT eve TO ann", "GRANT pg_write_server_files TO ann", "CREATE DATABASE lent OWNER ann",
        )  # fmt: skip
        self.ann(*THEIRS)
        self.ann("ALTER ROLE ann SET search_path = lent, other")

    def kept(self) -> dict[str, object]:
        """All that must stay as it is, by what it is."""
        own = "(SELECT c.oid FROM pg_class c WHERE c.relname ~ '^(tlstax_|mine)')"
        with closing(self.connected()) as connection:
            found: dict[str, object] = {}
            for catalog in ("pg_class", "pg_attribute"):
                number = "oid" if catalog == "pg_class" else "attrelid"
                asked = (
                    f"SELECT md5(string_agg((to_jsonb(t) - {PASSING}::text[])::text, '' ORDER BY t.{number},"
                    f" to_jsonb(t)::text)) FROM {catalog} t JOIN pg_class r ON r.oid = t.{number}"
                    f" WHERE t.{number} NOT IN {own} AND r.relname !~ '^([fF]resh|pg_toast)'"
                    " AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indexrelid = r.oid"
                    f" AND i.indrelid IN {own})"
                )
                found[catalog] = connection.run(asked)
            for table in TABLES:
                with suppress(*FAILURES):
                    found[table] = connection.run(f"SELECT * FROM lent.{table}")
            found["other.t"] = connection.run("SELECT * FROM other.t")
        return found

    def everything(self) -> set[str]:
        """All rows of the catalogues, as text."""
        found = set()
        with closing(self.connected()) as connection:
            for catalog in (*CATALOGS, "pg_class"):
                asked = f"SELECT (to_jsonb(t) - {PASSING}::text[])::text FROM pg_catalog.{catalog} t"
                found |= {f"{catalog} {row}" for (row,) in connection.run(asked) or []}
        return found

    def locked(self) -> str:
        """The table of theirs of which a row is locked, empty where none is."""
        for table in ("lent.theirs", "other.t"):
            try:
                self.ann("BEGIN", f"SELECT * FROM {table} FOR UPDATE NOWAIT", "ROLLBACK")
            except DatabaseError as error:
                if error.args[0].get("C") == "55P03":
                    return table
        return ""


class Visit:
    """The laboratory at the house, with a workload that has tables of its own; a statement more at a time."""

    def __init__(self, house: House, guest: ExternalServer, worker: Database, *, guarded: bool) -> None:
        self._house, self._guest, self._worker, self._guarded = house, guest, worker, guarded
        for one in PREPARE:
            guest.carry_out(worker, one, once=True)

    def say(self, place: Place, sql: str) -> str:
        """Have it looked at and carried out: "refused", "failed" (by the server) or "said"."""
        try:
            own = workload_with(place, sql, PREPARE)
        except ValueError:
            return "refused"
        if not self._guarded:
            return self._carried_out(as_sent(sql, TABLE))
        try:
            check_workloads([own], external_product("postgresql"), "lent", EXTERNAL_TABLES)
            if place in {"prepare", "restore"}:
                try:
                    self._guest.carry_out(self._worker, as_sent(sql, TABLE), once=place == "prepare")
                finally:
                    self._worker.rows("ROLLBACK")
                return "said"
            self._guest.check_workload(own)
        except UserMistake as mistake:
            return "failed" if isinstance(mistake.__cause__, SqlError) else "refused"
        except SqlError:
            return "failed"
        return self._carried_out(as_sent(sql, TABLE))

    def _carried_out(self, sql: str) -> str:
        """As a load client would, on a connection and in a transaction of its own; what became of it."""
        with closing(self._house.connected()) as connection:
            try:
                connection.run(f"SET statement_timeout = {PATIENCE_MS}")
                connection.execute_simple("BEGIN")
                connection.execute_simple(sql)
                locked = self._house.locked() if self._guarded else ""
                connection.execute_simple("COMMIT")
            except FAILURES:
                return "failed"
        return f"locks rows of {locked}" if locked else "said"


@contextmanager
def visiting(house: House, *, guarded: bool) -> Iterator[Visit]:
    with ExternalServer.open(house.access()) as guest:
        guest.prepare_table(TableContent(rows=50, seed=5))
        with closing(guest.admin()) as worker:
            yield Visit(house, guest, worker, guarded=guarded)


def attempt(house: House, batch: list[tuple[Place, str]], tally: Tally, *, guarded: bool) -> None:
    """One visit; where something is lost, all is furnished anew for the rest."""
    while batch:
        everything, lost, said = house.everything(), "", f"a visit with {batch}"
        try:
            with visiting(house, guarded=guarded) as visit:
                lost = _until_lost(house, visit, batch, tally)
        except (MachineFault, SqlError, *FAILURES) as error:
            batch = batch[1:]
            lost = lost or f"{error} ended {said}"
        if not lost and (changed := house.everything() ^ everything):
            lost = f"{sorted(changed)} is otherwise after {said}"
        if lost:
            tally.lost.append(lost)
            sys.stdout.write(f"LOST  {lost[:600]}\n")
            house.furnish()
        sys.stdout.flush()


def _until_lost(house: House, visit: Visit, batch: list[tuple[Place, str]], tally: Tally) -> str:
    before = house.kept()
    while batch:
        place, sql = batch.pop(0)
        became = visit.say(place, sql)
        if became == "refused":
            tally.refused[place] += 1
            continue
        (tally.failed if became == "failed" else tally.said)[place] += 1
        now = house.kept()
        changed = [what for what in before if now.get(what) != before[what]]
        if changed or became.startswith("locks"):
            return f"{place}: {sql!r}: {became}, changed: {', '.join(changed) or 'nothing'}"
    return ""


def harmless_refused(house: House) -> list[str]:
    """Which of the harmless statements the guard refuses or the server does not take.

    Where others have operators of the server's names, some are refused that would be harmless.
    """
    house.ann(*(f"DROP OPERATOR {name} (int, varchar)" for name in OPERATORS))
    with visiting(house, guarded=True) as visit:
        became = {(place, sql): visit.say(place, sql) for place in PLACES for sql in HARMLESS}
    return [f"{place}: {sql} ({what})" for (place, sql), what in became.items() if what != "said"]


def main(count: int, seed: int, *, guarded: bool) -> int:
    """Try all; the status."""
    chance, tally = random.Random(f"{seed} {PRODUCT}"), Tally()  # noqa: S311 - to be repeatable
    build = resolve.named_server(PRODUCT, progress=lambda _: None)
    with sessions.open_session() as session, PrivateServer.start(build, session) as server:
        house = House(server)
        house.let_in()
        house.furnish()
        drawn = [
            (chance.choice(PLACES), (mutation if number % 2 else statement)(chance))
            for number in range(count)
        ]
        for begin in range(0, count, BATCH):
            attempt(house, drawn[begin : begin + BATCH], tally, guarded=guarded)
        tally.tell(PRODUCT, count, seed)
        if guarded:
            needless = harmless_refused(house)
            sys.stdout.write(
                f"{PRODUCT}: of {len(HARMLESS) * len(PLACES)} harmless statements {len(needless)} were "
                f"refused{': ' if needless else ''}{'; '.join(needless)}\n"
            )
    return bool(tally.lost)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), guarded="--without-guard" not in sys.argv[3:]))
