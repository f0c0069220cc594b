"""The store's tables, version by version: what is older is upgraded step by step, what is newer refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from tlstax.store.writer import Writer
from tlstax.support.errors import UserMistake

APPLICATION_ID = 0x746C7361
"""Marks a SQLite file as a store of this program (`PRAGMA application_id`): "tlsa" in ASCII."""

Migration = Callable[[sqlite3.Connection], None]


def _runs_and_trials(connection: sqlite3.Connection) -> None:
    """To version 1. Headers and records are deflated JSON; the columns beside them serve listings.

    `pid`, `started_ticks` and `boot_id` say which process writes a run, so that a killed one is noticed.
    """
    connection.execute("""
        CREATE TABLE runs (
            run TEXT PRIMARY KEY,
            study TEXT NOT NULL,
            started_at TEXT NOT NULL,
            header BLOB NOT NULL,
            status TEXT NOT NULL,
            stopped_because TEXT NOT NULL DEFAULT '',
            pid INTEGER NOT NULL,
            started_ticks INTEGER NOT NULL,
            boot_id TEXT NOT NULL
        )""")
    connection.execute("""
        CREATE TABLE trials (
            run TEXT NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
            block INTEGER NOT NULL,
            position INTEGER NOT NULL,
            verdict TEXT NOT NULL,
            record BLOB NOT NULL,
            PRIMARY KEY (run, block, position)
        )""")


def _resumed(connection: sqlite3.Connection) -> None:
    """To version 2. When a run was taken up again: times as JSON, the first one first."""
    connection.execute("ALTER TABLE runs ADD COLUMN resumed_at TEXT NOT NULL DEFAULT '[]'")


def _views(connection: sqlite3.Connection) -> None:
    """To version 3. The names `runs` and `trials` are those of views over rows of plain columns.

    `row_definition` says by which definition these tables and views were made (`row_tables`).
    """
    connection.execute("ALTER TABLE runs RENAME TO kept_runs")
    connection.execute("ALTER TABLE trials RENAME TO kept_trials")
    connection.execute("CREATE TABLE row_definition (definition TEXT NOT NULL)")


def _locked(connection: sqlite3.Connection) -> None:
    """To version 4. Whether the writer of a run holds a lock while it writes (`writer`)."""
    connection.execute("ALTER TABLE kept_runs ADD COLUMN locked INTEGER NOT NULL DEFAULT 0")


MIGRATIONS: tuple[Migration, ...] = (_runs_and_trials, _resumed, _views, _locked)
"""The step at place i takes a store from version i to i + 1. Steps are only ever added."""

VIEWS_SINCE = 3
"""The version from which `runs` and `trials` are views."""

LOCKS_SINCE = 4
"""The version from which a writer is known by its lock, and not by a number that others may not see."""


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the tables up to this program's version, in one transaction; a new file gets all of them.

    No other process may be preparing the same file meanwhile. Nothing is changed in a file that is not a
    store of this program, or of a newer one, or to which an older one is still writing: UserMistake.
    """
    version = _checked_version(connection, path)
    if version == len(MIGRATIONS):
        return
    if version == 0:
        connection.execute("PRAGMA auto_vacuum = FULL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if 0 < version < LOCKS_SINCE:
            _check_unwritten(connection, path, "runs" if version < VIEWS_SINCE else "kept_runs")
        for migration in MIGRATIONS[version:]:
            migration(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _check_unwritten(connection: sqlite3.Connection, path: Path, table: str) -> None:
    """UserMistake where an older version of this program is measuring: it would find its tables no more."""
    running = connection.execute(
        f"SELECT run, pid, started_ticks, boot_id FROM {table} WHERE status = 'running'"  # noqa: S608 - ours
    )
    for run, *writer in running:
        if Writer(*writer).is_alive():
            raise UserMistake(
                f"the store {path} is of an older tlstax, in which process {writer[0]} is writing run {run}",
                remedy="try again when that has ended",
            )


def _checked_version(connection: sqlite3.Connection, path: Path) -> int:
    application = _pragma(connection, "application_id")
    version = _pragma(connection, "user_version")
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if application != APPLICATION_ID and (application or version or tables):
        raise UserMistake(f"{path} is another program's database", remedy="choose another file for the store")
    if version > len(MIGRATIONS):
        raise UserMistake(
            f"the store {path} was written by a newer tlstax (version {version} of its tables, this one "
            f"knows {len(MIGRATIONS)})",
            remedy="update tlstax, or choose another file for the store",
        )
    return version


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
