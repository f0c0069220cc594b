"""psycopg2: the older driver around libpq; its wheel `psycopg2-binary` brings that and an OpenSSL along."""

from __future__ import annotations

from typing import Any

import psycopg2
from settings import Settings, libpq_settings, libpq_words, option_of

TAKES = ("batch_values", "commit", "direct")
PERCENT = "%%"


def version() -> str:
    """Its own word, and that of the libpq that it has loaded."""
    number = psycopg2.extensions.libpq_version()
    return f"{psycopg2.__version__.split()[0]} (libpq {number // 10000}.{number % 10000})"


def settings(terms: dict[str, Any]) -> Settings:
    """The keyword arguments for `connect`; the job's own options come last."""
    options = {name: option_of(word) for name, word in terms["options"].items()}
    return libpq_settings(terms, "dbname") | libpq_words(terms["tls"]) | options


def connect(settings: Settings) -> Any:
    """A connection of psycopg2's; autocommit is no argument of its `connect`."""
    words = {name: word for name, word in settings.items() if name != "autocommit"}
    connection = psycopg2.connect(**words)
    connection.autocommit = bool(settings.get("autocommit"))
    return connection


def prepared_cursor(connection: Any) -> Any:
    """psycopg2 prepares nothing: it puts the values into the text itself."""
    return connection.cursor()


def view(connection: Any, settings: Settings) -> dict[str, Any]:  # noqa: ARG001
    """What libpq says of the connection's OpenSSL (PQsslAttribute); of resumption it says nothing."""
    told = connection.info
    if not told.ssl_in_use:
        return {"view": None}
    version, cipher = told.ssl_attribute("protocol"), told.ssl_attribute("cipher")
    return {"view": {"version": version, "cipher": cipher, "resumed": None}}
