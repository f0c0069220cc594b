"""One tlstax at a time in a schema of somebody else's: a named lock, and whether it is still ours.

The server releases it (GET_LOCK) when it notices that the connection that holds it is gone. A firewall that
drops an idle connection may make that now, later or never.
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


class SchemaLock:
    """The lock of one schema; its name is short enough for MySQL whatever the schema's is."""

    def __init__(self, schema: str) -> None:
        self._name = "tlstax-" + hashlib.sha256(schema.encode()).hexdigest()[:32]
        self._holder: int | None = None

    def take(self, database: Database, wait_s: int = 0) -> bool:
        """Whether it is this connection's now. Raises SqlError, as all methods do."""
        if answers.row(database, "SELECT GET_LOCK(%s, %s)", self._name, wait_s, columns=1)[0] != 1:
            return False
        self._holder = answers.number(answers.row(database, "SELECT CONNECTION_ID()", columns=1)[0])
        return True

    def is_held(self, database: Database) -> bool:
        """Whether this connection, which took it, has it still."""
        asked = "SELECT IS_USED_LOCK(%s) = CONNECTION_ID()"
        return bool(answers.row(database, asked, self._name, columns=1)[0] == 1)

    def take_again(self, database: Database) -> bool:
        """Take it on a new connection after the one that held it was cut; False where another has it.

        A connection that the server has not noticed the end of holds it still, and is ended.
        """
        holder = answers.row(database, "SELECT IS_USED_LOCK(%s)", self._name, columns=1)[0]
        if holder is None:
            return self.take(database)
        if answers.number(holder) != self._holder:
            return False
        with suppress(SqlError):
            session.end(database, self._holder)
        return self.take(database, PATIENCE_S)
