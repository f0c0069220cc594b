"""What a probed driver is seen by at a server: the table that it writes to, and the general log.

The log is on for as long as a driver is probed, read line by line, and put back afterwards. Source: MySQL
reference manual, "The General Query Log"; MariaDB's is the same. The laboratory's own statements are kept out
of it (`sql_log_off`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tlstax.records.capture import Logged
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.support.errors import MachineFault


class StatementLog:
    """The log while it is on; `begin` empties it, `read` gives what was written since."""

    def __init__(self, admin: Database) -> None:
        self._admin = admin

    def begin(self) -> None:
        """Forget what was logged until now."""
        _run(self._admin, "TRUNCATE TABLE mysql.general_log")

    def read(self) -> tuple[Logged, ...]:
        """What was logged, in its order; logins that were refused are in it too."""
        rows = _run(self._admin, "SELECT thread_id, command_type, argument FROM mysql.general_log")
        return tuple(
            Logged(thread=int(thread), command=str(command), text=_text(argument))
            for thread, command, argument in rows
        )


@contextmanager
def statement_log(admin: Database) -> Iterator[StatementLog]:
    """The log, written to a table until the block ends. MachineFault where the server does not allow it."""
    ((output, is_on),) = _run(admin, "SELECT @@GLOBAL.log_output, @@GLOBAL.general_log")
    _run(admin, "SET SESSION sql_log_off = 1")
    try:
        _run(admin, "SET GLOBAL log_output = 'TABLE'")
        _run(admin, "SET GLOBAL general_log = 1")
        yield StatementLog(admin)
    finally:
        # A server that has died meanwhile has nothing to put back; its own failure is what is reported.
        with suppress(MachineFault):
            _run(admin, "SET GLOBAL general_log = %s", int(is_on))
            _run(admin, "SET GLOBAL log_output = %s", str(output))
            _run(admin, "TRUNCATE TABLE mysql.general_log")
            _run(admin, "SET SESSION sql_log_off = 0")


def _text(argument: bytes | str | None) -> str:
    return argument.decode(errors="replace") if isinstance(argument, bytes) else str(argument or "")


def _run(admin: Database, statement: str, *values: object) -> tuple[tuple[Any, ...], ...]:
    try:
        return tuple(admin.rows(statement, values))
    except (SqlError, OSError) as error:
        raise MachineFault(f"the server's log cannot be used: {statement} ({error.args[-1]})") from error


def make_probe_table(admin: Database, name: str) -> None:
    """Make it anew and empty: an id that the server gives, and a word. Raises SqlError."""
    answers.carry_out(admin, f"DROP TABLE IF EXISTS {name}")
    answers.carry_out(admin, f"CREATE TABLE {name} (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(32))")
