"""Named locks: one tlstax at a time in a schema of somebody else's, and who holds one.

The server releases a lock (GET_LOCK) when it notices that the connection that holds it is gone. A firewall
that drops an idle connection may make that now, later or never. A lock is known to one server alone: the
nodes of a cluster have each their own (MySQL reference manual, "Locking Functions"; MariaDB Knowledge Base,
"GET_LOCK"), so `ownership_table.py` says there too who is at work.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

from tlstax.mysql import answers, session
from tlstax.mysql.database import Database, SqlError

JUST_ENDED_S = 2
"""How long a server may take to notice that a run has just ended."""

PATIENCE_S = 10
"""How long a connection of ours that was cut may take to end after it is killed."""


class NamedLock:
    """A lock by its name, and the connection that took it. All methods raise SqlError."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._holder: int | None = None

    def take(self, database: Database, wait_s: int = 0) -> bool:
        """Whether it is this connection's now."""
        asked = "SELECT GET_LOCK(%s, %s), CONNECTION_ID()"
        taken, connection = answers.row(database, asked, self._name, wait_s, columns=2)
        if taken != 1:
            return False
        self._holder = answers.number(connection)
        return True

    def is_held(self, database: Database) -> bool:
        """Whether this connection, which took it, has it still."""
        asked = "SELECT IS_USED_LOCK(%s) = CONNECTION_ID()"
        return bool(answers.row(database, asked, self._name, columns=1)[0] == 1)

    def holder(self, database: Database) -> int | None:
        """The number of the connection that has it, None where none has."""
        number = answers.row(database, "SELECT IS_USED_LOCK(%s)", self._name, columns=1)[0]
        return None if number is None else answers.number(number)

    def end_holder(self, database: Database) -> None:
        """Have the server end the connection that took the lock here, if it still holds it.

        A number alone may be another's by now, and behind a proxy another's from the first. So the server
        itself compares, in the KILL, and the connection must be one of this account.
        """
        if self._holder is None or not session.is_of_this_account(database, self._holder):
            return
        # Where another holds it, or none, the number is 0, which no connection has.
        ended = "KILL CONNECTION IF(IS_USED_LOCK(%s) = %s, %s, 0)"
        with suppress(SqlError):
            answers.carry_out(database, ended, self._name, self._holder, self._holder)


class SchemaLock(NamedLock):
    """The lock of one schema, by the server's own name for it; short enough for MySQL whatever that is."""

    def __init__(self, schema: str) -> None:
        super().__init__("tlstax-" + hashlib.sha256(schema.encode()).hexdigest()[:32])

    def take_again(self, database: Database) -> bool:
        """Take it on a new connection after the one that held it was cut; False where another has it.

        A connection that the server has not noticed the end of holds it still, and is ended.
        """
        holder = self.holder(database)
        if holder is None:
            return self.take(database)
        if holder != self._holder:
            return False
        self.end_holder(database)
        return self.take(database, PATIENCE_S)
