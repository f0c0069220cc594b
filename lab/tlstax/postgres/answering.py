"""Which server a connection of the laboratory's to PostgreSQL ends at, by its own word and the kernel's."""

from __future__ import annotations

from tlstax.postgres import server_facts
from tlstax.postgres.database import apart
from tlstax.sql import answers
from tlstax.sql.answering import Answering, Listener, answered
from tlstax.sql.database import Database


def identity(database: Database, listener: Listener | None) -> Answering:
    """Who answers on this connection; `listener` is the socket that its clients are sent to.

    The process is the postmaster, which listens; those that serve connections are its children. Raises
    SqlError when the server does not answer, or may not tell where its data are.
    """
    server = apart(database)
    (directory,) = answers.row(server, "SHOW data_directory", columns=1)
    return answered(server, listener, server_facts.version(server), str(directory))
