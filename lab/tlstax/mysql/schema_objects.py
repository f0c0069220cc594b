"""What a schema has in it (tables, views, routines, triggers, events): listed, distinguished, dropped.

Every object has a sign by which it is known again. A table's is its comment, which TRUNCATE and ALTER leave;
of the others it is a digest of what the server says of them, who defined them and when among it. Source of
the columns: the reference manuals of MySQL and MariaDB, "INFORMATION_SCHEMA Tables".

Names of schemas are the server's own, and are compared here: MariaDB, asked for the events and triggers of
`shop`, also shows those of `Shop`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from tlstax.mysql import answers
from tlstax.mysql.database import REFERRED_TO, Database, SqlError, error_number

Kind = Literal["TABLE", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"]
KINDS: tuple[Kind, ...] = get_args(Kind)

DROPPED_FIRST: tuple[Kind, ...] = ("EVENT", "TRIGGER", "VIEW", "PROCEDURE", "FUNCTION")
"""What works on others goes before them; a trigger may stand at a table that is not ours."""

_BASE_TABLES = "FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_TYPE NOT LIKE '%%VIEW'"
_ROUTINES = (
    "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_DEFINITION, DEFINER, UNIX_TIMESTAMP(CREATED),"
    " UNIX_TIMESTAMP(LAST_ALTERED) FROM information_schema.ROUTINES"
    " WHERE ROUTINE_SCHEMA = %s AND ROUTINE_NAME = %s AND ROUTINE_TYPE = "
)
_ASKED: Mapping[Kind, tuple[str, int]] = {
    "TABLE": (f"SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_COMMENT {_BASE_TABLES} AND TABLE_NAME = %s", 3),
    "VIEW": (
        "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION, DEFINER, SECURITY_TYPE"
        " FROM information_schema.VIEWS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        5,
    ),
    "PROCEDURE": (f"{_ROUTINES}'PROCEDURE'", 6),
    "FUNCTION": (f"{_ROUTINES}'FUNCTION'", 6),
    "TRIGGER": (
        "SELECT TRIGGER_SCHEMA, TRIGGER_NAME, ACTION_STATEMENT, DEFINER, EVENT_OBJECT_TABLE, CREATED"
        " FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s AND TRIGGER_NAME = %s",
        6,
    ),
    "EVENT": (
        "SELECT EVENT_SCHEMA, EVENT_NAME, EVENT_DEFINITION, DEFINER, UNIX_TIMESTAMP(CREATED)"
        " FROM information_schema.EVENTS WHERE EVENT_SCHEMA = %s AND EVENT_NAME = %s",
        5,
    ),
}
"""For each kind a question whose first columns are schema and name, the third what identifies it, and how
many columns it has."""

_HOLDING: Mapping[str, tuple[str, str, str]] = {
    "TABLES": ("TABLE_SCHEMA", "TABLE_TYPE", "TABLE_NAME"),
    "ROUTINES": ("ROUTINE_SCHEMA", "ROUTINE_TYPE", "ROUTINE_NAME"),
    "TRIGGERS": ("TRIGGER_SCHEMA", "'TRIGGER'", "TRIGGER_NAME"),
    "EVENTS": ("EVENT_SCHEMA", "'EVENT'", "EVENT_NAME"),
    "LIBRARIES": ("LIBRARY_SCHEMA", "'LIBRARY'", "LIBRARY_NAME"),
    "SEQUENCES": ("SEQUENCE_SCHEMA", "'SEQUENCE'", "SEQUENCE_NAME"),
}
"""The views of information_schema that list objects of a schema: where it is named, the kind, the name."""

_DESCRIBING = frozenset(
    {
        *("CHECK_CONSTRAINTS", "COLUMNS", "COLUMNS_EXTENSIONS", "FILES", "GEOMETRY_COLUMNS"),
        *("JSON_DUALITY_VIEWS", "JSON_DUALITY_VIEW_COLUMNS", "JSON_DUALITY_VIEW_LINKS"),
        *("JSON_DUALITY_VIEW_TABLES", "KEY_COLUMN_USAGE", "KEY_PERIOD_USAGE", "PARAMETERS", "PARTITIONS"),
        *("PERIODS", "REFERENTIAL_CONSTRAINTS", "ROUTINE_LIBRARIES", "STATISTICS", "ST_GEOMETRY_COLUMNS"),
        *("TABLES_EXTENSIONS", "TABLE_CONSTRAINTS", "TABLE_CONSTRAINTS_EXTENSIONS", "VIEWS"),
        *("VIEW_ROUTINE_USAGE", "VIEW_TABLE_USAGE", "INDEX_STATISTICS", "TABLE_STATISTICS"),
        *("COLUMN_PRIVILEGES", "SCHEMA_PRIVILEGES", "TABLE_PRIVILEGES", "ROLE_COLUMN_GRANTS"),
        *("ROLE_ROUTINE_GRANTS", "ROLE_TABLE_GRANTS", "METADATA_LOCK_INFO"),
    }
)
"""Those that name a schema, but list parts of such objects, rights on them or their use. As of MySQL 9.7 and
MariaDB 11.8."""

_HOST = "SUBSTRING_INDEX(CURRENT_USER(), '@', -1)"
_MINE = (
    "CAST(GRANTEE AS BINARY) = CAST(CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER())"
    f" - CHAR_LENGTH({_HOST}) - 1), '''@''', {_HOST}, '''') AS BINARY)"
)
"""Who may read mysql.user is shown the rights of all accounts. MariaDB would take `ANN` for `ann`."""

_SIGHT = (
    f"SELECT UPPER(PRIVILEGE_TYPE) FROM information_schema.USER_PRIVILEGES WHERE {_MINE}"  # noqa: S608
    " UNION SELECT UPPER(PRIVILEGE_TYPE) FROM information_schema.SCHEMA_PRIVILEGES"
    f" WHERE CAST(%s AS BINARY) LIKE TABLE_SCHEMA AND {_MINE}"
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
        return quoted(self.name)


def quoted(name: str) -> str:
    """A name of an object or a schema for a statement."""
    return "`" + name.replace("`", "``") + "`"


def sign(database: Database, schema: str, thing: Thing) -> str | None:
    """What the object is known by; empty where the server does not report enough, None where it is not there.

    Raises SqlError, as all functions here do.
    """
    statement, columns = _ASKED[thing.kind]
    rows = answers.rows(database, statement, schema, thing.name, columns=columns)
    for its_schema, name, definition, *others in rows:
        if its_schema != schema or not _is_same_name(str(name), thing):
            continue
        if thing.kind == "TABLE":
            return str(definition)
        known = (str(definition), *map(str, others))
        return hashlib.sha256("\0".join(known).encode()).hexdigest() if definition else ""
    return None


def table_comments(database: Database, schema: str) -> dict[str, str]:
    """The comment of every table and view of the schema, by its name."""
    asked = (
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s"
    )
    rows = answers.rows(database, asked, schema, columns=3)
    return {str(name): str(comment) for its_schema, name, comment in rows if its_schema == schema}


def listed(database: Database, schema: str) -> set[str]:
    """All that the account sees in the schema, in words: `the table orders`."""
    views = _views(database)
    holding = [name for name in _HOLDING if name in views]
    asked = " UNION ALL ".join(
        f"SELECT {where}, {kind}, {name} FROM information_schema.{view} WHERE {where} = %s"  # noqa: S608
        for view in holding
        for where, kind, name in [_HOLDING[view]]
    )
    objects = answers.rows(database, asked, *[schema] * len(holding), columns=3)
    return {
        f"the {str(kind).lower().replace('base table', 'table')} {name}"
        for its_schema, kind, name in objects
        if its_schema == schema
    }


def unknown_kinds(database: Database) -> list[str]:
    """Views of information_schema that name a schema and are not known here, of whatever objects they are."""
    return sorted(_views(database) - _HOLDING.keys() - _DESCRIBING)


def _views(database: Database) -> set[str]:
    """The views of the server's dictionary in which something belongs to a schema."""
    asked = (
        "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS"
        " WHERE TABLE_SCHEMA = 'information_schema' AND COLUMN_NAME LIKE '%SCHEMA'"
    )
    columns = answers.rows(database, asked, columns=2)
    return {str(view).upper() for view, column in columns if str(column).upper().endswith("_SCHEMA")}


def sees_all(database: Database, schema: str) -> bool:
    """Whether the account is shown every routine and event of the schema: to others they are invisible."""
    rights = {str(right) for (right,) in answers.rows(database, _SIGHT, schema, columns=1)}
    return "EVENT" in rights and bool(rights & _SEES_ROUTINES)


def drop(database: Database, thing: Thing) -> bool:
    """Drop it; False where a foreign key of another table refers to it, which is then still there."""
    try:
        answers.carry_out(database, f"DROP {thing.kind} IF EXISTS {thing.quoted()}")
    except SqlError as error:
        if error_number(error) in REFERRED_TO:
            return False
        raise
    return True


def untie(database: Database, schema: str, tables: Collection[Thing]) -> bool:
    """Drop the foreign keys by which these tables refer to each other; whether there was one."""
    ties = _ties(database, schema, tables)
    for table, key, _ in ties:
        answers.carry_out(database, _untying(schema, table, key))
    return bool(ties)


def _untying(schema: str, table: str, key: str) -> str:
    return f"ALTER TABLE {quoted(schema)}.{quoted(table)} DROP FOREIGN KEY {quoted(key)}"


def _ties(database: Database, schema: str, tables: Collection[Thing]) -> list[tuple[str, str, str]]:
    """The foreign keys between different ones of these tables: whose it is, its name, what it refers to."""
    names = {table.name for table in tables if table.kind == "TABLE"}
    asked = (
        "SELECT CONSTRAINT_SCHEMA, UNIQUE_CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME,"
        " REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS"
        " WHERE CONSTRAINT_SCHEMA = %s AND UNIQUE_CONSTRAINT_SCHEMA = %s"
    )
    return [
        (str(table), str(key), str(other))
        for own, others, table, key, other in answers.rows(database, asked, schema, schema, columns=5)
        if own == others == schema and table != other and table in names and other in names
    ]


def drop_statements(database: Database, schema: str, things: Collection[Thing]) -> list[str]:
    """What a user pastes to drop these objects, in an order that foreign keys allow."""
    statements = [
        f"DROP {thing.kind} {quoted(schema)}.{thing.quoted()};"
        for kind in DROPPED_FIRST
        for thing in sorted(things)
        if thing.kind == kind
    ]
    tables = sorted(thing for thing in things if thing.kind == "TABLE")
    ties = _ties(database, schema, tables)
    while tables:
        referred_to = {other for _, _, other in ties}
        free = [table for table in tables if table.name not in referred_to]
        if not free:
            statements += [f"{_untying(schema, table, key)};" for table, key, _ in ties]
            ties, free = [], tables
        statements += [f"DROP TABLE {quoted(schema)}.{table.quoted()};" for table in free]
        tables = [table for table in tables if table not in free]
        ties = [tie for tie in ties if tie[0] in {table.name for table in tables}]
    return statements


def comment_on(database: Database, table: Thing, comment: str) -> None:
    """Give a table this comment."""
    answers.carry_out(database, f"ALTER TABLE {table.quoted()} COMMENT = %s", comment)


def _is_same_name(name: str, thing: Thing) -> bool:
    """Names of routines and events have no case (MySQL's manual, "Identifier Case Sensitivity")."""
    if thing.kind in {"PROCEDURE", "FUNCTION", "EVENT"}:
        return name.casefold() == thing.name.casefold()
    return name == thing.name
