"""A schema: named, created, used, dropped; and what it has in it, listed, told apart, dropped.

Every object (table, view, routine, trigger, event) has a sign by which it is known again. A table's is its
comment, which TRUNCATE and ALTER leave; of the others it is a digest of what the server says of them, who
defined them and when among it.

Names of schemas are the server's own, and are compared here: MariaDB, asked for the events and triggers of
`shop`, also shows those of `Shop`. An account is shown what it may use. All functions raise SqlError.

Source: the reference manuals of MySQL ("CREATE DATABASE Statement", "USE Statement", "DROP DATABASE
Statement", "INFORMATION_SCHEMA Tables") and MariaDB ("CREATE DATABASE": COMMENT, from 10.5 on).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import get_args

from tlstax.mysql.database import NO_SUCH_COLUMN, REFERRED_TO, SCHEMA_EXISTS, UNKNOWN_SCHEMA
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.ownership import Kind, Named, Thing, several


def own_name(database: Database, schema: str) -> str:  # noqa: ARG001 (the connection has logged in to it)
    """The connection's schema by the server's own name, however the user spelled it."""
    used = answers.name(answers.row(database, "SELECT DATABASE()", columns=1)[0])
    asked = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = DATABASE()"
    names = [str(name) for (name,) in answers.rows(database, asked, columns=1)]
    folded = [name for name in names if name.casefold() == used.casefold()]
    return used if used in names or not folded else folded[0]


def exists(database: Database, name: str) -> bool:
    """Whether there is a schema of exactly this name that the account may see."""
    asked = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s"
    return name in {str(found) for (found,) in answers.rows(database, asked, name, columns=1)}


def spelled_otherwise(database: Database, name: str) -> list[str]:
    """Other schemas that differ from this one in the case of letters alone, as far as the account sees them.

    MariaDB's DROP DATABASE takes the events of all of these along (seen with 11.8).
    """
    asked = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE LOWER(SCHEMA_NAME) = LOWER(%s)"
    return sorted({str(found) for (found,) in answers.rows(database, asked, name, columns=1)} - {name})


def comment_of(database: Database, name: str) -> str | None:
    """The schema's comment; None where this server has none (MySQL)."""
    asked = "SELECT SCHEMA_NAME, SCHEMA_COMMENT FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s"
    try:
        rows = answers.rows(database, asked, name, columns=2)
    except SqlError as error:
        if error.code in NO_SUCH_COLUMN:
            return None
        raise
    return next((str(comment) for found, comment in rows if found == name), "")


def create(database: Database, name: str, comment: str | None) -> bool:
    """Create the schema, with a comment unless that is None; False where there is one of this name."""
    with_comment = ("", ()) if comment is None else (" COMMENT %s", (comment,))
    try:
        answers.carry_out(database, f"CREATE DATABASE {quoted(name)}{with_comment[0]}", *with_comment[1])
    except SqlError as error:
        if error.code in SCHEMA_EXISTS:
            return False
        raise
    return True


def use(database: Database, name: str) -> None:
    """Have the connection's statements work in it from now on."""
    answers.carry_out(database, f"USE {quoted(name)}")


def drop_table_if_there(database: Database, name: str, table: str) -> None:
    """Drop a table of the schema, if there are such ones."""
    try:
        answers.carry_out(database, f"DROP TABLE IF EXISTS `{name}`.`{table}`")
    except SqlError as error:
        if error.code not in UNKNOWN_SCHEMA:
            raise


def drop(database: Database, name: str) -> None:
    """Drop the schema and all that is in it."""
    answers.carry_out(database, drop_statement(name))


def drop_statement(name: str) -> str:
    """What drops the schema and all that is in it."""
    return f"DROP DATABASE {quoted(name)}"


KINDS: tuple[Kind, ...] = get_args(Kind)

HOLDS_IT = "a foreign key of another table refers to it"
"""Why an object is not dropped that others need."""

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


def in_schema(schema: str, table: str) -> str:  # noqa: ARG001 (connections log in to the schema)
    """What load clients, and the functions of `table`, call a table of the schema."""
    return table


def quoted(name: str) -> str:
    """A name of an object or a schema for a statement."""
    return "`" + name.replace("`", "``") + "`"


def sign(database: Database, schema: str, thing: Thing) -> str | None:
    """What the object is known by; empty where the server reports too little, None where it is not there."""
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


def why_kept(database: Database, name: str, user: str) -> str:
    """Why DROP DATABASE might take something of others with it, as a clause; empty where it cannot."""
    if objects := listed(database, name):
        return f"it holds what tlstax did not make: {several(sorted(objects))}"
    if twins := spelled_otherwise(database, name):
        return f"MariaDB's DROP DATABASE takes events of {several(twins)} along"
    if not sees_all(database, name):
        return (
            f"{user} is not shown whether others have put routines or events into it (that "
            f"takes EVENT and EXECUTE on {name}.*)"
        )
    if unknown := unknown_kinds(database):
        return f"tlstax does not know what this server keeps in {several(unknown)} of information_schema"
    return ""


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


def drop_object(database: Database, schema: str, thing: Thing) -> bool:
    """Drop it; False where a foreign key of another table refers to it, which is then still there."""
    try:
        answers.carry_out(database, f"DROP {thing.kind} IF EXISTS {quoted(schema)}.{quoted(thing.name)}")
    except SqlError as error:
        if error.code in REFERRED_TO:
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


def object_drop_statements(database: Database, schema: str, things: Collection[Thing]) -> list[str]:
    """What a user pastes to drop these objects, in an order that foreign keys allow."""
    statements = [
        f"DROP {thing.kind} {quoted(schema)}.{quoted(thing.name)};"
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
        statements += [f"DROP TABLE {quoted(schema)}.{quoted(table.name)};" for table in free]
        tables = [table for table in tables if table not in free]
        ties = [tie for tie in ties if tie[0] in {table.name for table in tables}]
    return statements


def set_table_comment(database: Database, schema: str, table: Thing, comment: str) -> None:
    """Give a table this comment."""
    named = f"{quoted(schema)}.{quoted(table.name)}".replace("%", "%%")
    answers.carry_out(database, f"ALTER TABLE {named} COMMENT = %s", comment)


def _is_same_name(name: str, thing: Thing) -> bool:
    """Names of routines and events have no case (MySQL's manual, "Identifier Case Sensitivity")."""
    if thing.kind in {"PROCEDURE", "FUNCTION", "EVENT"}:
        return name.casefold() == thing.name.casefold()
    return name == thing.name


def named_tables(database: Database, schema: str, names: Collection[str]) -> dict[str, Named]:
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


def functions_of_others(database: Database, schema: str, names: Collection[str]) -> set[str]:
    """Which of these names, in capitals, the schema's stored functions have."""
    asked = (
        "SELECT ROUTINE_NAME FROM information_schema.ROUTINES"
        " WHERE ROUTINE_SCHEMA = %s AND ROUTINE_TYPE = 'FUNCTION'"
    )
    return {str(name).upper() for (name,) in answers.rows(database, asked, schema, columns=1)} & {*names}


def reads_otherwise(database: Database) -> str:
    """Why new connections read SQL otherwise than it is read here, as a clause; empty where they do not.

    With ORACLE in MariaDB's `sql_mode` they read it as Oracle does.
    """
    modes = str(answers.row(database, "SELECT @@GLOBAL.sql_mode", columns=1)[0])
    if "ORACLE" in modes.upper().split(","):
        return "its sql_mode has ORACLE, in which SQL means other things"
    return ""


INTEGERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
"""Types of whole numbers, as `column_types` calls them."""


def quoted_table(schema: str, table: str) -> str:  # noqa: ARG001
    """A table of the schema that is there, for a statement of load clients."""
    return quoted(table)


def column_types(database: Database, schema: str, table: str) -> dict[str, str]:  # noqa: ARG001
    """The type of each column of the table in this connection's schema, by its name in small letters.

    Empty where the account sees no such table.
    """
    asked = (
        "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS "
        "WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s"
    )
    found = answers.rows(database, asked, table, columns=2)
    return {str(name).lower(): str(kind).lower() for name, kind in found}


def begins_index(database: Database, schema: str, table: str, column: str) -> bool:  # noqa: ARG001
    """Whether an index of the table begins with the column."""
    asked = (
        "SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() "
        "AND TABLE_NAME = %s AND COLUMN_NAME = %s AND SEQ_IN_INDEX = 1"
    )
    return answers.number(answers.row(database, asked, table, column, columns=1)[0]) > 0


def key_range(database: Database, schema: str, table: str, column: str) -> tuple[int, int] | None:  # noqa: ARG001
    """The lowest and the highest value of a column of whole numbers; None of a table without rows.

    An index that begins with the column has both at its ends. The names have no backquote.
    """
    asked = f"SELECT MIN(`{column}`), MAX(`{column}`) FROM `{table}`"  # noqa: S608 (no backquote)
    low, high = answers.row(database, asked, columns=2)
    return None if low is None or high is None else (answers.number(low), answers.number(high))
