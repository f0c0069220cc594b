"""A table that exists at an external server: from its key's name to statements that read one row each.

Only the key is read, so that nothing of a row is kept or shown, and only by an index that begins with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.external import connection as external_connection
from tlstax.external import failures as external_failures
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.products.external import external_product
from tlstax.sql.database import Database, SqlError
from tlstax.study.workloads.user_defined import UserWorkload, reading_keys
from tlstax.support.credentials import quoted
from tlstax.support.errors import UserMistake

SHAPE = "write a table of the schema in the URL and its key, such as orders.id"

_MOST = 2**63 - 1
"""The largest that a load client draws."""


@dataclass(frozen=True)
class TableKey:
    """A table and the column that its rows are read by, as they were typed."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True)
class KeyRange:
    """The lowest and the highest key that a table has."""

    low: int
    high: int


UNKNOWN = KeyRange(1, 1)
"""What stands for a range before it is asked for."""


def parse(text: str) -> TableKey:
    """From `orders.id`. Raises UserMistake."""
    table, _, column = text.rpartition(".")
    if not table or not column or any(forbidden in text for forbidden in '`"\0'):
        raise UserMistake(f"--table: {quoted(text)} is not a table and its key", remedy=SHAPE)
    return TableKey(table, column)


def workloads(
    key: TableKey, drawn_from: KeyRange, address: ExternalAddress | None = None
) -> dict[str, UserWorkload]:
    """The workloads that read rows of the table at this address by keys of this range.

    Without an address it is one of MySQL's family. UserMistake where the address has no schema.
    """
    if address is not None:
        _check_has_schema(address)
    schema = external_product("mysql" if address is None else address.product).schema
    named = schema.quoted_table((address.schema if address is not None else None) or "", key.table)
    return reading_keys(named, schema.quoted(key.column), drawn_from.low, drawn_from.high)


def key_range(access: ExternalAccess, key: TableKey) -> KeyRange:
    """The range of the table's keys, asked in one connection that is closed before anything else is opened.

    UserMistake where there is no such table or column, or rows cannot be read by it one at a time; as a
    login raises it otherwise.
    """
    _check_has_schema(access.address)
    database = external_connection.connect(access, access.address.schema)
    try:
        return _asked(database, access, key)
    except SqlError as error:
        raise external_failures.of_refusal(access, error) from error
    finally:
        external_connection.close(database)


def _check_has_schema(address: ExternalAddress) -> None:
    if address.schema is None:
        remedy = SHAPE if address.product == "mysql" else f"{SHAPE} (?schema=public)"
        raise UserMistake("--table names a table of a schema, and the URL names none", remedy=remedy)


def _asked(database: Database, access: ExternalAccess, key: TableKey) -> KeyRange:
    schema, named = external_product(access.product).schema, access.address.schema or ""
    where = f"{named} at {access.address}"
    columns = schema.column_types(database, named, key.table)
    if not columns:
        raise UserMistake(
            f"--table: {access.user} sees no table {key.table} in {where}",
            remedy="check its name, or grant SELECT on it",
        )
    kind = columns.get(key.column.lower())
    if kind is None:
        raise UserMistake(
            f"--table: {key.table} in {where} has no column {key.column}",
            remedy=f"it has {', '.join(sorted(columns)[:8])}",
        )
    if kind not in schema.INTEGERS:
        raise UserMistake(
            f"--table: {key} is of the type {kind}, and keys are drawn as whole numbers",
            remedy="name a column of a whole-number type that has an index",
        )
    if not schema.begins_index(database, named, key.table, key.column):
        raise UserMistake(
            f"--table: no index of {key.table} begins with {key.column}, so that each statement would read "
            "the whole table",
            remedy="name the first column of its primary key",
        )
    found = schema.key_range(database, named, key.table, key.column)
    if found is None:
        raise UserMistake(f"--table: {key.table} in {where} has no rows", remedy="name a table that has some")
    if found[1] > _MOST:
        raise UserMistake(f"--table: keys of {key} are beyond {_MOST}", remedy="name another table")
    return KeyRange(*found)
