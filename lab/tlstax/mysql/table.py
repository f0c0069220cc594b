"""The tables that workloads work on: made, filled, kept as a copy, put back as they were and settled.

Statements that fail raise SqlError; the servers' `prepare_table` reports them in a sentence.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache

from tlstax.records.trial import TableState
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.ownership import PRIVATE, Mark, not_ours
from tlstax.sql.table_rows import LAYOUTS, Row, TableContent
from tlstax.study import workloads
from tlstax.study.workloads import KEPT, Shape
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


def prepare(  # noqa: PLR0913 (the last three have a default)
    database: Database,
    name: str,
    content: TableContent,
    *,
    mark: Mark = PRIVATE,
    progress: Callable[[str], None] | None = None,
    between: Callable[[], None] = lambda: None,
) -> int:
    """Make the table in the connection's schema, or reuse the one that is there and equal; its row count.

    A table of this name that is ours but holds other data (left by a killed run, or changed by a
    workload) is replaced. UserMistake when a table of this name is not ours. `between` is called
    every now and then while it is filled.
    """
    _check_name(name)
    report = progress or (lambda _: None)
    if _is_there(database, name, mark):
        if _is_equal(database, name, content):
            return content.rows
        drop(database, name)
    report(f"filling table {name} with {content.rows:,} rows")
    layout = LAYOUTS[content.shape]
    _create(database, name, content.shape, mark.comment)
    for statements in _transactions(name, content, _longest_bytes(database)):
        between()
        # BEGIN opens a block where sql_mode is ORACLE.
        for statement in ("START TRANSACTION", *statements, "COMMIT"):
            answers.carry_out(database, statement)
    if layout.index:
        index, column = layout.index
        answers.carry_out(database, f"CREATE INDEX {index} ON `{name}`({column})")
    answers.carry_out(database, f"ANALYZE TABLE `{name}`")
    return content.rows


def _is_there(database: Database, name: str, mark: Mark) -> bool:
    """Whether the connection's schema has a table of this name. UserMistake where it is not ours."""
    asked = (
        "SELECT TABLE_COMMENT FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s"
    )
    comments = [str(comment) for (comment,) in answers.rows(database, asked, name, columns=1)]
    if not all(map(mark.is_ours, comments)):
        raise not_ours(name)
    return bool(comments)


def drop(database: Database, name: str) -> None:
    """Drop the table if it is there."""
    _check_name(name)
    answers.carry_out(database, f"DROP TABLE IF EXISTS `{name}`")


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_]{1,64}", name):
        raise UserMistake(
            f"{name!r} is not a table name that tlstax uses", remedy="use letters, digits and _"
        )


def _create(database: Database, name: str, shape: Shape, comment: str) -> None:
    answers.carry_out(
        database, f"CREATE TABLE `{name}`({COLUMNS[shape]}) ENGINE = InnoDB COMMENT %s", comment
    )


def _is_equal(database: Database, name: str, content: TableContent) -> bool:
    """Whether the table has its columns, its index and exactly the rows that the seed gives."""
    layout = LAYOUTS[content.shape]
    if tuple(answers.column(database, f"SHOW COLUMNS FROM `{name}`", place=0)) != layout.columns:
        return False
    asked = f"SHOW INDEX FROM `{name}` WHERE Key_name <> 'PRIMARY'"
    if set(answers.column(database, asked, place=2)) != ({layout.index[0]} if layout.index else set()):
        return False
    return state(database, name, content.shape) == expected(name, content)


def state(database: Database, name: str, shape: Shape) -> TableState:
    """What the table holds: its rows, and the sum of the CRC-32 over each row's columns.

    It is the CRC-32 of zlib and of SQL's CRC32; the columns are joined by commas.
    """
    layout = LAYOUTS[shape]
    # As stored: with PAD_CHAR_TO_FULL_LENGTH in sql_mode, a CHAR comes with blanks at its end.
    columns = ", ".join(f"RTRIM({name})" if name in layout.padded else name for name in layout.columns)
    asked = f"SELECT COUNT(*), SUM(CRC32(CONVERT(CONCAT_WS(',', {columns}) USING latin1))) FROM `{name}`"  # noqa: S608
    rows, total = answers.row(database, asked, columns=2)
    return TableState(table=name, rows=answers.number(rows), checksum=answers.number(total or 0))


def expected(name: str, content: TableContent) -> TableState:
    """What the table must hold."""
    return TableState(table=name, rows=content.rows, checksum=_checksum(content))


def keep_copy(database: Database, name: str, shape: Shape, mark: Mark = PRIVATE) -> None:
    """A copy of the table beside it, from which it can be put back; one of ours that is there is replaced.

    It has no index but its key: nobody asks it for less than all. UserMistake where the copy's name is taken.
    """
    kept = name + KEPT
    _check_name(kept)
    if _is_there(database, kept, mark):
        drop(database, kept)
    _create(database, kept, shape, mark.comment)
    answers.carry_out(database, f"INSERT INTO `{kept}` SELECT * FROM `{name}`")  # noqa: S608 (checked)


def put_back(database: Database, name: str) -> None:
    """Make the table equal to its kept copy, from an empty file on: no gap of deleted rows is left in it."""
    for statement in workloads.put_back_sql(name):
        answers.carry_out(database, statement)
    # Statistics as they were; InnoDB would otherwise gather them some seconds later, in a trial.
    answers.carry_out(database, f"ANALYZE TABLE `{name}`")


def write_changed_pages(database: Database, table: str) -> None:
    """Have the table's changed pages written, as an export does; nothing where the account may not do so."""
    with suppress(SqlError):
        answers.carry_out(database, f"FLUSH TABLES `{table}` FOR EXPORT")
        answers.carry_out(database, "UNLOCK TABLES")


def is_purging(database: Database) -> bool:
    """Whether InnoDB reports that its purge is running; False where the account may not ask.

    Source: MySQL reference manual, "InnoDB Standard Monitor and Lock Monitor Output". The length of its
    history does not show it: MySQL shortens the list long after the work is done (seen with 5.6.14 to 9.7).
    """
    try:
        report = "".join(map(str, answers.column(database, "SHOW ENGINE INNODB STATUS", place=2)))
    except SqlError:
        return False
    purge = re.search(r"^Purge done .* state: (.*)$", report, re.MULTILINE)
    return purge is not None and purge[1].strip() == "running"


@lru_cache(maxsize=8)
def _checksum(content: TableContent) -> int:
    return sum(
        zlib.crc32(",".join(map(str, row)).encode("ascii"))
        for chunk in LAYOUTS[content.shape].chunks(content)
        for row in chunk
    )


def _longest_bytes(database: Database) -> int:
    """How long a statement may be: a server hangs up on a longer one (`max_allowed_packet`)."""
    for (limit,) in answers.rows(database, "SELECT @@SESSION.max_allowed_packet", columns=1):
        return answers.number(limit) - BESIDE_STATEMENT_BYTES
    return LEAST_DEFAULT_BYTES


def _transactions(name: str, content: TableContent, longest_bytes: int) -> Iterator[list[str]]:
    layout = LAYOUTS[content.shape]
    head = f"INSERT INTO `{name}`({', '.join(layout.columns)}) VALUES "  # noqa: S608
    for chunk in layout.chunks(content):
        yield list(_inserts(head, map(_values, chunk), longest_bytes))


def _inserts(head: str, values: Iterable[str], longest_bytes: int) -> Iterator[str]:
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


def _values(row: Row) -> str:
    """A row as SQL. Its text has no backslash, so a doubled quote is all the quoting that it takes."""
    values = (str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'" for value in row)
    return f"({','.join(values)})"
