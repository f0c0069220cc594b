"""pg8000: a driver in Python alone; TLS is Python's own `ssl`."""

from __future__ import annotations

import importlib.metadata
import ssl
from typing import Any

import pg8000.dbapi
from failures import Refused
from settings import Settings, context_of, option_of

TAKES = ("batch_values", "commit")
PERCENT = "%%"


def version() -> str:
    """pg8000's own word."""
    return importlib.metadata.version("pg8000")


def settings(terms: dict[str, Any]) -> Settings:
    """The keyword arguments for `connect`; the job's own options come last."""
    account, endpoint = terms["account"], terms["endpoint"]
    settings: Settings = {"user": account["user"], "password": account["password"]}
    if account["database"] is not None:
        settings["database"] = account["database"]
    if endpoint["kind"] == "unix":
        settings["unix_sock"] = endpoint["path"]
    else:
        settings |= {"host": endpoint["host"], "port": endpoint["port"]}
    options = {name: option_of(word) for name, word in terms["options"].items()}
    return settings | _tls_settings(terms["tls"]) | options


def connect(settings: Settings) -> Any:
    """A connection of pg8000's; autocommit is no argument of its `connect`."""
    words = {name: word for name, word in settings.items() if name != "autocommit"}
    connection = pg8000.dbapi.connect(**words)
    connection.autocommit = bool(settings.get("autocommit"))
    return connection


def prepared_cursor(connection: Any) -> Any:
    """`execute` with values: a statement without a name, parsed anew each time, and the values beside it."""
    return connection.cursor()


def view(connection: Any, settings: Settings) -> dict[str, Any]:  # noqa: ARG001
    """What Python's `ssl` says; pg8000 keeps its socket to itself, and has no call for it."""
    socket = connection._usock
    if not isinstance(socket, ssl.SSLSocket):
        return {"view": None}
    cipher = (socket.cipher() or ("",))[0]
    return {"view": {"version": socket.version() or "", "cipher": cipher, "resumed": socket.session_reused}}


def _tls_settings(tls: dict[str, Any]) -> Settings:
    """True asks for TLS and checks nothing; what is more than that is said by an SSLContext."""
    if tls["mode"] == "unset":
        return {}
    if tls["mode"] == "off":
        return {"ssl_context": False}
    if tls["mode"] == "required":
        return {"ssl_context": True}
    if tls["verify"] != "none" and tls["ca_file"] is None:
        raise Refused("tls.ca_file: pg8000 verifies here only with a file of CAs")
    return {"ssl_context": context_of(tls)}
