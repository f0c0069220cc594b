"""What a schema has in it (tables, views, routines, triggers, events): listed, distinguished, dropped.

Every object has a sign by which it is known again. A table's is its comment, which TRUNCATE and ALTER leave;
of the others it is a digest of what the server says of them, who defined them and when among it. Source of
the columns: the reference manuals of MySQL and MariaDB, "INFORMATION_SCHEMA Tables".
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from tlstax.mysql import answers, error_codes
from tlstax.mysql.database import Database, SqlError

Kind = Literal["TABLE", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_BASE_TABLES = "FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_TYPE NOT LIKE '%%VIEW'"
_ROUTINES = (
    "SELECT ROUTINE_NAME, ROUTINE_DEFINITION, DEFINER, UNIX_TIMESTAMP(CREATED), UNIX_TIMESTAMP(LAST_ALTERED)"
    " FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = %s AND ROUTINE_NAME = %s AND ROUTINE_TYPE = "
)
_ASKED: Mapping[Kind, tuple[str, int]] = {
    "TABLE": (f"SELECT TABLE_NAME, TABLE_COMMENT {_BASE_TABLES} AND TABLE_NAME = %s", 2),
    "VIEW": (
        "SELECT TABLE_NAME, VIEW_DEFINITION, DEFINER, SECURITY_TYPE FROM information_schema.VIEWS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        4,
    ),
    "PROCEDURE": (f"{_ROUTINES}'PROCEDURE'", 5),
    "FUNCTION": (f"{_ROUTINES}'FUNCTION'", 5),
    "TRIGGER": (
        "SELECT TRIGGER_NAME, ACTION_STATEMENT, DEFINER, EVENT_OBJECT_TABLE, CREATED"
        " FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s AND TRIGGER_NAME = %s",
        5,
    ),
    "EVENT": (
        "SELECT EVENT_NAME, EVENT_DEFINITION, DEFINER, UNIX_TIMESTAMP(CREATED)"
        " FROM information_schema.EVENTS WHERE EVENT_SCHEMA = %s AND EVENT_NAME = %s",
        4,
    ),
}
"""For each kind a question whose first column is the name, the second what identifies it, and how many."""

_LISTED = (
    "SELECT TABLE_TYPE, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s"
    " UNION ALL SELECT ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = %s"
    " UNION ALL SELECT 'TRIGGER', TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s"
    " UNION ALL SELECT 'EVENT', EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = %s"
)

_HOST = "SUBSTRING_INDEX(CURRENT_USER(), '@', -1)"
_MINE = (
    f"GRANTEE = CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH({_HOST}) - 1),"
    f" '''@''', {_HOST}, '''')"
)
"""Who may read mysql.user is shown the rights of all accounts."""

_SIGHT = (
    f"SELECT UPPER(PRIVILEGE_TYPE) FROM information_schema.USER_PRIVILEGES WHERE {_MINE}"  # noqa: S608
    " UNION SELECT UPPER(PRIVILEGE_TYPE) FROM information_schema.SCHEMA_PRIVILEGES"
    f" WHERE %s LIKE TABLE_SCHEMA AND {_MINE}"
)
_SEES_ROUTINES = {"EXECUTE", "CREATE ROUTINE", "ALTER ROUTINE"}


@dataclass(frozen=True, order=True)
class Thing:
    """An object of a schema, by what it is and its name as the server has it."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"the {self.kind.lower()} {self.name}"

    def quoted(self) -> str:
        """The name for a statement."""
        return "`" + self.name.replace("`", "``") + "`"


def sign(database: Database, schema: str, thing: Thing) -> str | None:
    """What the object is known by; empty where the server does not report enough, None where it is not there.

    Raises SqlError, as all functions here do.
    """
    statement, columns = _ASKED[thing.kind]
    for name, definition, *others in answers.rows(database, statement, schema, thing.name, columns=columns):
        if not _is_same_name(str(name), thing):
            continue
        if thing.kind == "TABLE":
            return str(definition)
        known = (str(definition), *map(str, others))
        return hashlib.sha256("\0".join(known).encode()).hexdigest() if definition else ""
    return None


def listed(database: Database, schema: str) -> set[str]:
    """All that the account sees in the schema, in words: `the table orders`."""
    objects = answers.rows(database, _LISTED, *[schema] * 4, columns=2)
    return {f"the {str(kind).lower().replace('base table', 'table')} {name}" for kind, name in objects}


def sees_all(database: Database, schema: str) -> bool:
    """Whether the account is shown every routine and event of the schema: to others they are invisible."""
    rights = {str(right) for (right,) in answers.rows(database, _SIGHT, schema, columns=1)}
    return "EVENT" in rights and bool(rights & _SEES_ROUTINES)


def drop(database: Database, thing: Thing) -> bool:
    """Drop it; False where a foreign key of another table refers to it, which is then still there."""
    try:
        answers.carry_out(database, f"DROP {thing.kind} IF EXISTS {thing.quoted()}")
    except SqlError as error:
        if error_codes.number_of(error) in error_codes.REFERRED_TO:
            return False
        raise
    return True


def untie(database: Database, schema: str, tables: Collection[Thing]) -> bool:
    """Drop the foreign keys by which these tables refer to each other; whether there was one."""
    names = {table.name for table in tables}
    statement = (
        "SELECT TABLE_NAME, CONSTRAINT_NAME, REFERENCED_TABLE_NAME"
        " FROM information_schema.REFERENTIAL_CONSTRAINTS"
        " WHERE CONSTRAINT_SCHEMA = %s AND UNIQUE_CONSTRAINT_SCHEMA = %s"
    )
    ties = [
        (str(table), str(key))
        for table, key, other in answers.rows(database, statement, schema, schema, columns=3)
        if table != other and table in names and other in names
    ]
    for table, key in ties:
        answers.carry_out(database, f"ALTER TABLE {Thing('TABLE', table).quoted()} DROP FOREIGN KEY `{key}`")
    return bool(ties)


def comment_on(database: Database, table: Thing, comment: str) -> None:
    """Give a table this comment."""
    answers.carry_out(database, f"ALTER TABLE {table.quoted()} COMMENT = %s", comment)


def _is_same_name(name: str, thing: Thing) -> bool:
    """Names of routines and events have no case (MySQL's manual, "Identifier Case Sensitivity")."""
    if thing.kind in {"PROCEDURE", "FUNCTION", "EVENT"}:
        return name.casefold() == thing.name.casefold()
    return name == thing.name
