"""Rows of runs for the store's views: of a run that has just ended, and of all that have none."""

from __future__ import annotations

from tlstax.cli.kept import open_store
from tlstax.cli.streams import show, tell
from tlstax.records.trial import StoredRun
from tlstax.report.run_tables import TABLES, Tabulated
from tlstax.results.document import RunDocument
from tlstax.store import Store
from tlstax.support.errors import MachineFault
from tlstax.support.text import counted
from tlstax.topics.core.columns import Values


def write_rows(store: Store, stored: StoredRun, found: RunDocument | None = None) -> None:
    """Write the rows of a run; `found` is what it shows, None where that is not known yet."""
    store.tabulate(stored.header.run, rows_of(stored, found))


def rows_of(stored: StoredRun, found: RunDocument | None = None) -> dict[str, list[Values]]:
    """The rows of a run, by table."""
    one = Tabulated(stored, found)
    return {table: list(one.rows(table)) for table in TABLES}


def write_missing(store: Store) -> int:
    """Write the rows of all runs that have none, each by itself; how many were written.

    A run that cannot be read is named, and the others go on. MachineFault where nothing can be written.
    """
    written, missing = 0, store.without_rows()
    if missing:
        tell(f"tlstax: writing the rows of {counted(len(missing), 'run')} that have none")
    for run in missing:
        try:
            rows = rows_of(store.load(run))
        except MachineFault as fault:
            tell(f"tlstax: {fault.sentence()}")
        except Exception as error:  # Whatever is wrong with one run, the others have rows.
            tell(f"tlstax: run {run} cannot be worked out ({type(error).__name__}: {error})")
        else:
            store.tabulate(run, rows)
            written += 1
    return written


def tabulate_command() -> int:
    """Write what is missing and say for how many runs; the exit status."""
    with open_store() as store:
        written = write_missing(store)
        path = store.path
    show(f"{path}: rows of {counted(written, 'run')} written\n")
    return 0
