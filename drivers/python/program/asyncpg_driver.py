"""asyncpg: a driver for asyncio with a protocol of its own in C; TLS is Python's own `ssl`."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Coroutine
from time import monotonic_ns
from typing import Any
from urllib.parse import urlencode

import asyncpg
from failures import kind_of
from settings import Settings, libpq_settings, libpq_words, option_of
from worker import Worker, failure, values

TAKES = ("batch_values", "direct")
PERCENT = "%"


def version() -> str:
    """Asyncpg's own word."""
    return str(asyncpg.__version__)


def settings(terms: dict[str, Any]) -> Settings:
    """The arguments for `connect`: words of libpq's go into the DSN, which alone takes all of them."""
    known = inspect.signature(asyncpg.connect).parameters
    options = terms["options"]
    words = libpq_words(terms["tls"]) | {name: word for name, word in options.items() if name not in known}
    arguments = {name: option_of(word) for name, word in options.items() if name in known}
    return libpq_settings(terms, "database") | {"dsn": f"postgresql://?{urlencode(words)}"} | arguments


def view(connection: Any, settings: Settings) -> dict[str, Any]:  # noqa: ARG001
    """What Python's `ssl` says; asyncpg keeps its transport to itself, and has no call for it."""
    tls = connection._transport.get_extra_info("ssl_object")
    if tls is None:
        return {"view": None}
    cipher = (tls.cipher() or ("",))[0]
    return {"view": {"version": tls.version() or "", "cipher": cipher, "resumed": tls.session_reused}}


class Connection(Worker):
    """A connection and the event loop of its thread; within an order to work, that runs without a break."""

    def __init__(self, driver: Any, terms: dict[str, Any], settings: dict[str, Any]) -> None:
        super().__init__(driver, terms, settings)
        self.calls = [(call["prepared"], numbered(call["pieces"]), call["types"]) for call in terms["calls"]]
        self.loop = asyncio.new_event_loop()

    def open(self) -> None:
        """Open a connection."""
        self.do(self.opening())

    def greet(self) -> None:
        """Say what is to be said on every connection."""
        self.do(self.greeting())

    def say(self, sql: str) -> Any:
        """Run a statement by itself; its rows."""
        return self.do(self.connection.fetch(sql))

    def run(self, call: int, fields: list[str]) -> Any:
        """Run a call of an operation; its rows."""
        return self.do(self.running(call, fields))

    def close(self) -> None:
        """Hang up as the driver does."""
        self.do(self.closing())

    def work(self, until_ns: int) -> dict[str, Any]:
        """Do operations until then."""
        return self.do(self.working(until_ns))

    def do(self, task: Coroutine[Any, Any, Any]) -> Any:
        """Have the loop do this."""
        return self.loop.run_until_complete(task)

    async def opening(self) -> None:
        """Open a connection."""
        self.connection = await asyncpg.connect(**self.settings)
        self.opened += 1

    async def greeting(self) -> None:
        """Forget what was prepared on another connection, and say what is to be said."""
        self.cursors = {}
        for sql in self.terms["on_connect"]:
            await self.connection.execute(sql)

    async def running(self, call: int, fields: list[str]) -> Any:
        """Run a call of an operation, whose fields come first, prepared once on its connection."""
        prepared, sql, types = self.calls[call]
        if not prepared:
            return await self.connection.fetch(fields.pop(0))
        statement = self.cursors.get(sql)
        if statement is None:
            statement = self.cursors[sql] = await self.connection.prepare(sql)
        return await statement.fetch(*values(fields, types))

    async def closing(self) -> None:
        """Hang up."""
        connection, self.connection, self.cursors = self.connection, None, {}
        if connection is not None:
            await connection.close()

    async def working(self, until_ns: int) -> dict[str, Any]:
        """Do operations until then."""
        done = 0
        while self.next < len(self.stock) and monotonic_ns() < until_ns:
            try:
                await self.operating()
            except Exception as error:
                with contextlib.suppress(Exception):
                    if self.reconnect or kind_of(error) != "server_error":
                        await self.closing()
                return {**failure(error), "operations": done}
            done += 1
        return {"operations": done}

    async def operating(self) -> None:
        """Do the next operation, or batch of them, and keep its times."""
        began = connected = ready = monotonic_ns()
        if self.connection is None:
            await self.opening()
            connected = monotonic_ns()
            await self.greeting()
            ready = monotonic_ns()
        times = [began, connected, ready]
        if self.batch > 1:
            _, sql, types = self.calls[0]
            taken = self.stock[self.next : self.next + self.batch]
            self.next += len(taken)
            await self.connection.executemany(sql, [values(each.split("\x1f"), types) for each in taken])
            times.append(monotonic_ns())
        else:
            fields = self.stock[self.next].split("\x1f")
            self.next += 1
            for call in range(len(self.calls)):
                await self.running(call, fields)
                times.append(monotonic_ns())
        if self.reconnect:
            await self.closing()
            times.append(monotonic_ns())
        else:
            times.append(times[-1])
        self.times += times


def numbered(pieces: list[str]) -> str:
    """A call's statement with `$1`, `$2`, … for its values."""
    return pieces[0] + "".join(f"${number}{piece}" for number, piece in enumerate(pieces[1:], 1))
