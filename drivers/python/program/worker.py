"""A connection of a driver's, as ordered, and the times of what it did (drivers/ADAPTERS.md)."""

from __future__ import annotations

import contextlib
import json
import os
from time import monotonic_ns
from typing import Any

from failures import Refused, code_and_words, kind_of


class Worker:
    """One connection, its stock of operations and the times of what it did."""

    def __init__(self, driver: Any, terms: dict[str, Any], settings: dict[str, Any]) -> None:
        self.driver, self.settings, self.terms = driver, settings, terms
        self.calls = [(call["prepared"], *marked(call, driver.PERCENT)) for call in terms["calls"]]
        self.reconnect, self.batch = terms["reconnect"], terms["batch"]
        self.connection: Any = None
        self.cursors: dict[str, Any] = {}
        self.commits = False
        self.stock: list[str] = []
        self.next = self.opened = 0
        self.times: list[int] = []

    def open(self) -> None:
        """Open a connection; what its arguments are refused with is an option's fault."""
        self.connection = self.driver.connect(self.settings)
        self.opened += 1

    def greet(self) -> None:
        """Say what is to be said on every connection."""
        self.cursors = {"": self.connection.cursor()}
        for sql in self.terms["on_connect"]:
            self.say(sql)

    def say(self, sql: str) -> Any:
        """Run a statement by itself, as text; its rows, None where it has none."""
        return ran(self.cursors[""], sql, None)

    def run(self, call: int, fields: list[str]) -> Any:
        """Run a call of an operation, whose fields come first; its rows, None where it has none."""
        prepared, sql, types = self.calls[call]
        if not prepared:
            return ran(self.cursors[""], fields.pop(0), None)
        cursor = self.cursors.get(sql)
        if cursor is None:
            cursor = self.cursors[sql] = self.driver.prepared_cursor(self.connection)
        return ran(cursor, sql, values(fields, types))

    def operate(self) -> None:
        """Do the next operation, or batch of them, and keep its times."""
        began = connected = ready = monotonic_ns()
        if self.connection is None:
            self.open()
            connected = monotonic_ns()
            self.greet()
            ready = monotonic_ns()
        times = [began, connected, ready]
        if self.batch > 1:
            self.run_batch()
            times.append(monotonic_ns())
        else:
            fields = self.stock[self.next].split("\x1f")
            self.next += 1
            for call in range(len(self.calls)):
                self.run(call, fields)
                times.append(monotonic_ns())
        if self.commits:
            self.connection.commit()
            times.append(monotonic_ns())
        if self.reconnect:
            self.close()
            times.append(monotonic_ns())
        else:
            times.append(times[-1])
        self.times += times

    def run_batch(self) -> None:
        """Hand over many runs of the statement at once (PEP 249's executemany)."""
        _, sql, types = self.calls[0]
        taken = self.stock[self.next : self.next + self.batch]
        self.next += len(taken)
        self.cursors[""].executemany(sql, [values(each.split("\x1f"), types) for each in taken])

    def work(self, until_ns: int) -> dict[str, Any]:
        """Do operations until then."""
        done = 0
        while self.next < len(self.stock) and monotonic_ns() < until_ns:
            try:
                self.operate()
            except Exception as error:
                self.recover(error)
                return {**failure(error), "operations": done}
            done += 1
        return {"operations": done}

    def recover(self, error: Exception) -> None:
        """Leave the connection fit for the next operation, or have none."""
        with contextlib.suppress(Exception):
            if self.reconnect or kind_of(error) != "server_error":
                self.close()
            elif self.commits:
                self.connection.rollback()

    def close(self) -> None:
        """Hang up as the driver does."""
        connection, self.connection, self.cursors = self.connection, None, {}
        if connection is not None:
            connection.close()

    def order(self, words: list[str], body: str) -> dict[str, Any]:
        """Do as ordered; the answer, and for a report what is written behind it."""
        match words[0]:
            case "work":
                return self.work(int(words[1]))
            case "operations":
                self.stock = self.stock[self.next :] + body.split("\x1e")
                self.next = 0
            case "empty":
                self.stock, self.next = [], 0
            case "report":
                told = " ".join(map(str, self.times)) + "\n"
                self.times = []
                return {"opened": self.opened, "bytes": len(told), "body": told}
            case "open":
                self.open()
                self.greet()
                view = self.driver.view(self.connection, self.settings)
                return {"version": self.driver.version(), **view}
            case "rows":
                call = int(words[1])
                rows = self.say(body) if call < 0 else self.run(call, body.split("\x1f"))
                return {"rows": [[shown(value) for value in row] for row in rows or ()]}
            case "commit":
                self.commits = True
            case "close":
                self.close()
        return {}

    def serve(self, channel: list[int]) -> None:
        """Answer the orders of a channel, one after the other."""
        with os.fdopen(channel[0], "rb") as orders, os.fdopen(channel[1], "wb") as answers:
            while line := orders.readline().decode().split():
                body = orders.read(int(line[-1])).decode() if line[0] in {"rows", "operations"} else ""
                try:
                    answer = self.order(line, body)
                except Exception as error:
                    answer = failure(error)
                told = answer.pop("body", "")
                answers.write(f"{json.dumps(answer)}\n{told}".encode())
                answers.flush()


def ran(cursor: Any, sql: str, given: tuple[Any, ...] | None) -> Any:
    """Run a statement and fetch what it answers."""
    if given:
        cursor.execute(sql, given)
    else:
        cursor.execute(sql)
    return cursor.fetchall() if cursor.description is not None else None


def marked(call: dict[str, Any], percent: str) -> tuple[str, str]:
    """A call's statement with `%s` for each value, and the letters of its values."""
    pieces, types = call["pieces"], call["types"]
    if not types:
        return pieces[0], types
    return "%s".join(piece.replace("%", percent) for piece in pieces), types


def values(fields: list[str], types: str) -> tuple[int | str, ...]:
    """A call's values, which are its first fields; they are taken."""
    taken = tuple(int(field) if kind == "i" else field for field, kind in zip(fields, types, strict=False))
    del fields[: len(types)]
    return taken


def shown(value: object) -> str | None:
    """A value as the text protocol has it."""
    if value is None:
        return None
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return value.decode(errors="replace") if isinstance(value, bytes | bytearray) else str(value)


def failure(error: Exception) -> dict[str, Any]:
    """An answer that tells of what the driver raised, or of the adapter's own refusal."""
    code, words = code_and_words(error)
    by = "adapter" if isinstance(error, Refused) else "driver"
    return {"failure": {"kind": kind_of(error), "words": words, "code": code, "by": by}}
