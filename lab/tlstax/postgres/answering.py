"""Who answers on a connection of the laboratory's to PostgreSQL, by the server's word and the kernel's."""

from __future__ import annotations

import os

from tlstax.mysql.answering import Answering, Listener, peer_of, program_of
from tlstax.postgres import server_facts
from tlstax.postgres.database import apart
from tlstax.sql import answers
from tlstax.sql.database import Database


def identity(database: Database, listener: Listener | None) -> Answering:
    """Who answers on this connection; `listener` is the socket that its clients are sent to.

    The process is the postmaster, which listens; those that serve connections are its children. Raises
    SqlError when the server does not answer, or may not tell where its data are.
    """
    server = apart(database)
    version = server_facts.version(server)
    (directory,) = answers.row(server, "SHOW data_directory", columns=1)
    pid = peer_of(server)
    listens = listener is not None and listener.pid == pid and listener.holds()
    return Answering(
        pid=pid,
        program=program_of(pid) if pid else None,
        version=version,
        data_directory=os.path.realpath(str(directory)),
        listening_port=listener.port if listener and listens else None,
    )
