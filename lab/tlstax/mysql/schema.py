"""A schema as a whole: named, created, used, dropped. All functions raise SqlError.

Source: MySQL reference manual, "CREATE DATABASE Statement", "USE Statement" and "DROP DATABASE Statement";
MariaDB documentation, "CREATE DATABASE" (COMMENT, from 10.5 on).
"""

from __future__ import annotations

from tlstax.mysql import answers
from tlstax.mysql.database import (
    NO_SUCH_COLUMN,
    SCHEMA_EXISTS,
    UNKNOWN_SCHEMA,
    Database,
    SqlError,
    error_number,
)
from tlstax.mysql.schema_objects import quoted


def own_name(database: Database) -> str:
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
        if error_number(error) == NO_SUCH_COLUMN:
            return None
        raise
    return next((str(comment) for found, comment in rows if found == name), "")


def create(database: Database, name: str, comment: str | None) -> bool:
    """Create the schema, with a comment unless that is None; False where there is one of this name."""
    with_comment = ("", ()) if comment is None else (" COMMENT %s", (comment,))
    try:
        answers.carry_out(database, f"CREATE DATABASE {quoted(name)}{with_comment[0]}", *with_comment[1])
    except SqlError as error:
        if error_number(error) == SCHEMA_EXISTS:
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
        if error_number(error) != UNKNOWN_SCHEMA:
            raise


def drop(database: Database, name: str) -> None:
    """Drop the schema and all that is in it."""
    answers.carry_out(database, drop_statement(name))


def drop_statement(name: str) -> str:
    """What drops the schema and all that is in it."""
    return f"DROP DATABASE {quoted(name)}"
