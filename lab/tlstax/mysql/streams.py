"""What a program gets that copies a MySQL or MariaDB: a table's rows, or the log of their changes.

The log is read in whole files that nobody writes any more, so that each has its last length. What the
laboratory's own connections record meanwhile goes to the file after them.

Source: MySQL reference manual, "SHOW BINARY LOGS Statement", "FLUSH Statement" (BINARY LOGS); MariaDB has
both alike.
"""

from __future__ import annotations

from tlstax.contract import StreamTerms
from tlstax.sql import answers
from tlstax.sql.database import Database
from tlstax.study.client_kinds import Copied

LEFT_OPEN_BYTES = 1 << 17
"""A file that is being written and is no longer than this holds no load: it stays open."""


def terms(admin: Database, copied: Copied, table: str, copies: int) -> StreamTerms:  # noqa: ARG001
    """What to ask for, and what a whole copy holds, however many there are. Raises SqlError."""
    if copied == "dump":
        return StreamTerms(names=(table,), holds={"rows": _rows(admin, table)})
    files = _files(admin)
    if files[-1][1] > LEFT_OPEN_BYTES or len(files) == 1:
        answers.carry_out(admin, "FLUSH BINARY LOGS")
        files = _files(admin)
    closed = files[:-1]
    length = sum(size for _, size in closed)
    return StreamTerms(names=tuple(name for name, _ in closed), holds={"bytes": length})


def clear(admin: Database) -> None:
    """Nothing is made for a copy."""


def _files(admin: Database) -> list[tuple[str, int]]:
    """The log's files with their lengths, the one that is written last."""
    # A third column of MySQL's says whether a file is encrypted.
    told = [row[:2] for row in admin.rows("SHOW BINARY LOGS") if len(row) > 1]
    files = [(answers.name(name), answers.number(size)) for name, size in told]
    if not files:
        raise answers.Malformed("the server names no file of its log")
    return files


def _rows(admin: Database, table: str) -> int:
    asked = f"SELECT COUNT(*) FROM {table}"  # noqa: S608 (the laboratory's own table)
    return answers.number(answers.row(admin, asked, columns=1)[0])
