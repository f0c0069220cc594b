"""A connection to a server that answers each statement by what stands in it, and notes them."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from tlstax.sql.database import Database, SqlError

Rows = list[tuple[Any, ...]]


class AnsweringDatabase(Database):
    """A connection that has these rows, or this error, for a statement with these words in it.

    The first words that fit decide; a function is asked anew each time. Others are answered without a row.
    """

    def __init__(self, answers: dict[str, Rows | SqlError | Callable[[], Rows]] | None = None) -> None:
        self._answers = answers or {}
        self.statements: list[str] = []

    @property
    def is_open(self) -> bool:
        return True

    @property
    def is_encrypted(self) -> bool:
        return False

    @property
    def channel(self) -> socket.socket | None:
        return None

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> Rows:
        said = statement % values if values else statement
        self.statements.append(said)
        answer = next((answer for words, answer in self._answers.items() if words in said), [])
        if isinstance(answer, SqlError):
            raise answer
        return answer() if callable(answer) else answer

    def close(self) -> None:
        """Nothing to close."""
