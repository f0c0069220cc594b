"""The tables that workloads work on: made, filled, kept as a copy, and put back as they were.

Statements that fail raise SqlError; the servers' `prepare_table` reports them in a sentence.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache

from tlstax.mysql import answers
from tlstax.mysql.answer_rows import ANSWERS
from tlstax.mysql.body_rows import BODIES
from tlstax.mysql.database import Database, TableContent
from tlstax.mysql.layout import Layout, Row
from tlstax.mysql.people_rows import PEOPLE
from tlstax.mysql.sbtest_rows import SBTEST
from tlstax.mysql.word_rows import WORDS
from tlstax.records.trial import TableState
from tlstax.study import workloads
from tlstax.study.workloads import KEPT, Shape
from tlstax.support.errors import UserMistake

LAYOUTS: dict[Shape, Layout] = {
    "sbtest": SBTEST,
    "people": PEOPLE,
    "words": WORDS,
    "bodies": BODIES,
    "answers": ANSWERS,
}

ROWS_PER_STATEMENT = 2_000
"""About 400 kB a statement, under the smallest max_allowed_packet that servers have by default (1 MB)."""

COMMENT = "tlstax"
"""How the comment of our tables begins; a table without it is not ours and is never touched."""


def prepare(
    database: Database,
    name: str,
    content: TableContent,
    *,
    comment: str = COMMENT,
    progress: Callable[[str], None] | None = None,
) -> int:
    """Make the table in the connection's schema, or reuse the one that is there and equal; its row count.

    A table of this name that is ours but holds other data (left by a killed run, or changed by a
    workload) is replaced. UserMistake when a table of this name is not ours.
    """
    _check_name(name)
    report = progress or (lambda _: None)
    if exists(database, name):
        check_ours(database, name)
        if _is_equal(database, name, content):
            return content.rows
        drop(database, name)
    report(f"filling table {name} with {content.rows:,} rows")
    layout = LAYOUTS[content.shape]
    _create(database, name, layout, comment)
    for statements in _transactions(name, content):
        with database.cursor() as cursor:
            cursor.execute("BEGIN")
            for statement in statements:
                cursor.execute(statement)
            cursor.execute("COMMIT")
    with database.cursor() as cursor:
        if layout.index:
            index, column = layout.index
            cursor.execute(f"CREATE INDEX {index} ON `{name}`({column})")
        cursor.execute(f"ANALYZE TABLE `{name}`")
        cursor.fetchall()
    return content.rows


def exists(database: Database, name: str) -> bool:
    """Whether the connection's schema has a table or view of this name."""
    return _comment_of(database, name) is not None


def check_ours(database: Database, name: str) -> None:
    """UserMistake when the table, which exists, is not ours."""
    if not (_comment_of(database, name) or "").startswith(COMMENT):
        raise UserMistake(
            f"the schema already has a table {name} that tlstax did not make",
            remedy="rename or drop that table, or name another schema in the server's URL",
        )


def drop(database: Database, name: str) -> None:
    """Drop the table if it is there."""
    _check_name(name)
    with database.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS `{name}`")


def comment_of(database: Database, name: str) -> str:
    """The table's comment; empty when there is no such table."""
    return _comment_of(database, name) or ""


def _comment_of(database: Database, name: str) -> str | None:
    with database.cursor() as cursor:
        cursor.execute(
            "SELECT TABLE_COMMENT FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s",
            (name,),
        )
        row = cursor.fetchone()
    return None if row is None else str(row[0])


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_]{1,64}", name):
        raise UserMistake(
            f"{name!r} is not a table name that tlstax uses", remedy="use letters, digits and _"
        )


def _create(database: Database, name: str, layout: Layout, comment: str) -> None:
    with database.cursor() as cursor:
        cursor.execute(f"CREATE TABLE `{name}`({layout.definition}) ENGINE = InnoDB COMMENT %s", (comment,))


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
    columns = ", ".join(LAYOUTS[shape].columns)
    asked = f"SELECT COUNT(*), SUM(CRC32(CONVERT(CONCAT_WS(',', {columns}) USING latin1))) FROM `{name}`"  # noqa: S608
    rows, total = answers.row(database, asked, columns=2)
    return TableState(table=name, rows=answers.number(rows), checksum=answers.number(total or 0))


def expected(name: str, content: TableContent) -> TableState:
    """What the table must hold."""
    return TableState(table=name, rows=content.rows, checksum=_checksum(content))


def keep_copy(database: Database, name: str) -> None:
    """A copy of the table beside it, from which it can be put back; one of ours that is there is replaced."""
    kept = name + KEPT
    if exists(database, kept):
        check_ours(database, kept)
        drop(database, kept)
    with database.cursor() as cursor:
        cursor.execute(f"CREATE TABLE `{kept}` LIKE `{name}`")
        cursor.execute(f"INSERT INTO `{kept}` SELECT * FROM `{name}`")  # noqa: S608 (the name was checked)


def put_back(database: Database, name: str) -> None:
    """Make the table equal to its kept copy, from an empty file on: no gap of deleted rows is left in it."""
    with database.cursor() as cursor:
        for statement in workloads.put_back_sql(name):
            cursor.execute(statement)
        # Statistics as they were; InnoDB would otherwise gather them some seconds later, in a trial.
        cursor.execute(f"ANALYZE TABLE `{name}`")
        cursor.fetchall()


@lru_cache(maxsize=8)
def _checksum(content: TableContent) -> int:
    return sum(
        zlib.crc32(",".join(map(str, row)).encode("ascii"))
        for chunk in LAYOUTS[content.shape].chunks(content)
        for row in chunk
    )


def _transactions(name: str, content: TableContent) -> Iterator[list[str]]:
    layout = LAYOUTS[content.shape]
    head = f"INSERT INTO `{name}`({', '.join(layout.columns)}) VALUES "  # noqa: S608
    for chunk in layout.chunks(content):
        values = [_values(row) for row in chunk]
        yield [
            head + ",".join(values[start : start + ROWS_PER_STATEMENT])
            for start in range(0, len(values), ROWS_PER_STATEMENT)
        ]


def _values(row: Row) -> str:
    """A row as SQL. Its text has no backslash, so a doubled quote is all the quoting that it takes."""
    values = (str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'" for value in row)
    return f"({','.join(values)})"
