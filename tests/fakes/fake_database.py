"""A connection to a server that gives the same answer to every statement, and notes them."""

from __future__ import annotations

from typing import Any, Self

from tlstax.mysql.database import SqlError


class FakeDatabase:
    """A connection, and a cursor of it, that has these rows for every statement, or this error."""

    def __init__(self, *rows: tuple[Any, ...], error: SqlError | None = None) -> None:
        self.rows, self.error = rows, error
        self.statements: list[str] = []

    def cursor(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str, values: tuple[object, ...] | None = None) -> None:
        self.statements.append(statement % values if values else statement)
        if self.error is not None:
            raise self.error

    def fetchall(self) -> tuple[tuple[Any, ...], ...]:
        return self.rows
