"""The store's tables, version by version, what a row must hold, and documents within; who is writing a run.

What is older is upgraded step by step, what is newer refused. Rows are checked: anybody may have written to
the file.

A lock beside the store says who is writing a run; the kernel gives it up however its writer ends. A number
of a process would be that of one PID namespace alone: from another container a live writer looks dead. Each
run has a byte of one file, by its name, and whoever writes the run holds a lock on that byte. These are open
file description locks (fcntl(2)): seen wherever the file is, and freed by the kernel alone. Runs of before
have the number of their writer's process instead.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ConfigDict, Json, ValidationError

from tlstax.contract.frozen import Frozen
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.here import text_of
from tlstax.support.plain_words import plain

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


Status = Literal["running", "complete", "interrupted", "failed"]
Kept = TypeVar("Kept", bound=Frozen)

MOST_BYTES = 32 * 2**20
"""No document is that long: those of trials have 10 kB, with profiles some hundreds."""

KILLED = "the program ended before the run did"


class RunRow(Frozen):
    """The columns of a run, as the schema means them; SQLite itself takes any type anywhere."""

    model_config = ConfigDict(strict=True)

    run: str
    study: str
    started_at: str
    header: bytes
    status: Status
    stopped_because: str
    pid: int
    started_ticks: int
    boot_id: str
    resumed_at: Json[tuple[str, ...]]
    locked: int

    @property
    def writer(self) -> Writer:
        """The process that wrote it last, by its number where it ran."""
        return Writer(self.pid, self.started_ticks, self.boot_id)

    def status_now(self, *, is_taken: bool) -> Status:
        """The status; "interrupted" where nobody writes a running run any more.

        `is_taken` is whether a writer holds its lock, which those of before did not have.
        """
        is_written = is_taken or (not self.locked and self.writer.is_alive())
        return "interrupted" if self.status == "running" and not is_written else self.status

    def ended_because(self, status_now: Status) -> str:
        """Why it ended, also where nobody was left to say so."""
        return self.stopped_because or (KILLED if status_now == "interrupted" else "")


def checked(path: Path, columns: dict[str, object]) -> RunRow:
    """The row of the store at `path`. MachineFault where it is not one that this version writes."""
    try:
        return RunRow.model_validate(columns)
    except ValidationError as fault:
        raise _not_ours(path, str(columns["run"]), fault) from fault


def packed(value: Frozen, run: str) -> bytes:
    """A document as it is kept: deflated JSON. MachineFault for one that `unpacked` would call endless."""
    document = value.model_dump_json().encode()
    if len(document) > MOST_BYTES:
        raise MachineFault(
            f"a part of run {run} cannot be kept: it has {len(document) / 2**20:.0f} MiB, and "
            f"{MOST_BYTES >> 20} MiB is the most",
            remedy="measure fewer cases at once, or without --profile",
        )
    return zlib.compress(document)


LARGEST = 2**64
"""No number of ours is as large; seeds have 64 bits."""


def check_json(text: bytes) -> None:
    """ValueError for what is no JSON (RFC 8259) that programs agree on, RecursionError for a bottomless one.

    That is: a name twice in an object, NaN and infinities, whole numbers that no machine has, texts that are
    no Unicode.
    """
    json.loads(
        text.decode("utf-8"),
        parse_constant=_no_number,
        parse_int=_whole,
        parse_float=_finite,
        object_pairs_hook=_once,
    )


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _whole(digits: str) -> int:
    if len(digits) > len(str(LARGEST)) or abs(int(digits)) >= LARGEST:
        raise ValueError("a number is too large")
    return int(digits)


def _finite(digits: str) -> float:
    if len(digits) > 400 or math.isinf(float(digits)):
        raise ValueError("a number is too large")
    return float(digits)


def _once(pairs: list[tuple[str, object]]) -> None:
    names = {name for name, _ in pairs}
    if len(names) != len(pairs):
        raise ValueError("an object has one name twice")
    for text in (*names, *(value for _, value in pairs if isinstance(value, str))):
        text.encode("utf-8")


def unpacked(path: Path, kind: type[Kept], kept: object, run: str) -> Kept:
    """The document again. MachineFault where it is damaged, endless, or not what this version writes."""
    if not isinstance(kept, bytes):
        raise _damaged(path, run)
    inflater = zlib.decompressobj()
    try:
        document = inflater.decompress(kept, MOST_BYTES)
    except zlib.error as fault:
        raise _damaged(path, run) from fault
    if not inflater.eof:
        raise _damaged(path, run)
    try:
        return kind.model_validate_json(document)
    except ValidationError as fault:
        raise _not_ours(path, run, fault) from fault
    except (OverflowError, RecursionError) as fault:
        raise _damaged(path, run) from fault


def _damaged(path: Path, run: str) -> MachineFault:
    return MachineFault(f"the store {path} cannot be read: run {run} is damaged", remedy=f"delete run {run}")


def _not_ours(path: Path, run: str, fault: ValidationError) -> MachineFault:
    first = fault.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or "all of it"
    return MachineFault(
        f"the store {path} cannot be read: run {run} is not in the form that this version of "
        f"tlstax writes ({where}: {plain(first['msg'])})",
        remedy=f"read it with the version that wrote it, or delete run {run}",
    )


_PROC = Path("/proc")
_DEAD_STATES = "ZXx"

_FLOCK = struct.Struct("hhqqi4x")
"""`struct flock` where a file's offsets have 64 bits: type, whence, start, length, process."""


class RunLocks:
    """The locks of one store, as one opening of it holds them. All methods may raise MachineFault."""

    def __init__(self, store: Path) -> None:
        self._place = store.with_name(f"{store.name}-writers")
        self._held: set[str] = set()
        with self._reported():
            self._file = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, run: str) -> bool:
        """Hold the lock of a run; False where another writer has it."""
        if run not in self._held:
            try:
                with self._reported():
                    fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _lock(fcntl.F_WRLCK, run))
            except BlockingIOError:
                return False
            self._held.add(run)
        return True

    def is_taken(self, run: str) -> bool:
        """Whether anybody holds it, this opening or another one, wherever it runs."""
        if run in self._held:
            return True
        with self._reported():
            found = fcntl.fcntl(self._file, fcntl.F_OFD_GETLK, _lock(fcntl.F_WRLCK, run))
        return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)

    def give_back(self, run: str) -> None:
        """No longer write the run."""
        if run in self._held:
            self._held.discard(run)
            with self._reported():
                fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _lock(fcntl.F_UNLCK, run))

    def close(self) -> None:
        """Give all of them back. May be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._held.clear()

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except BlockingIOError:
            raise
        except OSError as fault:
            raise MachineFault(
                f"no locks can be kept in {self._place} ({fault.strerror})",
                remedy="name a directory on a local disk in TLSTAX_DATA, or check who owns this one",
            ) from fault


def _lock(kind: int, run: str) -> bytes:
    """A lock on the byte of this run: 62 bits of a digest, so that no two runs share one."""
    digest = hashlib.sha256(run.encode("utf-8", "surrogatepass")).digest()
    return _FLOCK.pack(kind, os.SEEK_SET, int.from_bytes(digest[:8]) >> 2, 1, 0)


@dataclass(frozen=True)
class Writer:
    """A process: its id, when it started (clock ticks since boot), and in which boot of the machine."""

    pid: int
    started_ticks: int
    boot_id: str

    def is_alive(self) -> bool:
        """Whether this very process still runs, as seen from this machine and its PID namespace."""
        return self.boot_id == _boot_id() and self.started_ticks == _started_ticks(self.pid)


def this_process() -> Writer:
    """The process that asks."""
    pid = os.getpid()
    return Writer(pid=pid, started_ticks=_started_ticks(pid) or 0, boot_id=_boot_id())


def _started_ticks(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat (proc(5)); None for a process that is gone or only waits to be reaped."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in _DEAD_STATES else int(fields[18])


def _boot_id() -> str:
    return text_of(_PROC / "sys/kernel/random/boot_id").strip()
