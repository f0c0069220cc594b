"""What a server's general log has of the statements that clients sent."""

from __future__ import annotations

from tlstax.contract import Frozen


class Logged(Frozen):
    """A line of the server's general log: the connection, the command in the log's words, its text."""

    thread: int
    command: str
    text: str
