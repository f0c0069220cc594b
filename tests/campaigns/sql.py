"""What users' SQL does to others at an external server: `python tests/campaigns/sql.py COUNT SEED`.

COUNT statements of `sql_statements.py`, half of them mutated, in places of a workload, on each product (or
on those named after the seed). What the guard lets through is carried out by an account with every right
in a schema that has things of others: tables, views that write, routines, sequences, another schema. After
each, all of that, the server's variables and its users must be as before and no row of others locked; at the
end nothing new may be there. What was lost is printed, and makes the status 1. With `--without-guard` all is
carried out: then much must be lost.
"""

# ruff: noqa: S608 - every name is our own
from __future__ import annotations

import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
from sql_statements import HARMLESS, mutation, statement

from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.reading import Place
from tlstax.external.server import EXTERNAL_TABLES, ExternalServer
from tlstax.external.tls import ExternalTls
from tlstax.external.workload_guard import check_workloads
from tlstax.products.external import external_product
from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.sql.database import Database, SqlError
from tlstax.sql.table_rows import TableContent
from tlstax.study.workloads.user_defined import UserStatement, UserTransaction, UserWorkload
from tlstax.support.errors import MachineFault, UserMistake

PRODUCTS = ("mysql-9.7", "mariadb-11.8")
PASSWORD = "Sesame, open!"
PLACES: tuple[Place, ...] = ("prepare", "restore", "on_connect", "transactions")
ANSWER_S = 20
BATCH = 60
"""Statements of one visit of the laboratory, at whose end nothing may remain."""

PREPARE = (
    "CREATE TABLE mine (id INT PRIMARY KEY, note VARCHAR(200))",
    "INSERT INTO mine VALUES (1, 'a'), (2, 'b')",
    "CREATE TABLE mine2 (id INT PRIMARY KEY, note VARCHAR(200))",
    "CREATE VIEW mine_view AS SELECT id FROM mine",
    "CREATE FUNCTION mine_function() RETURNS INT DETERMINISTIC RETURN 1",
    "CREATE PROCEDURE mine_procedure() SELECT 1",
)
THEIRS = (
    "CREATE TABLE theirs (id INT PRIMARY KEY, note VARCHAR(200)) ENGINE=InnoDB",
    "INSERT INTO theirs VALUES (7, 'x'), (8, 'y')",
    "CREATE TABLE their_myisam (id INT, note VARCHAR(200)) ENGINE=MyISAM",
    "CREATE TABLE their_merge (id INT, note VARCHAR(200)) ENGINE=MERGE UNION=(their_myisam)"
    " INSERT_METHOD=LAST",
    "CREATE TABLE their_log (at_all INT)",
    "INSERT INTO their_log VALUES (0)",
    *(
        f"CREATE FUNCTION {name}({parameter}) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN"
        " UPDATE lent.their_log SET at_all = at_all + 1; RETURN 1; END"
        for name, parameter in (
            ("their_writer", ""),
            ("other.their_writer", ""),
            ("`now`", ""),
            ("`lateral`", "a INT"),
            ("`text`", "a INT"),
            ("`json_overlaps`", "a INT, b INT"),
        )
    ),
    "CREATE PROCEDURE their_procedure() DELETE FROM theirs",
    "CREATE VIEW their_view AS SELECT their_writer() AS one",
    "CREATE VIEW their_updatable AS SELECT id, note FROM theirs",
    "CREATE TABLE their_triggered (id INT)",
    "CREATE TRIGGER their_trigger BEFORE INSERT ON their_triggered FOR EACH ROW"
    " UPDATE their_log SET at_all = 9",
    "CREATE TABLE other.t (id INT PRIMARY KEY, note VARCHAR(200))",
    "INSERT INTO other.t VALUES (1, 'z')",
)
SEQUENCES = (
    "CREATE SEQUENCE their_numbers NOCACHE",
    "CREATE TABLE their_numbered (id INT DEFAULT NEXTVAL(their_numbers), note VARCHAR(200))",
)
OUR_NAMES = re.compile(r"(tlstax_|mine)")
VOLATILE = re.compile(
    r"gtid|timestamp|binlog_pos|innodb_buffer_pool_load|last_|rand_seed|pseudo|statement_id|insert_id"
)


@dataclass
class House:
    """Somebody else's server, with what is theirs."""

    server: PrivateServer
    is_mariadb: bool
    _database: pymysql.connections.Connection | None = None

    def owner(self, *statements: str) -> tuple[Any, ...]:
        """Run statements with all rights; the rows of the last."""
        if self._database is None or not self._database.open:
            self._database = pymysql.connect(
                unix_socket=str(self.server._process.socket_path),
                user="tlstax_admin",
                password=self.server._credentials.admin_password,
                autocommit=True,
            )
        with self._database.cursor() as cursor:
            for one in statements:
                cursor.execute(one)
            return tuple(cursor.fetchall())

    def furnish(self) -> None:
        """Make everything of theirs anew."""
        for name, *_ in self.owner("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'ann'"):
            with suppress(pymysql.MySQLError):
                self.owner(f"KILL {name}")
        for file in self.written_files():
            file.unlink()
        for schema in ("fresh", "lent", "other", "tlstax"):
            self.owner(f"DROP DATABASE IF EXISTS {schema}")
        self.owner(
            "CREATE DATABASE lent", "CREATE DATABASE other",
            *(f"DROP USER IF EXISTS {user}@'%'" for user in ("fred", "eve", "ann")),
            *(f"CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}'" for user in ("eve", "ann")),
            "GRANT ALL ON *.* TO ann@'%'", "GRANT SELECT ON lent.* TO eve@'%'", "USE lent",
            *THEIRS, *(SEQUENCES if self.is_mariadb else ()),
        )  # fmt: skip

    def written_files(self) -> list[Path]:
        """What statements have written into files of the server's machine."""
        return sorted(Path(str(self.owner("SELECT @@datadir")[0][0])).glob("*/campaign.out"))

    def kept(self) -> dict[str, object]:
        """All that must stay as it is, by what it is."""
        found: dict[str, object] = {"schemas": sorted(self.owner("SHOW DATABASES"))}
        found["files"] = self.written_files()
        columns = {
            "TABLES": "TABLE_TYPE, ENGINE, CREATE_OPTIONS, TABLE_COMMENT",
            "VIEWS": "VIEW_DEFINITION, DEFINER",
            "COLUMNS": "COLUMN_NAME, COLUMN_TYPE, COLUMN_DEFAULT, COLUMN_KEY",
        }
        for view, wanted in columns.items():
            asked = (
                f"SELECT TABLE_SCHEMA, TABLE_NAME, {wanted} FROM information_schema.{view}"
                " WHERE TABLE_SCHEMA IN ('lent', 'other') ORDER BY TABLE_SCHEMA, TABLE_NAME"
            )
            found[view] = sorted(
                map(repr, (row for row in self.owner(asked) if self._is_theirs(str(row[1]))))
            )
        found["routines"] = self._theirs("ROUTINE", "ROUTINES", "ROUTINE_DEFINITION, LAST_ALTERED, DEFINER")
        found["triggers"] = self._theirs("TRIGGER", "TRIGGERS", "ACTION_STATEMENT, EVENT_OBJECT_TABLE")
        found["events"] = self._theirs("EVENT", "EVENTS", "EVENT_DEFINITION")
        tables = ["theirs", "their_myisam", "their_log", "their_triggered", "other.t"]
        for name in tables + (["their_numbers", "their_numbered"] if self.is_mariadb else []):
            with suppress(pymysql.MySQLError):
                found[name] = self.owner(f"SELECT * FROM {name if '.' in name else f'lent.{name}'}")
        rows = self.owner("SHOW GLOBAL VARIABLES")
        found["variables"] = sorted(row for row in rows if not VOLATILE.search(str(row[0])))
        found["users"] = sorted(self.owner("SELECT User, Host, authentication_string FROM mysql.user"))
        with suppress(pymysql.MySQLError):
            found["grants"] = self.owner("SHOW GRANTS FOR eve@'%'")
        return found

    def _theirs(self, kind: str, view: str, columns: str) -> list[str]:
        asked = (
            f"SELECT {kind}_SCHEMA, {kind}_NAME, {columns} FROM information_schema.{view}"
            f" WHERE {kind}_SCHEMA IN ('lent', 'other')"
        )
        return sorted(map(repr, (row for row in self.owner(asked) if self._is_theirs(str(row[1])))))

    @staticmethod
    def _is_theirs(name: str) -> bool:
        return not OUR_NAMES.match(name) and name not in {"fresh", "new one"}

    def everything(self) -> set[tuple[Any, ...]]:
        """Every object of both schemas by its name."""
        kinds = (("TABLE", "TABLES"), ("ROUTINE", "ROUTINES"), ("TRIGGER", "TRIGGERS"), ("EVENT", "EVENTS"))
        asked = " UNION ALL ".join(
            f"SELECT '{kind}', {kind}_SCHEMA, {kind}_NAME FROM information_schema.{view}"
            f" WHERE {kind}_SCHEMA IN ('lent', 'other')"
            for kind, view in kinds
        )
        return set(self.owner(asked))

    def locked(self) -> str:
        """The table of theirs of which a row is locked, empty where none is."""
        for table in ("lent.theirs", "other.t"):
            try:
                self.owner("BEGIN", f"SELECT * FROM {table} FOR UPDATE NOWAIT", "ROLLBACK")
            except pymysql.MySQLError as error:
                if error.args[0] in {1205, 3572}:
                    return table
        return ""


@dataclass
class Tally:
    """What became of the statements."""

    refused: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    def tell(self, product: str, count: int, seed: int) -> None:
        """Print it."""
        said, failed, refused = (sum(one.values()) for one in (self.said, self.failed, self.refused))
        sys.stdout.write(
            f"{product}: {count} statements (seed {seed}): {refused} were refused, {said} carried out ("
            f"{', '.join(f'{n} in {place}' for place, n in sorted(self.said.items()))}), {failed} "
            f"refused by the server, and {len(self.lost)} lost something of others\n"
        )


class Visit:
    """The laboratory at the house, with a workload that has tables of its own; a statement more at a time."""

    def __init__(self, house: House, guest: ExternalServer, worker: Database, *, guarded: bool) -> None:
        self._house, self._guest, self._worker, self._guarded = house, guest, worker, guarded
        for one in PREPARE:
            guest.carry_out(worker, one, once=True)

    def say(self, place: Place, sql: str) -> str:
        """Have it looked at and carried out: "refused", "failed" (by the server) or "said"."""
        table = EXTERNAL_TABLES["sbtest"]
        try:
            own = workload_with(place, sql, PREPARE)
        except ValueError:
            return "refused"
        if not self._guarded:
            return _carried_out(as_sent(sql, table))
        try:
            check_workloads([own], external_product("mysql"), "lent", EXTERNAL_TABLES)
            if place in {"prepare", "restore"}:
                try:
                    self._guest.carry_out(self._worker, as_sent(sql, table), once=place == "prepare")
                finally:
                    self._worker.rows("ROLLBACK")
                return "said"
            self._guest.check_workload(own)
        except UserMistake:
            return "refused"
        except SqlError:
            return "failed"
        return _carried_out(as_sent(sql, table), self._house)


def as_sent(sql: str, table: str) -> str:
    """The statement with values for its placeholders."""
    return sql.replace("{table}", table).replace("{id}", "3").replace("{{", "{").replace("}}", "}")


def workload_with(place: Place, sql: str, prepare: tuple[str, ...]) -> UserWorkload:
    """A workload of the user's that says it in this place, and prepares its tables beforehand."""
    last = UserTransaction(statements=(UserStatement(sql=sql if place == "transactions" else "SELECT 0"),))
    said = {"prepare": prepare, place: (*(prepare if place == "prepare" else ()), sql.replace("{id}", "3"))}
    said.pop("transactions", None)
    return UserWorkload(name="own", transactions=(last,), **said)  # type: ignore[arg-type]


def _carried_out(sql: str, house: House | None = None) -> str:
    """As a load client would: on a connection of its own, in a transaction, which others may not wait for."""
    with closing(_as_ann()) as database, database.cursor() as cursor:
        try:
            cursor.execute("SET autocommit = 0")
            cursor.execute(sql)
            cursor.fetchall()
            locked = house.locked() if house is not None else ""
            cursor.execute("COMMIT")
        except (pymysql.MySQLError, UnicodeError):
            return "failed"
    return f"locks rows of {locked}" if locked else "said"


PORT = 0


def _as_ann() -> pymysql.connections.Connection:  # type: ignore[type-arg]
    return pymysql.connect(
        host="127.0.0.1", port=PORT, user="ann", password=PASSWORD, database="lent", read_timeout=ANSWER_S
    )


@contextmanager
def visiting(house: House, *, guarded: bool) -> Iterator[Visit]:
    access = ExternalAccess(
        ExternalAddress("127.0.0.1", PORT, "ann", "lent"), "ann", PASSWORD, ExternalTls("PREFERRED")
    )
    with ExternalServer.open(access) as guest:
        guest.prepare_table(TableContent(rows=50, seed=5))
        with closing(guest.admin()) as worker:
            yield Visit(house, guest, worker, guarded=guarded)


def attempt(house: House, batch: list[tuple[Place, str]], tally: Tally, *, guarded: bool) -> None:
    """One visit; where something is lost, all is furnished anew for the rest."""
    while batch:
        before, everything = house.kept(), house.everything()
        lost, said = "", f"a visit with {batch}"
        try:
            with visiting(house, guarded=guarded) as visit:
                lost = _until_lost(house, visit, batch, before, tally)
        except (MachineFault, SqlError, pymysql.MySQLError) as error:
            batch = batch[1:]
            lost = lost or f"{error} ended {said}"
        if not lost and (remains := house.everything() - everything):
            lost = f"{sorted(remains)} stayed there after {said}"
        if lost:
            tally.lost.append(lost)
            sys.stdout.write(f"LOST  {lost[:600]}\n")
            house.furnish()
        sys.stdout.flush()


def _until_lost(
    house: House, visit: Visit, batch: list[tuple[Place, str]], before: dict[str, object], tally: Tally
) -> str:
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
    """Which of the harmless statements the guard refuses or the server does not take."""
    with visiting(house, guarded=True) as visit:
        became = {(place, sql): visit.say(place, sql) for place in PLACES for sql in HARMLESS}
    return [f"{place}: {sql} ({what})" for (place, sql), what in became.items() if what != "said"]


def main(count: int, seed: int, products: tuple[str, ...], *, guarded: bool) -> int:
    """Try all; the status."""
    global PORT  # noqa: PLW0603 - one server at a time
    warnings.simplefilter("ignore")
    status = 0
    for product in products:
        chance = random.Random(f"{seed} {product}")  # noqa: S311 - to be repeatable
        settings = ServerSettings(buffer_pool_bytes=64 * 1024 * 1024, options=("--secure-file-priv=",))
        build = resolve.named_server(product, progress=lambda _: None)
        with sessions.open_session() as session, PrivateServer.start(build, session, settings) as server:
            PORT = server.endpoint().port
            house = House(server, is_mariadb="mariadb" in product)
            house.owner("SET GLOBAL log_bin_trust_function_creators = 1")
            house.furnish()
            tally = Tally()
            drawn = [
                (chance.choice(PLACES), (mutation if number % 2 else statement)(chance))
                for number in range(count)
            ]
            for begin in range(0, count, BATCH):
                attempt(house, drawn[begin : begin + BATCH], tally, guarded=guarded)
            tally.tell(product, count, seed)
            if guarded:
                needless = harmless_refused(house)
                sys.stdout.write(
                    f"{product}: of {len(HARMLESS) * len(PLACES)} harmless statements {len(needless)} were "
                    f"refused{': ' if needless else ''}{'; '.join(needless)}\n"
                )
            status |= bool(tally.lost)
    return status


if __name__ == "__main__":
    numbers, options = sys.argv[1:3], sys.argv[3:]
    named = tuple(one for one in options if not one.startswith("--")) or PRODUCTS
    sys.exit(main(int(numbers[0]), int(numbers[1]), named, guarded="--without-guard" not in options))
