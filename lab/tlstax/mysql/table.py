"""The tables that workloads work on, in the SQL of MySQL and MariaDB."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.tables import Fill, Tables, values_of
from tlstax.study.workloads import Shape
from tlstax.support.errors import UserMistake

ROWS_PER_STATEMENT = 2_000
"""About 400 kB a statement of sysbench's rows."""

LEAST_DEFAULT_BYTES = 1_000_000
"""The smallest max_allowed_packet that servers have by default, about."""

BESIDE_STATEMENT_BYTES = 64
"""What a packet holds beside the statement, and more."""

COLUMNS: dict[Shape, str] = {
    "sbtest": (
        "id INTEGER NOT NULL AUTO_INCREMENT,"
        " k INTEGER DEFAULT '0' NOT NULL,"
        " c CHAR(120) DEFAULT '' NOT NULL,"
        " pad CHAR(60) DEFAULT '' NOT NULL,"
        " PRIMARY KEY (id)"
    ),
    "people": (
        "id INT,"
        " first_name VARCHAR(50),"
        " last_name VARCHAR(50),"
        " email VARCHAR(50),"
        " gender VARCHAR(50),"
        " ip_address VARCHAR(20)"
    ),
    "words": "id BIGINT NOT NULL AUTO_INCREMENT, word VARCHAR(255), PRIMARY KEY (id)",
    "bodies": "id BIGINT NOT NULL AUTO_INCREMENT, body MEDIUMBLOB NOT NULL, PRIMARY KEY (id)",
    "answers": "id INTEGER NOT NULL, answer MEDIUMBLOB NOT NULL, PRIMARY KEY (id)",
}
"""By shape what stands between the parentheses of CREATE TABLE; sbtest's is as sysbench has it for MySQL."""


class MySqlTables(Tables):
    """In the connection's schema. A row's number is the CRC-32 of zlib, which is that of SQL's CRC32."""

    quote = "`"
    name_form = "[A-Za-z0-9_]{1,64}"
    letters = "letters"
    index_name = "{1}"
    columns_asked = "SHOW COLUMNS FROM {0}"
    indexes_asked = "SHOW INDEX FROM {0} WHERE Key_name <> 'PRIMARY'"
    index_place = 2
    sum_of_rows = "SUM(CRC32(CONVERT(CONCAT_WS(',', {}) USING latin1)))"
    row_number = staticmethod(zlib.crc32)

    def write_changed_pages(self, database: Database, table: str) -> None:
        """As an export has them written."""
        with suppress(SqlError):
            answers.carry_out(database, f"FLUSH TABLES `{table}` FOR EXPORT")
            answers.carry_out(database, "UNLOCK TABLES")

    def is_purging(self, database: Database) -> bool:
        """Whether InnoDB reports that its purge is running; False where the account may not ask.

        Source: MySQL reference manual, "InnoDB Standard Monitor and Lock Monitor Output". The length of its
        history does not show it: MySQL shortens the list long after the work is done (seen with 5.6.14 to
        9.7).
        """
        try:
            report = "".join(map(str, answers.column(database, "SHOW ENGINE INNODB STATUS", place=2)))
        except SqlError:
            return False
        purge = re.search(r"^Purge done .* state: (.*)$", report, re.MULTILINE)
        return purge is not None and purge[1].strip() == "running"

    def _comments(self, database: Database, name: str) -> list[object]:
        asked = (
            "SELECT TABLE_COMMENT FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s"
        )
        return answers.column(database, asked, name, place=0)

    def _made_by(self, named: str, shape: Shape) -> str:
        return f"CREATE TABLE {named}({COLUMNS[shape]}) ENGINE = InnoDB COMMENT %s"

    def _filling(self, database: Database, named: str, columns: Sequence[str]) -> Fill:
        head = f"INSERT INTO {named}({', '.join(columns)}) VALUES "  # noqa: S608 (checked)
        longest_bytes = _longest_bytes(database)

        def fill(rows: list[tuple[int | str, ...]]) -> None:
            # BEGIN opens a block where sql_mode is ORACLE.
            inserts = list(inserts_of(head, map(values_of, rows), longest_bytes))
            for statement in ("START TRANSACTION", *inserts, "COMMIT"):
                answers.carry_out(database, statement)

        return fill

    def _settle(self, database: Database, name: str) -> None:
        """Statistics: InnoDB would otherwise gather them some seconds later, in a trial."""
        answers.carry_out(database, f"ANALYZE TABLE `{name}`")


MYSQL_TABLES = MySqlTables()


def _longest_bytes(database: Database) -> int:
    """How long a statement may be: a server hangs up on a longer one (`max_allowed_packet`)."""
    for (limit,) in answers.rows(database, "SELECT @@SESSION.max_allowed_packet", columns=1):
        return answers.number(limit) - BESIDE_STATEMENT_BYTES
    return LEAST_DEFAULT_BYTES


def inserts_of(head: str, values: Iterable[str], longest_bytes: int) -> Iterator[str]:
    """Statements with as many rows as fit. UserMistake where one alone does not; all text is ASCII."""
    batch: list[str] = []
    length = len(head)
    for value in values:
        if batch and (len(batch) == ROWS_PER_STATEMENT or length + len(value) > longest_bytes):
            yield head + ",".join(batch)
            batch, length = [], len(head)
        if length + len(value) > longest_bytes:
            raise UserMistake(
                f"a row of the table takes {length + len(value):,} bytes, and the server takes no statement "
                f"of more than {longest_bytes:,} (max_allowed_packet)",
                remedy="raise max_allowed_packet there, or ask for shorter answers",
            )
        batch.append(value)
        length += len(value) + 1
    if batch:
        yield head + ",".join(batch)
