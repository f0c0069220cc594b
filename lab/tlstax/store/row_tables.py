"""The rows of runs beside their documents, and the views by which others read them; written run by run.

Documents are the evidence, rows are worked out from them and can be written again at any time. A run's rows
are there whole or not at all, and go with the run. They are made by who wants them to be read: what keeps
trials as they come knows nothing of tables, and a store has views once rows were asked for.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping

from tlstax.records.trial import StoredRun
from tlstax.report.run_tables import TABLES, Tabulated
from tlstax.results.document import RunDocument
from tlstax.store.store import Store
from tlstax.support.errors import MachineFault
from tlstax.support.text import counted
from tlstax.topics.core.columns import Table, Values

_OF_THE_RUN = ("run", "study", "started_at", "status", "stopped_because")
"""What the view `runs` has of every run, also of one without rows."""


def table_of(table: Table) -> str:
    """The name of the table that this one's view is made of."""
    return f"{table.name.removesuffix('s')}_rows"


def _create_statements() -> Iterator[str]:
    """What makes tables and views that are not there; dates and names of columns are in them alone."""
    for table in TABLES.values():
        parent = "kept_runs" if table.name == "runs" else "run_rows"
        columns = [f"{one.name} {one.type}" for one in table.columns]
        if table.name == "runs":
            columns.append("definition TEXT NOT NULL")
        yield (
            f"CREATE TABLE IF NOT EXISTS {table_of(table)} ({', '.join(columns)}, "
            f"PRIMARY KEY ({', '.join(table.key)}), "
            f"FOREIGN KEY (run) REFERENCES {parent} (run) ON DELETE CASCADE) WITHOUT ROWID"
        )


def _view_statements() -> Iterator[str]:
    """What makes the views anew. Columns that are defined no longer are in their tables, and in no view."""
    for table in TABLES.values():
        yield f"DROP VIEW IF EXISTS {table.name}"
        if table.name != "runs":
            names = ", ".join(column.name for column in table.columns)
            yield f"CREATE VIEW {table.name} AS SELECT {names} FROM {table_of(table)}"  # noqa: S608
            continue
        kept = [f"kept_runs.{name}" for name in _OF_THE_RUN]
        others = [f"run_rows.{one.name}" for one in table.columns if one.name not in _OF_THE_RUN]
        names = ", ".join((*kept, *others))
        yield f"CREATE VIEW runs AS SELECT {names} FROM kept_runs LEFT JOIN run_rows USING (run)"  # noqa: S608


DEFINITION = hashlib.sha256("\n".join((*_create_statements(), *_view_statements())).encode()).hexdigest()[:16]
"""Changes with the tables, so that rows of other definitions are noticed."""


def _define(connection: sqlite3.Connection) -> None:
    """Make tables and views as they are defined now, unless they are; rows stay, without what is new."""
    if connection.execute("SELECT definition FROM row_definition").fetchall() == [(DEFINITION,)]:
        return
    for statement in _create_statements():
        connection.execute(statement)
    for table in TABLES.values():
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({table_of(table)})")}
        for column in table.columns:
            if column.name not in there:
                connection.execute(f"ALTER TABLE {table_of(table)} ADD COLUMN {column.name} {column.type}")
    for statement in _view_statements():
        connection.execute(statement)
    connection.execute("DELETE FROM row_definition")
    connection.execute("INSERT INTO row_definition (definition) VALUES (?)", (DEFINITION,))


def rows_of(stored: StoredRun, found: RunDocument | None = None) -> dict[str, list[Values]]:
    """The rows of a run, by table; `found` is what it shows, None where that is not known yet."""
    one = Tabulated(stored, found)
    return {table: list(one.rows(table)) for table in TABLES}


def write(store: Store, run: str, rows: Mapping[str, Iterable[Values]]) -> None:
    """Write the rows of a run, by table, for the views: all of them or none."""
    with store.changing(run) as connection:
        replace(connection, run, rows)


def replace(connection: sqlite3.Connection, run: str, rows: Mapping[str, Iterable[Values]]) -> None:
    """Put these rows, by table, in the place of those that the run has. In a transaction."""
    _define(connection)
    connection.execute("DELETE FROM run_rows WHERE run = ?", (run,))
    for table in TABLES.values():
        names = [column.name for column in table.columns]
        own = [tuple(row[name] for name in names) for row in rows[table.name]]
        if table.name == "runs":
            names, own = [*names, "definition"], [(*values, DEFINITION) for values in own]
        places = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO {table_of(table)} ({', '.join(names)}) VALUES ({places})", own)  # noqa: S608


def missing(store: Store) -> list[str]:
    """The runs that have no rows of today's definition, the oldest first; none that is running.

    The views are there from then on, also where no run has rows.
    """
    with store.changing() as connection:
        _define(connection)
        found = connection.execute(
            "SELECT run FROM kept_runs LEFT JOIN run_rows USING (run) "
            "WHERE run_rows.definition IS NOT ? ORDER BY kept_runs.rowid",
            (DEFINITION,),
        ).fetchall()
    running = {one.run for one in store.runs() if one.status == "running"}
    return [run for (run,) in found if isinstance(run, str) and run not in running]


def write_missing(store: Store, tell: Callable[[str], None]) -> int:
    """Write the rows of all runs that have none, each by itself; how many were written.

    A run that cannot be read is named to `tell`, and the others go on. MachineFault where nothing can be
    written.
    """
    written, without = 0, missing(store)
    if without:
        tell(f"tlstax: writing the rows of {counted(len(without), 'run')} that have none")
    for run in without:
        try:
            rows = rows_of(store.load(run))
        except MachineFault as fault:
            tell(f"tlstax: {fault.sentence()}")
        except Exception as error:  # Whatever is wrong with one run, the others have rows.
            tell(f"tlstax: run {run} cannot be worked out ({type(error).__name__}: {error})")
        else:
            write(store, run, rows)
            written += 1
    return written
