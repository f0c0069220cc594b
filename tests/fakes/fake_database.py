"""A connection to a server that gives the same answer to every statement, and notes them."""

from __future__ import annotations

import socket
from typing import Any

from tlstax.sql.database import Database, SqlError


class FakeDatabase(Database):
    """A connection that has these rows for every statement, or this error."""

    def __init__(
        self, *answer: tuple[Any, ...], error: SqlError | None = None, is_encrypted: bool = False
    ) -> None:
        self._answer, self._error, self._is_encrypted = answer, error, is_encrypted
        self.statements: list[str] = []

    @property
    def is_open(self) -> bool:
        return True

    @property
    def is_encrypted(self) -> bool:
        return self._is_encrypted

    @property
    def channel(self) -> socket.socket | None:
        return None

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        self.statements.append(statement % values if values else statement)
        if self._error is not None:
            raise self._error
        return list(self._answer)

    def close(self) -> None:
        """Nothing to close."""
