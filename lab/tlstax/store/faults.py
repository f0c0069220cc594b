"""What SQLite complains of, as one sentence: which file, what is wrong, what was kept, what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tlstax.support.errors import MachineFault

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
