"""Datasette on the store: its views alone, read-only, on loopback, until somebody ends it."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from datasette import hookimpl
from datasette.app import Datasette
from datasette.plugins import pm
from uvicorn.protocols.http.h11_impl import H11Protocol

from tlstax.report.run_tables import TABLES
from tlstax.store.explore.guarded import guarded
from tlstax.store.explore.questions import QUESTIONS, ratio_chart
from tlstax.store.row_tables import table_of
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK, check_loopback

SETTINGS = {
    "allow_download": False,
    "suggest_facets": False,
    "sql_time_limit_ms": 10_000,
    "default_page_size": 30,
    "truncate_cells_html": 300,
}
"""Suggestions would look through a hundred columns each time."""

MOST_STRANGERS, STRANGER_S = 16, 3.0
"""How many connections that have not named the secret yet may be there, and for how long each. Another one
takes the place of the oldest."""

LONGEST_REQUEST_BYTES = 65_536

FIRST_COLUMNS = {
    "trials": (
        *("run", "block", "label", "verdict", "ops_per_s", "latency_p50_us", "server_cpu_us_per_op"),
        *("client_cpu_us_per_op", "tls_version", "tls_cipher"),
    ),
    "findings": (
        *("run", "role", "label", "outcome", "unit", "value", "baseline_value", "ratio", "ratio_low"),
        *("ratio_high", "judgement", "blocks"),
    ),
}
"""What is shown first of tables with a column for each factor and outcome."""

HIDDEN = (
    *("kept_runs", "kept_trials", "row_definition"),
    *map(table_of, TABLES.values()),
)
"""Tables that views are made of: they can be asked, and are not offered."""


class Words:
    """What our templates say beside Datasette's."""

    __name__ = "tlstax"  # Datasette lists its plugins by their modules' names

    def __init__(self, store: Path) -> None:
        self._words = {
            "store": str(store),
            "database": store.stem,
            "questions": QUESTIONS,
            "tables": tuple(TABLES.values()),
            "first_columns": {name: _first_columns(name) for name in TABLES},
            "chart": ratio_chart,
        }

    @hookimpl  # type: ignore[untyped-decorator]
    def extra_template_vars(self) -> dict[str, Any]:
        """As `tlstax` in every template."""
        return {"tlstax": self._words}


def serve(store: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve the store's views and say the address to `ready`; returns when SIGINT or SIGTERM ends it.

    Port 0 is any that is free. MachineFault where the port cannot be had.
    """
    prefix = f"/{secrets.token_urlsafe(16)}/"
    with _listening(port) as listening:
        at = listening.getsockname()[1]
        datasette = _datasette(store, prefix)
        hosts = frozenset({f"{LOOPBACK}:{at}", f"localhost:{at}"})
        config = uvicorn.Config(
            guarded(datasette.app(), prefix=prefix, hosts=hosts),
            http=connections(prefix),
            log_level="critical",
            access_log=False,
            lifespan="on",
        )
        ready(f"http://{LOOPBACK}:{at}{prefix}")
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            for database in datasette.databases.values():
                database.close()


def connections(prefix: str) -> type[H11Protocol]:
    """Connections of which those that do not name the secret keep nobody out who does."""
    secret = prefix.encode()
    strangers: dict[Any, None] = {}

    class Connection(H11Protocol):  # type: ignore[misc]
        """One connection, a stranger's until the secret has come."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._said = b""
            while len(strangers) >= MOST_STRANGERS:
                _end(next(iter(strangers)))
            strangers[transport] = None
            asyncio.get_running_loop().call_later(STRANGER_S, _end, transport)

        def data_received(self, data: bytes) -> None:
            if self.transport in strangers:
                self._said = (self._said + data)[-LONGEST_REQUEST_BYTES:]
                if secret in self._said:
                    del strangers[self.transport]
            super().data_received(data)

        def connection_lost(self, exc: Exception | None) -> None:
            strangers.pop(self.transport, None)
            super().connection_lost(exc)

    def _end(transport: Any) -> None:
        if transport in strangers:
            del strangers[transport]
            transport.abort()

    return Connection


def _listening(port: int) -> socket.socket:
    check_loopback()
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise MachineFault(
            f"port {port} of {LOOPBACK} cannot be used ({os.strerror(error.errno or 0)})",
            remedy="choose another --port, or leave it out",
        ) from error


def _first_columns(table: str) -> str:
    """The part of an address that asks for the columns which are read first; empty where that is all."""
    return "".join(f"{'&' if n else '?'}_col={name}" for n, name in enumerate(FIRST_COLUMNS.get(table, ())))


def _datasette(store: Path, prefix: str) -> Any:
    pm.register(Words(store))
    return Datasette(
        [str(store)],
        settings={**SETTINGS, "base_url": prefix},
        metadata=_metadata(store.stem),
        template_dir=str(Path(__file__).parent / "templates"),
    )


def _metadata(database: str) -> dict[str, Any]:
    queries = {
        one.name: {"title": one.title, "description": one.reading, "sql": one.sql, "hide_sql": True}
        for one in QUESTIONS
    }
    hidden = {name: {"hidden": True} for name in HIDDEN}
    shown = {table.name: _described(table.one_row, table.columns) for table in TABLES.values()}
    return {"databases": {database: {"queries": queries, "tables": {**hidden, **shown}}}}


def _described(one_row: str, columns: Any) -> dict[str, Any]:
    return {
        "description": f"A row is {one_row}.",
        "columns": {
            column.name: f"{column.meaning}{f', in {column.unit}' if column.unit else ''}"
            for column in columns
        },
    }
