"""The store itself: runs begun, trials added, runs given back, listed and deleted."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field

from tlstax.contract import Frozen
from tlstax.records.trial import RunHeader, StoredRun, TrialRecord
from tlstax.store.schema import RunLocks, RunRow, Status, checked, packed, prepare, this_process, unpacked
from tlstax.support.directories import data_dir, ensure_directory
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import counted

LAST = "last"
"""The name by which the last run that measured something can be asked for."""

_COLUMNS = tuple(RunRow.model_fields)

_ONE = f"SELECT {', '.join(_COLUMNS)} FROM kept_runs WHERE run = ?"  # noqa: S608 - the names are ours

_LAST = """
    SELECT run FROM kept_runs AS one
    WHERE EXISTS (SELECT 1 FROM kept_trials WHERE kept_trials.run = one.run AND verdict = 'valid')
    ORDER BY rowid DESC LIMIT 1"""

_LISTING = f"""
    SELECT {", ".join(_COLUMNS)},
        count(*) FILTER (WHERE verdict = 'valid'),
        count(*) FILTER (WHERE verdict = 'invalid'),
        count(*) FILTER (WHERE verdict = 'unknown')
    FROM kept_runs LEFT JOIN kept_trials USING (run) GROUP BY run ORDER BY kept_runs.rowid DESC"""  # noqa: S608


_ADD_TRIAL = "INSERT INTO kept_trials (run, block, position, verdict, record) VALUES (?, ?, ?, ?, ?)"


class RunSummary(Frozen):
    """A run in a listing: what it was, how it ended, how many trials came out how."""

    run: str
    study: str
    started_at: str
    status: Status
    stopped_because: str
    valid: int
    invalid: int
    unknown: int


class UnreadableRun(Frozen):
    """A run in a listing that is kept and cannot be read, and why; it can be deleted."""

    run: str
    why: str


class RunListing(Frozen):
    """Every run that is kept, the newest first; `unreadable` are those of which no more is known."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    runs: tuple[RunSummary, ...]
    unreadable: tuple[UnreadableRun, ...] = ()


def new_run_id(started: datetime) -> str:
    """A name for a run that sorts by time and tells runs of the same second apart: 20261121-195500-ab12."""
    return f"{started.astimezone(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class Store:
    """One SQLite file of runs, in write-ahead-log mode, synchronous: what returned is on disk.

    Several processes may write runs of their own at once. All methods raise MachineFault, with what was
    kept, when the file or its disk fails.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, locks: RunLocks) -> None:
        self._connection = connection
        self._path = path
        self._locks = locks

    @classmethod
    def open(cls, path: Path, *, lock_timeout_s: float = 30.0) -> Store:
        """The store in this file, made (readable by its owner only) or upgraded where needed.

        `lock_timeout_s` is how long to wait for another writer. Raises UserMistake for a database of
        another program or of a newer version of this one; both are left as they are.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
        except OSError as fault:
            raise MachineFault(
                f"the store {path} cannot be written ({fault.strerror})",
                remedy="choose another file, or check who owns its folder",
            ) from fault
        with reported(path):
            connection = sqlite3.connect(path, timeout=lock_timeout_s, isolation_level=None)
            try:
                with _alone_in(path.parent):
                    prepare(connection, path)
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA foreign_keys = ON")
                # A text that is not UTF-8 is no fault of the database; it is no name or status of ours.
                connection.text_factory = lambda text: str(text, errors="replace")
                locks = RunLocks(path)
            except BaseException:
                connection.close()
                raise
        return cls(connection, path, locks)

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def close(self) -> None:
        """Let go of the file, and of runs that were being written."""
        self._connection.close()
        self._locks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def changing(self, run: str = "") -> Iterator[sqlite3.Connection]:
        """The database in a transaction, also for what others keep beside the runs (`row_tables`).

        A fault says what is kept of the run that is named.
        """
        with reported(self._path, kept=lambda: self._kept(run) if run else ""):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def begin(self, header: RunHeader) -> None:
        """A run begins, written by this process."""
        with self.changing(header.run), self._writing(header.run):
            self._insert(StoredRun(header=header, status="running", trials=()))

    def adopt(self, stored: StoredRun, beside: Callable[[sqlite3.Connection], None] = lambda _: None) -> None:
        """Keep a run that was measured elsewhere, with what `beside` writes: whole or not at all.

        UserMistake where there is one of that name, be it the same.
        """
        header = stored.header
        with reported(self._path):
            if self._connection.execute("SELECT 1 FROM kept_runs WHERE run = ?", (header.run,)).fetchone():
                raise UserMistake(
                    f"run {header.run} is in the store already",
                    remedy=f"`tlstax report {header.run}` shows it",
                )
        trials = _rows(header.run, stored.trials)
        with self.changing(header.run):
            self._insert(stored)
            self._connection.executemany(_ADD_TRIAL, trials)
            beside(self._connection)

    def resume(self, run_or_prefix: str) -> StoredRun:
        """The run as it was left, now written by this process; that it was resumed is kept with the time.

        Raises UserMistake while another process writes it.
        """
        run, writer = self.found(run_or_prefix), this_process()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self.changing(run), self._writing(run):
            row = self._row(run)
            if self._status_of(row) == "running" and not row.locked and row.writer != writer:
                raise _still_written(row)
            if self._connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'run_rows'").fetchone():
                self._connection.execute("DELETE FROM run_rows WHERE run = ?", (run,))
            self._connection.execute(
                "UPDATE kept_runs SET status = 'running', stopped_because = '', pid = ?, started_ticks = ?, "
                "boot_id = ?, locked = 1, resumed_at = json_insert(resumed_at, '$[#]', ?) WHERE run = ?",
                (writer.pid, writer.started_ticks, writer.boot_id, now, run),
            )
        return self.load(run)

    def amend(self, header: RunHeader) -> None:
        """The header of a run that goes on says more than when it began."""
        with self.changing(header.run):
            self._connection.execute(
                "UPDATE kept_runs SET header = ? WHERE run = ?", (packed(header, header.run), header.run)
            )

    def add_trials(self, run: str, records: Iterable[TrialRecord]) -> None:
        """Keep trials that count together or not at all; when this returns, all are on disk.

        No job's password, were there one, is kept.
        """
        rows = _rows(run, (record.without_password() for record in records))
        with self.changing(run):
            self._connection.executemany(_ADD_TRIAL, rows)

    def finish(self, run: str, status: Literal["complete", "interrupted", "failed"], why: str) -> None:
        """The run has ended, and why."""
        with self.changing(run):
            self._connection.execute(
                "UPDATE kept_runs SET status = ?, stopped_because = ? WHERE run = ?", (status, why, run)
            )
        self._locks.give_back(run)

    def load(self, run_or_prefix: str) -> StoredRun:
        """A run by its name, the beginning of it, or "last": the newest of which a trial is valid.

        Raises UserMistake where that is not one run.
        """
        run = self.found(run_or_prefix)
        with reported(self._path), put_off():
            row = self._row(run)
            status = self._status_of(row)
            header = unpacked(self._path, RunHeader, row.header, run)
            records = self._connection.execute(
                "SELECT record FROM kept_trials WHERE run = ? ORDER BY block, position", (run,)
            )
            trials = tuple(unpacked(self._path, TrialRecord, record, run) for (record,) in records)
        if header.run != run:
            raise MachineFault(
                f"the store {self._path} cannot be read: run {run} says that it is {header.run}",
                remedy=f"delete run {run}",
            )
        return StoredRun(
            header=header,
            status=status,
            stopped_because=row.ended_because(status),
            resumed_at=row.resumed_at,
            trials=trials,
        )

    def header(self, run: str) -> RunHeader:
        """What the run of this whole name set out to do. Raises UserMistake where there is none."""
        with reported(self._path):
            return unpacked(self._path, RunHeader, self._row(run).header, run)

    def runs(self) -> list[RunSummary]:
        """All runs that can be read, the one begun last first."""
        return [found for found in self.listed() if isinstance(found, RunSummary)]

    def listed(self) -> list[RunSummary | UnreadableRun]:
        """All runs, the one begun last first, those that cannot be read among them."""
        with reported(self._path):
            rows = self._connection.execute(_LISTING).fetchall()
        return [self._listed(*row) for row in rows]

    def delete(self, run_or_prefix: str) -> str:
        """Delete a run with its trials and say its name. Raises UserMistake while a process works on it."""
        run = self.found(run_or_prefix)
        with self.changing(run):
            with suppress(MachineFault):  # What is damaged can be deleted.
                row = self._row(run)
                if self._status_of(row) == "running":
                    raise UserMistake(
                        f"run {run} is still running, in process {row.pid}", remedy="end that first"
                    )
            self._connection.execute("DELETE FROM kept_runs WHERE run = ?", (run,))
        return run

    def found(self, run_or_prefix: str) -> str:
        """The name of the run that is meant. UserMistake where that is not one run."""
        with reported(self._path):
            rows = self._connection.execute("SELECT run FROM kept_runs ORDER BY rowid DESC").fetchall()
        names = [name for (name,) in rows if isinstance(name, str)]
        if not names:
            raise UserMistake("there is no run in the store yet", remedy="`tlstax run` makes one")
        if run_or_prefix == LAST:
            return self._last(names[0])
        if not run_or_prefix:
            raise UserMistake("a run's name cannot be empty", remedy="`tlstax runs list` shows all")
        matching = [name for name in names if name.startswith(run_or_prefix)]
        if run_or_prefix in matching:
            return run_or_prefix
        if len(matching) == 1:
            return matching[0]
        if not matching:
            raise UserMistake(f"there is no run {run_or_prefix!r}", remedy="`tlstax runs list` shows all")
        shown = ", ".join(matching[:4]) + (" and more" if len(matching) > 4 else "")
        raise UserMistake(
            f"{run_or_prefix!r} may be {len(matching)} runs ({shown})", remedy="give more of it"
        )

    def _last(self, newest: str) -> str:
        """The newest run that measured something."""
        with reported(self._path):
            found = self._connection.execute(_LAST).fetchone()
        if found is None:
            raise UserMistake(
                "no run in the store has measured anything: none has a valid trial",
                remedy=f"`tlstax report {newest}` shows what became of the newest",
            )
        return str(found[0])

    def _insert(self, stored: StoredRun) -> None:
        """A run of which this process is the writer, without its trials."""
        header, writer = stored.header, this_process()
        self._connection.execute(
            "INSERT INTO kept_runs (run, study, started_at, header, status, stopped_because, pid, "
            "started_ticks, boot_id, resumed_at, locked) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
            (
                header.run,
                header.study.name,
                header.started_at,
                packed(header, header.run),
                stored.status,
                stored.stopped_because,
                writer.pid,
                writer.started_ticks,
                writer.boot_id,
                json.dumps(stored.resumed_at),
            ),
        )

    def _listed(self, *columns_and_counts: object) -> RunSummary | UnreadableRun:
        try:
            return self._summary(*columns_and_counts)
        except MachineFault as fault:
            return UnreadableRun(run=str(columns_and_counts[0]), why=fault.message)

    def _summary(self, *columns_and_counts: object) -> RunSummary:
        row = checked(self._path, dict(zip(_COLUMNS, columns_and_counts, strict=False)))
        valid, invalid, unknown = columns_and_counts[-3:]
        status = self._status_of(row)
        return RunSummary.model_validate(
            {
                "run": row.run,
                "study": row.study,
                "started_at": row.started_at,
                "status": status,
                "stopped_because": row.ended_because(status),
                "valid": valid,
                "invalid": invalid,
                "unknown": unknown,
            }
        )

    def _row(self, run: str) -> RunRow:
        """UserMistake where there is no such run, or no longer."""
        found = self._connection.execute(_ONE, (run,)).fetchone()
        if found is None:
            raise UserMistake(f"there is no run {run!r} any more", remedy="`tlstax runs list` shows all")
        return checked(self._path, dict(zip(_COLUMNS, found, strict=True)))

    def _status_of(self, row: RunRow) -> Status:
        return row.status_now(is_taken=row.status == "running" and self._locks.is_taken(row.run))

    @contextmanager
    def _writing(self, run: str) -> Iterator[None]:
        """Become the writer of a run, unless what is done first fails. UserMistake where another one is."""
        if not self._locks.take(run):
            raise _still_written(self._row(run))
        try:
            yield
        except BaseException:
            self._locks.give_back(run)
            raise

    def _kept(self, run: str) -> str:
        """How many trials of the run are safe, for the sentence about a failure; "" if unknown."""
        try:
            row = self._connection.execute(
                "SELECT count(*) FROM kept_trials WHERE run = ?", (run,)
            ).fetchone()
        except (sqlite3.Error, UnicodeDecodeError):
            return ""
        return f"of run {run} {counted(row[0], 'trial')} kept"


def open_store() -> Store:
    """The user's store, in the data directory; the caller closes it."""
    return Store.open(ensure_directory(data_dir()) / "store.sqlite")


def _rows(run: str, records: Iterable[TrialRecord]) -> list[tuple[str, int, int, str, bytes]]:
    """The records of a run's trials as they are kept."""
    return [
        (run, own.trial.block, own.trial.position, own.verdict.value, packed(own, run)) for own in records
    ]


def _still_written(row: RunRow) -> UserMistake:
    return UserMistake(f"process {row.pid} is still working on run {row.run}", remedy="end that first")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """One process at a time; SQLite's own locks do not wait when two switch a new file to its log mode."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


_MEANINGS = {
    sqlite3.SQLITE_FULL: ("the disk is full", "make room and try again"),
    sqlite3.SQLITE_READONLY: ("it cannot be written", "check who owns it and how its disk is mounted"),
    sqlite3.SQLITE_PERM: ("it may not be accessed", "check who owns it"),
    sqlite3.SQLITE_CANTOPEN: (
        "it cannot be opened",
        "check that its folder exists and may be written, and that the disk is not full",
    ),
    sqlite3.SQLITE_BUSY: ("another program keeps it locked", "try again when that has ended"),
    sqlite3.SQLITE_LOCKED: ("another program keeps it locked", "try again when that has ended"),
    sqlite3.SQLITE_IOERR: ("its disk reports an error", "check the disk"),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", "move it away, and a new one is made"),
    sqlite3.SQLITE_CONSTRAINT: ("it already has this run or trial", "give the run another name"),
    sqlite3.SQLITE_NOTADB: ("it is not a tlstax store", "move it away, or choose another file"),
}
"""SQLite's primary result codes (sqlite.org/rescode.html): what they mean here, and what to do."""


@contextmanager
def reported(path: Path, kept: Callable[[], str] = str) -> Iterator[None]:
    """Turn what SQLite raises into a MachineFault; `kept` says what is safe ("" for nothing to say)."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as fault:
        code = getattr(fault, "sqlite_errorcode", None)
        if code is None and isinstance(fault, sqlite3.ProgrammingError | sqlite3.InterfaceError):
            raise
        # Bytes of which Python cannot make a text, in a value or in what SQLite says, have no code.
        code = sqlite3.SQLITE_CORRUPT if code is None else code
        meaning, remedy = _MEANINGS.get(code & 0xFF, (str(fault), "check the file and its disk"))
        safe = kept()
        raise MachineFault(
            f"the store {path} cannot be used: {meaning}{f' ({safe})' if safe else ''}", remedy=remedy
        ) from fault


@contextmanager
def put_off() -> Iterator[None]:
    """No search meanwhile. What is made must have no cycles, or few: those stay for good.

    The search begins after every N new objects and goes over all that there are, which takes several
    times as long as making a hundred thousand records does (CPython, `gc.set_threshold`).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            # Later searches pass over what there is now, for it stays.
            gc.freeze()
            gc.enable()
