"""The table that the workloads read, laid out and filled as sysbench 1.0.20 does it for MySQL.

Source of the layout: sysbench's oltp_common.lua (create_table). Three things differ. The rows follow from
a seed, so that two servers hold the same data; `id` is given explicitly, so that no server's
auto_increment_increment leaves gaps; and `k` is drawn evenly (sysbench's --rand-type=uniform).

Statements that fail raise pymysql's errors; the servers' `prepare_table` tells them in a sentence.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from tlstax.errors import UserMistake
from tlstax.specimens.server import Database, TableContent

C_GROUPS, PAD_GROUPS, GROUP_DIGITS = 10, 5, 11
C_LENGTH = C_GROUPS * (GROUP_DIGITS + 1) - 1
PAD_LENGTH = PAD_GROUPS * (GROUP_DIGITS + 1) - 1

ROWS_PER_TRANSACTION = 20_000
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
    tell = progress or (lambda _: None)
    if exists(database, name):
        check_ours(database, name)
        if _is_equal(database, name, content):
            return content.rows
        drop(database, name)
    tell(f"filling table {name} with {content.rows:,} rows")
    _create(database, name, comment)
    for statements in _transactions(name, content):
        with database.cursor() as cursor:
            cursor.execute("BEGIN")
            for statement in statements:
                cursor.execute(statement)
            cursor.execute("COMMIT")
    with database.cursor() as cursor:
        cursor.execute(f"CREATE INDEX k_1 ON `{name}`(k)")
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
            f"the schema already has a table {name} that is not of tlstax's making",
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


def _create(database: Database, name: str, comment: str) -> None:
    with database.cursor() as cursor:
        cursor.execute(
            f"CREATE TABLE `{name}`("
            " id INTEGER NOT NULL AUTO_INCREMENT,"
            " k INTEGER DEFAULT '0' NOT NULL,"
            " c CHAR(120) DEFAULT '' NOT NULL,"
            " pad CHAR(60) DEFAULT '' NOT NULL,"
            " PRIMARY KEY (id)"
            ") ENGINE = InnoDB COMMENT %s",
            (comment,),
        )


def _is_equal(database: Database, name: str, content: TableContent) -> bool:
    """Whether the table has its index and exactly the rows that the seed gives.

    Both sides add up CRC-32 (the one of zlib and of SQL's CRC32) over every row's columns.
    """
    with database.cursor() as cursor:
        cursor.execute(f"SHOW INDEX FROM `{name}` WHERE Key_name = 'k_1'")
        if cursor.fetchone() is None:
            return False
        cursor.execute(f"SELECT COUNT(*) FROM `{name}`")  # noqa: S608 (the name was checked)
        if cursor.fetchone() != (content.rows,):
            return False
        cursor.execute(
            f"SELECT SUM(CRC32(CONVERT(CONCAT_WS(',', id, k, c, pad) USING latin1))) FROM `{name}`"  # noqa: S608
        )
        (total,) = cursor.fetchone() or (None,)
    return total is not None and int(total) == _checksum(content)


def _checksum(content: TableContent) -> int:
    return sum(
        zlib.crc32(f"{number},{k},{c},{pad}".encode("ascii"))
        for chunk in _chunks(content)
        for number, k, c, pad in chunk
    )


def _transactions(name: str, content: TableContent) -> Iterator[list[str]]:
    head = f"INSERT INTO `{name}`(id, k, c, pad) VALUES "  # noqa: S608
    for chunk in _chunks(content):
        values = [f"({number},{k},'{c}','{pad}')" for number, k, c, pad in chunk]
        yield [
            head + ",".join(values[start : start + ROWS_PER_STATEMENT])
            for start in range(0, len(values), ROWS_PER_STATEMENT)
        ]


def _chunks(content: TableContent) -> Iterator[list[tuple[int, int, str, str]]]:
    """Rows (id, k, c, pad) from id 1 on, one transaction's worth at a time."""
    for first in range(1, content.rows + 1, ROWS_PER_TRANSACTION):
        count = min(ROWS_PER_TRANSACTION, content.rows + 1 - first)
        random = np.random.default_rng([content.seed, first])
        keys = random.integers(1, content.rows, size=count, endpoint=True).tolist()
        c = _digit_groups(random, count, C_LENGTH)
        pad = _digit_groups(random, count, PAD_LENGTH)
        yield list(zip(range(first, first + count), keys, c, pad, strict=True))


def _digit_groups(random: np.random.Generator, count: int, length: int) -> list[str]:
    """`count` strings of `length` characters: groups of eleven random digits, joined by hyphens."""
    characters: NDArray[np.uint8] = random.integers(48, 58, size=(count, length), dtype=np.uint8)
    characters[:, GROUP_DIGITS :: GROUP_DIGITS + 1] = ord("-")
    text = characters.tobytes().decode("ascii")
    return [text[start : start + length] for start in range(0, count * length, length)]
