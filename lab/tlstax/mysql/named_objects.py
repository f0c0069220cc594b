"""What stands behind names in a schema: base tables and their engines, views, sequences, stored functions.

Source of the columns: the reference manuals of MySQL and MariaDB, "INFORMATION_SCHEMA Tables". All functions
raise SqlError. An account is shown what it may use.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tlstax.mysql import answers
from tlstax.mysql.database import Database


class Named(NamedTuple):
    """What a name stands for, in capitals: `BASE TABLE`, `VIEW` or `SEQUENCE`, and its storage engine."""

    type: str
    engine: str


def tables(database: Database, schema: str, names: Collection[str]) -> dict[str, Named]:
    """What the schema has of these names among its tables, views and sequences."""
    if not names:
        return {}
    asked = (
        "SELECT TABLE_NAME, TABLE_TYPE, ENGINE FROM information_schema.TABLES"  # noqa: S608 - placeholders
        f" WHERE TABLE_SCHEMA = %s AND TABLE_NAME IN ({', '.join(['%s'] * len(names))})"
    )
    found = answers.rows(database, asked, schema, *sorted(names), columns=3)
    return {
        str(name): Named(str(kind).upper(), str(engine or "").upper())
        for name, kind, engine in found
        if str(name) in names
    }


def advances_sequence(database: Database, schema: str, table: str) -> bool:
    """Whether a column's default, which CREATE TABLE ... LIKE copies, takes the next number of a sequence."""
    asked = (
        "SELECT COLUMN_DEFAULT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
        " AND COLUMN_DEFAULT IS NOT NULL"
    )
    defaults = answers.rows(database, asked, schema, table, columns=1)
    words = ("nextval", "setval", "lastval", "next value", "previous value")
    return any(word in str(default).lower() for (default,) in defaults for word in words)


def functions(database: Database, schema: str) -> set[str]:
    """The names of the schema's stored functions, in capitals."""
    asked = (
        "SELECT ROUTINE_NAME FROM information_schema.ROUTINES"
        " WHERE ROUTINE_SCHEMA = %s AND ROUTINE_TYPE = 'FUNCTION'"
    )
    return {str(name).upper() for (name,) in answers.rows(database, asked, schema, columns=1)}


def reads_as_oracle(database: Database) -> bool:
    """Whether new connections read SQL as Oracle does (MariaDB's `sql_mode=ORACLE`)."""
    modes = str(answers.row(database, "SELECT @@GLOBAL.sql_mode", columns=1)[0])
    return "ORACLE" in modes.upper().split(",")
