"""psycopg 3: a driver around libpq, which its wheel brings with an OpenSSL of its own."""

from __future__ import annotations

from typing import Any

import psycopg
from settings import Settings, libpq_settings, libpq_words, option_of

TAKES = ("batch_values", "commit", "direct")
PERCENT = "%%"


class Prepared(psycopg.Cursor[Any]):
    """A cursor that prepares at the server from the first time on, and not from the sixth as others do."""

    def execute(self, query: Any, params: Any = None, **others: Any) -> Any:
        """Run a statement, prepared."""
        return super().execute(query, params, prepare=True, **others)


def version() -> str:
    """Its own word, and that of the libpq that it has loaded."""
    number = psycopg.pq.version()
    return f"{psycopg.__version__} (libpq {number // 10000}.{number % 10000})"


def settings(terms: dict[str, Any]) -> Settings:
    """The keyword arguments for `connect`; the job's own options come last."""
    options = {name: option_of(word) for name, word in terms["options"].items()}
    return libpq_settings(terms, "dbname") | libpq_words(terms["tls"]) | options


def connect(settings: Settings) -> Any:
    """A connection of psycopg's."""
    return psycopg.connect(**settings)


def prepared_cursor(connection: Any) -> Any:
    """A cursor that prepares at the server."""
    return Prepared(connection)


def view(connection: Any, settings: Settings) -> dict[str, Any]:  # noqa: ARG001
    """It tells whether there is TLS, and not which."""
    return {} if connection.pgconn.ssl_in_use else {"view": None}
