"""Which server a connection of the laboratory's ends at, by its own word and the kernel's."""

from __future__ import annotations

from tlstax.sql import answers
from tlstax.sql.answering import Answering, Listener, answered
from tlstax.sql.database import Database


def identity(database: Database, listener: Listener | None) -> Answering:
    """Who answers on this connection; `listener` is the socket that its clients are sent to.

    Raises SqlError when the server does not answer.
    """
    version, directory = answers.row(database, "SELECT VERSION(), @@datadir", columns=2)
    return answered(database, listener, str(version), str(directory))
