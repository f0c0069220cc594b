"""A table that is there and its key: its columns, whether an index begins with one, and its range.

Source: MySQL's and MariaDB's manuals, "The INFORMATION_SCHEMA COLUMNS Table" and "… STATISTICS Table".
"""

from __future__ import annotations

from tlstax.mysql import answers
from tlstax.mysql.database import Database


def columns(database: Database, table: str) -> dict[str, str]:
    """The type of each column of the table in this connection's schema, by its name in small letters.

    Empty where the account sees no such table. Raises SqlError, as all functions here do.
    """
    asked = (
        "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS "
        "WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s"
    )
    found = answers.rows(database, asked, table, columns=2)
    return {str(name).lower(): str(kind).lower() for name, kind in found}


def begins_index(database: Database, table: str, column: str) -> bool:
    """Whether an index of the table begins with the column."""
    asked = (
        "SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() "
        "AND TABLE_NAME = %s AND COLUMN_NAME = %s AND SEQ_IN_INDEX = 1"
    )
    return answers.number(answers.row(database, asked, table, column, columns=1)[0]) > 0


def key_range(database: Database, table: str, column: str) -> tuple[int, int] | None:
    """The lowest and the highest value of a column of whole numbers; None of a table without rows.

    An index that begins with the column has both at its ends. The names have no backquote.
    """
    asked = f"SELECT MIN(`{column}`), MAX(`{column}`) FROM `{table}`"  # noqa: S608 (no backquote)
    low, high = answers.row(database, asked, columns=2)
    return None if low is None or high is None else (answers.number(low), answers.number(high))
