"""The rows of runs beside their documents, and the views by which others read them; written run by run.

Documents are the evidence, rows are worked out from them and can be written again at any time. A run's rows
are there whole or not at all, and go with the run.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping

from tlstax.report.run_tables import TABLES
from tlstax.topics.core.columns import Table, Values

_OF_THE_RUN = ("run", "study", "started_at", "status", "stopped_because")
"""What the view `runs` has of every run, also of one without rows."""


def rows_of(table: Table) -> str:
    """The name of the table that the view is made of."""
    return f"{table.name.removesuffix('s')}_rows"


def create_statements() -> Iterator[str]:
    """What makes tables and views that are not there; dates and names of columns are in them alone."""
    for table in TABLES.values():
        parent = "kept_runs" if table.name == "runs" else "run_rows"
        columns = [f"{one.name} {one.type}" for one in table.columns]
        if table.name == "runs":
            columns.append("definition TEXT NOT NULL")
        yield (
            f"CREATE TABLE IF NOT EXISTS {rows_of(table)} ({', '.join(columns)}, "
            f"PRIMARY KEY ({', '.join(table.key)}), "
            f"FOREIGN KEY (run) REFERENCES {parent} (run) ON DELETE CASCADE) WITHOUT ROWID"
        )


def view_statements() -> Iterator[str]:
    """What makes the views anew. Columns that are defined no longer are in their tables, and in no view."""
    for table in TABLES.values():
        yield f"DROP VIEW IF EXISTS {table.name}"
        if table.name != "runs":
            names = ", ".join(column.name for column in table.columns)
            yield f"CREATE VIEW {table.name} AS SELECT {names} FROM {rows_of(table)}"  # noqa: S608
            continue
        kept = [f"kept_runs.{name}" for name in _OF_THE_RUN]
        others = [f"run_rows.{one.name}" for one in table.columns if one.name not in _OF_THE_RUN]
        names = ", ".join((*kept, *others))
        yield f"CREATE VIEW runs AS SELECT {names} FROM kept_runs LEFT JOIN run_rows USING (run)"  # noqa: S608


DEFINITION = hashlib.sha256("\n".join((*create_statements(), *view_statements())).encode()).hexdigest()[:16]
"""Changes with the tables, so that rows of other definitions are noticed."""


def are_defined(connection: sqlite3.Connection) -> bool:
    """Whether tables and views are as they are defined now."""
    return connection.execute("SELECT definition FROM row_definition").fetchall() == [(DEFINITION,)]


def define(connection: sqlite3.Connection) -> None:
    """Make tables and views as they are defined now; rows stay, without what is new. In a transaction."""
    for statement in create_statements():
        connection.execute(statement)
    for table in TABLES.values():
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({rows_of(table)})")}
        for column in table.columns:
            if column.name not in there:
                connection.execute(f"ALTER TABLE {rows_of(table)} ADD COLUMN {column.name} {column.type}")
    for statement in view_statements():
        connection.execute(statement)
    connection.execute("DELETE FROM row_definition")
    connection.execute("INSERT INTO row_definition (definition) VALUES (?)", (DEFINITION,))


def replace(connection: sqlite3.Connection, run: str, rows: Mapping[str, Iterable[Values]]) -> None:
    """Put these rows, by table, in the place of those that the run has. In a transaction."""
    forget(connection, run)
    for table in TABLES.values():
        names = [column.name for column in table.columns]
        own = [tuple(row[name] for name in names) for row in rows[table.name]]
        if table.name == "runs":
            names, own = [*names, "definition"], [(*values, DEFINITION) for values in own]
        places = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO {rows_of(table)} ({', '.join(names)}) VALUES ({places})", own)  # noqa: S608


def forget(connection: sqlite3.Connection, run: str) -> None:
    """Remove a run's rows: they are no longer what its documents say. In a transaction."""
    connection.execute("DELETE FROM run_rows WHERE run = ?", (run,))


def without_rows(connection: sqlite3.Connection) -> list[str]:
    """The runs that have no rows of today's definition, the oldest first."""
    found = connection.execute(
        "SELECT run FROM kept_runs LEFT JOIN run_rows USING (run) "
        "WHERE run_rows.definition IS NOT ? ORDER BY kept_runs.rowid",
        (DEFINITION,),
    )
    return [run for (run,) in found if isinstance(run, str)]
