"""A schema as a whole: created, used, dropped. All functions raise SqlError.

Source: MySQL reference manual, "CREATE DATABASE Statement", "USE Statement" and "DROP DATABASE Statement".
"""

from __future__ import annotations

from tlstax.mysql import answers, error_codes
from tlstax.mysql.database import Database, SqlError


def create(database: Database, name: str) -> bool:
    """Create the schema; False where there is one of this name already."""
    try:
        answers.carry_out(database, f"CREATE DATABASE `{name}`")
    except SqlError as error:
        if error_codes.number_of(error) == error_codes.SCHEMA_EXISTS:
            return False
        raise
    return True


def use(database: Database, name: str) -> None:
    """Have the connection's statements work in it from now on."""
    answers.carry_out(database, f"USE `{name}`")


def drop(database: Database, name: str) -> None:
    """Drop the schema and all that is in it."""
    answers.carry_out(database, f"DROP DATABASE `{name}`")
