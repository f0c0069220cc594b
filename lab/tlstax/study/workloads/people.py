"""The four statements of the study of MySQL 8.0.33 (Haikal et al.) on its table of people, as text.

The table has no index: the times and loads that were published are those of work on the whole table. The
paper does not print its statements; these are the plainest that have the costs which it shows.
"""

from __future__ import annotations

from tlstax.contract import Digits, Sequence, Statement, UniformInt, Workload

LAST_ID = 2**31 - 1
"""The largest value of the column `id`, an INT."""

NEW_PERSON = "'Ada', 'Lovelace', 'ada.lovelace@example.com', 'Female', '192.0.2.15'"
"""What an inserted row holds beside its id (the address is from RFC 5737, the domain from RFC 2606)."""


def select(table: str, rows: int) -> Workload:  # noqa: ARG001 (all workloads are made alike)
    """All rows of the table."""
    return _of(f"SELECT * FROM {table}")  # noqa: S608 - the table's name is our own


def insert(table: str, rows: int) -> Workload:
    """One row, with the next id."""
    return _of(
        f"INSERT INTO {table} (id, first_name, last_name, email, gender, ip_address)"  # noqa: S608
        f" VALUES ({{id}}, {NEW_PERSON})",
        id=Sequence(first=rows + 1, last=LAST_ID),
    )


def update(table: str, rows: int) -> Workload:
    """Another e-mail address for one row."""
    return _of(
        f"UPDATE {table} SET email={{email}} WHERE id={{id}}",  # noqa: S608 - the table's name is our own
        email=Digits(template="###########@example.com"),
        id=UniformInt(low=1, high=rows),
    )


def delete(table: str, rows: int) -> Workload:
    """One row after another; when all are gone, it is over."""
    return _of(
        f"DELETE FROM {table} WHERE id={{id}}",  # noqa: S608 - the table's name is our own
        id=Sequence(first=1, last=rows),
    )


def _of(sql: str, **parameters: Digits | Sequence | UniformInt) -> Workload:
    return Workload(protocol="text", statements=(Statement(sql=sql, parameters=dict(parameters)),))
