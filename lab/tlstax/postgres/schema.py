"""A schema of one database: created, dropped; and what it has in it, listed, told apart, dropped.

All names are said with their schema, so that nobody's search_path matters. A table is known again by its
comment, which is given to it in the message that creates it: several statements at once are one transaction
("Simple Query"). What others depend on is not dropped: DROP without CASCADE is refused then.

Source: PostgreSQL documentation, "System Catalogs" (pg_class, pg_depend, pg_index, pg_constraint), "Object
Information and Addressing Functions" and "DROP SCHEMA". All functions raise SqlError.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from tlstax.postgres.database import OBJECT_EXISTS, REFERRED_TO
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.ownership import Kind, Named, Thing, several
from tlstax.support.errors import UserMistake

KINDS: Final[tuple[Kind, ...]] = ("TABLE",)
"""What tlstax, or a statement of a user's, makes there; an index goes with its table."""

DROPPED_FIRST: Final[tuple[Kind, ...]] = ()
"""None: there are tables alone."""

HOLDS_IT: Final = "a foreign key or a view of others depends on it"
"""Why an object is not dropped that others need."""

INTEGERS: Final = frozenset({"smallint", "integer", "bigint"})
"""Types of whole numbers, as `column_types` calls them."""

_SIMPLE = re.compile("[a-z_][a-z0-9_]{0,62}")


def own_name(database: Database, schema: str) -> str:
    """The schema that the user named. UserMistake where there is none, or its name would need quotes."""
    remedy = "name a schema of small letters, digits and _ with ?schema=, or leave that out for tlstax's own"
    needs_none = answers.row(database, "SELECT quote_ident(%s)", schema, columns=1)[0] == schema
    if not _SIMPLE.fullmatch(schema) or not needs_none or schema.startswith("pg_"):
        raise UserMistake(f"tlstax works in no schema of the name {schema}", remedy=remedy)
    if not exists(database, schema):
        raise UserMistake(f"there is no schema {schema} in this database", remedy=remedy)
    return schema


def in_schema(schema: str, table: str) -> str:
    """What load clients, and the functions of `table`, call a table of the schema."""
    return f"{schema}.{table}"


def exists(database: Database, name: str) -> bool:
    """Whether there is a schema of exactly this name."""
    return bool(answers.rows(database, "SELECT 1 FROM pg_namespace WHERE nspname = %s", name, columns=1))


def comment_of(database: Database, name: str) -> str:
    """The schema's comment; empty where it has none, or is not there."""
    asked = "SELECT COALESCE(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = %s"
    return next((str(comment) for (comment,) in answers.rows(database, asked, name, columns=1)), "")


def create(database: Database, name: str, comment: str | None) -> bool:
    """Create the schema with its comment, both or neither; False where there is one of this name."""
    try:
        asked = f"CREATE SCHEMA {quoted(name)}; COMMENT ON SCHEMA {quoted(name)} IS %s"
        answers.carry_out(database, asked, comment)
    except SqlError as error:
        if error.code in OBJECT_EXISTS:
            return False
        raise
    return True


def use(database: Database, name: str) -> None:
    """Nothing: every name is said with its schema."""


def drop(database: Database, name: str) -> None:
    """Drop the schema; the server refuses where anything is in it."""
    answers.carry_out(database, drop_statement(name))


def drop_statement(name: str) -> str:
    """What drops the schema, where nothing is in it."""
    return f"DROP SCHEMA {quoted(name)}"


def drop_table_if_there(database: Database, name: str, table: str) -> None:
    """Drop a table of the schema, if there are such ones."""
    answers.carry_out(database, f"DROP TABLE IF EXISTS {quoted(name)}.{quoted(table)}")


def why_kept(database: Database, name: str, user: str) -> str:  # noqa: ARG001 (every account is shown all)
    """Why the schema would not be dropped, as a clause; empty where it would."""
    objects = listed(database, name)
    return f"it holds what tlstax did not make: {several(sorted(objects))}" if objects else ""


def table_comments(database: Database, schema: str) -> dict[str, str]:
    """The comment of everything in the schema that has its name among its tables, by that name."""
    asked = (
        "SELECT c.relname, COALESCE(obj_description(c.oid, 'pg_class'), '') FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s"
    )
    return {str(name): str(comment) for name, comment in answers.rows(database, asked, schema, columns=2)}


def listed(database: Database, schema: str) -> set[str]:
    """All that is in the schema, of whichever kind, in words: `the table orders`.

    An index and a column's sequence are not told apart from the table that they belong to.
    """
    asked = (
        "SELECT i.type, COALESCE(i.name, i.identity) FROM pg_depend d,"
        " LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) i"
        " WHERE d.refclassid = 'pg_namespace'::regclass AND d.deptype = 'n'"
        " AND d.refobjid = (SELECT oid FROM pg_namespace WHERE nspname = %s)"
        " AND NOT EXISTS (SELECT 1 FROM pg_depend o WHERE o.classid = d.classid AND o.objid = d.objid"
        " AND o.objsubid = 0 AND o.deptype IN ('a', 'i') AND o.refclassid = 'pg_class'::regclass)"
    )
    return {f"the {kind} {name}" for kind, name in answers.rows(database, asked, schema, columns=2)}


def sign(database: Database, schema: str, thing: Thing) -> str | None:
    """The table's comment; empty where something else has its name, None where nothing has."""
    asked = (
        "SELECT c.relkind::text, COALESCE(obj_description(c.oid, 'pg_class'), '') FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"
    )
    for kind, comment in answers.rows(database, asked, schema, thing.name, columns=2):
        return str(comment) if kind == "r" and thing.kind == "TABLE" else ""
    return None


def drop_object(database: Database, schema: str, thing: Thing) -> bool:
    """Drop it; False where something of others depends on it, which is then still there."""
    try:
        drop_table_if_there(database, schema, thing.name)
    except SqlError as error:
        if error.code in REFERRED_TO:
            return False
        raise
    return True


def untie(database: Database, schema: str, tables: Collection[Thing]) -> bool:
    """Drop the foreign keys by which these tables refer to each other; whether there was one."""
    names = {table.name for table in tables}
    asked = (
        "SELECT own.relname, k.conname, other.relname FROM pg_constraint k"
        " JOIN pg_class own ON own.oid = k.conrelid JOIN pg_class other ON other.oid = k.confrelid"
        " JOIN pg_namespace n ON n.oid = own.relnamespace AND n.oid = other.relnamespace"
        " WHERE k.contype = 'f' AND own.oid <> other.oid AND n.nspname = %s"
    )
    ties = [
        (str(own), str(key))
        for own, key, other in answers.rows(database, asked, schema, columns=3)
        if str(own) in names and str(other) in names
    ]
    for own, key in ties:
        answers.carry_out(
            database, f"ALTER TABLE {quoted(schema)}.{quoted(own)} DROP CONSTRAINT {quoted(key)}"
        )
    return bool(ties)


def object_drop_statements(
    database: Database,  # noqa: ARG001 (one statement drops what refers to each other)
    schema: str,
    things: Collection[Thing],
) -> list[str]:
    """What a user pastes to drop these tables."""
    names = ", ".join(f"{quoted(schema)}.{quoted(thing.name)}" for thing in sorted(things))
    return [f"DROP TABLE {names};"] if names else []


def set_table_comment(database: Database, schema: str, table: Thing, comment: str) -> None:
    """Give a table this comment."""
    named = f"{quoted(schema)}.{quoted(table.name)}".replace("%", "%%")
    answers.carry_out(database, f"COMMENT ON TABLE {named} IS %s", comment)


_TYPES: Final = {
    "v": "VIEW",
    "m": "MATERIALIZED VIEW",
    "S": "SEQUENCE",
    "f": "FOREIGN TABLE",
    "p": "PARTITIONED TABLE",
    "i": "INDEX",
    "I": "INDEX",
    "c": "TYPE",
}


def named_tables(database: Database, schema: str, names: Collection[str]) -> dict[str, Named]:
    """What the schema has of these names: `BASE TABLE` for one whose rows are read without more ado.

    That is a table without policies, which may call functions, and without tables that inherit from it, which
    may be elsewhere. The second is its access method, the one that there is before 12.
    """
    if not names:
        return {}
    places = ", ".join(["%s"] * len(names))
    asked = (
        "SELECT c.relname, c.relkind::text, c.relrowsecurity::text,"  # noqa: S608 (places)
        " EXISTS (SELECT 1 FROM pg_inherits h WHERE h.inhparent = c.oid)::text,"
        " COALESCE(upper(m.amname), 'HEAP') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " LEFT JOIN pg_am m ON m.oid = c.relam"
        f" WHERE n.nspname = %s AND c.relname IN ({places})"
    )
    found = {}
    for name, kind, policies, children, method in answers.rows(
        database, asked, schema, *sorted(names), columns=5
    ):
        of_table = _TYPES.get(str(kind), "OBJECT")
        if kind == "r":
            of_table = "BASE TABLE" if "true" not in {policies, children} else "TABLE WITH POLICIES OR HEIRS"
        found[str(name)] = Named(of_table, str(method))
    return found


def advances_sequence(database: Database, schema: str, table: str) -> bool:  # noqa: ARG001
    """False: no statement that is let through copies a default."""
    return False


def functions_of_others(database: Database, schema: str, names: Collection[str]) -> set[str]:  # noqa: ARG001
    """Which of these names, in capitals, somebody has given to a function or an operator of this database.

    One with fitting types may be called in place of the server's own. What belongs to an extension, which an
    administrator has installed, is not among them.
    """
    if not names:
        return set()
    places = ", ".join(["%s"] * len(names))
    asked = " UNION ".join(
        f"SELECT upper(o.{name}) FROM {catalog} o JOIN pg_namespace n ON n.oid = o.{where}"  # noqa: S608 (ours)
        f" WHERE n.nspname <> 'pg_catalog' AND upper(o.{name}) IN ({places}) AND NOT EXISTS (SELECT 1"
        f" FROM pg_depend d WHERE d.classid = '{catalog}'::regclass AND d.objid = o.oid AND d.deptype = 'e')"
        for catalog, name, where in (
            ("pg_proc", "proname", "pronamespace"),
            ("pg_operator", "oprname", "oprnamespace"),
        )
    )
    return {str(name) for (name,) in answers.rows(database, asked, *sorted(names), *sorted(names), columns=1)}


def reads_otherwise(database: Database) -> str:
    """Why a statement may do there what it does not say, as a clause; empty where it may not.

    What is let through has no backslash, and means the same whatever is set. But a cast that somebody has
    made is a function, and is called where no statement has one ("CREATE CAST").
    """
    asked = (
        "SELECT COUNT(*) FROM pg_cast c JOIN pg_proc p ON p.oid = c.castfunc JOIN pg_namespace n"
        " ON n.oid = p.pronamespace WHERE n.nspname <> 'pg_catalog' AND NOT EXISTS (SELECT 1 FROM pg_depend d"
        " WHERE d.classid = 'pg_cast'::regclass AND d.objid = c.oid AND d.deptype = 'e')"
    )
    if answers.number(answers.row(database, asked, columns=1)[0]):
        return "the database has a cast with a function, which others made (CREATE CAST)"
    return ""


def quoted(name: str) -> str:
    """A name for a statement."""
    return '"' + name.replace('"', '""') + '"'


def quoted_table(schema: str, table: str) -> str:
    """A table of the schema that is there, for a statement of load clients."""
    return f"{quoted(schema)}.{quoted(table)}"


_OF_TABLE = (
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid"
    " AND a.attnum > 0 AND NOT a.attisdropped"
)


def column_types(database: Database, schema: str, table: str) -> dict[str, str]:
    """The type of each column of the table that the account may read, by its name in small letters.

    Empty where there is no such table.
    """
    asked = (
        f"SELECT a.attname, format_type(a.atttypid, NULL){_OF_TABLE} WHERE n.nspname = %s AND c.relname = %s"
        " AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')"
    )
    found = answers.rows(database, asked, schema, table, columns=2)
    return {str(name).lower(): str(kind) for name, kind in found}


def begins_index(database: Database, schema: str, table: str, column: str) -> bool:
    """Whether an index of the whole table begins with the column."""
    asked = (
        f"SELECT COUNT(*){_OF_TABLE} JOIN pg_index x ON x.indrelid = c.oid AND x.indkey[0] = a.attnum"
        " AND x.indisvalid AND x.indpred IS NULL WHERE n.nspname = %s AND c.relname = %s AND a.attname = %s"
    )
    return answers.number(answers.row(database, asked, schema, table, column, columns=1)[0]) > 0


def key_range(database: Database, schema: str, table: str, column: str) -> tuple[int, int] | None:
    """The lowest and the highest value of a column of whole numbers; None of a table without rows."""
    key = quoted(column)
    asked = f"SELECT MIN({key}), MAX({key}) FROM {quoted_table(schema, table)}"  # noqa: S608 (quoted)
    low, high = answers.row(database, asked, columns=2)
    return None if low is None or high is None else (answers.number(low), answers.number(high))
