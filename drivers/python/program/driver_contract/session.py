"""One connection of a driver: statements are run on it as a user of the driver would run them."""

from __future__ import annotations

import contextlib
from typing import Any

from driver_contract.driver import Driver, Settings
from driver_contract.statements import Statement, Value

Rows = list[tuple[Any, ...]]


class Session:
    """A connection that is open, with the cursors that are kept on it."""

    def __init__(self, driver: Driver, settings: Settings) -> None:
        self._driver = driver
        self.connection = driver.connect(settings)
        self._text: Any = None
        self._prepared: dict[str, Any] = {}
        self.fresh = True

    def say(self, sql: str) -> Rows | None:
        """Run this text; the rows that came back, None where the statement has none."""
        if self._text is None:
            self._text = self.connection.cursor()
        return _ran(self._text, sql)

    def run(self, statement: Statement, values: tuple[Value, ...]) -> Rows | None:
        """Run a statement by its protocol; the rows that came back."""
        if not statement.prepared:
            return self.say(statement.literal(values))
        sql = statement.marked(self._driver.percent)
        cursor = self._prepared.get(sql)
        if cursor is None:
            cursor = self._prepared[sql] = self._driver.prepared_cursor(self.connection)
        return _ran(cursor, sql, values)

    def run_batch(self, statement: Statement, rows: list[tuple[Value, ...]]) -> None:
        """Hand over many runs of a statement at once (PEP 249's executemany)."""
        if self._text is None:
            self._text = self.connection.cursor()
        self._text.executemany(statement.marked(self._driver.percent), rows)

    def commit(self) -> None:
        """Make what was changed last."""
        self.connection.commit()

    def take_back(self) -> None:
        """Roll back what a failed operation has begun, if the connection still can."""
        with contextlib.suppress(Exception):
            self.connection.rollback()

    def close(self) -> None:
        """Hang up as the driver does."""
        self.connection.close()

    def drop(self) -> None:
        """Hang up on a connection that is of no more use."""
        with contextlib.suppress(Exception):
            self.connection.close()


def _ran(cursor: Any, sql: str, values: tuple[Value, ...] | None = None) -> Rows | None:
    if values:
        cursor.execute(sql, values)
    else:
        cursor.execute(sql)
    return cursor.fetchall() if cursor.description is not None else None
