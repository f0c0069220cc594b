"""MySQL Connector/Python: its C extension where it has one, or with `use_pure` its own Python."""

from __future__ import annotations

from typing import Any

import mysql.connector
from failures import Refused
from settings import Settings, given, settings_of

TAKES = ("batch_values", "commit")
PERCENT = "%"


def version() -> str:
    """Connector/Python's own word."""
    return str(mysql.connector.__version__)


def settings(terms: dict[str, Any]) -> Settings:
    """The keyword arguments for `connect`."""
    return settings_of(terms, _tls_settings(terms["tls"]))


def connect(settings: Settings) -> Any:
    """A connection of Connector/Python's."""
    return mysql.connector.connect(**settings)


def prepared_cursor(connection: Any) -> Any:
    """A cursor that prepares at the server."""
    return connection.cursor(prepared=True)


def view(connection: Any, settings: Settings) -> dict[str, Any]:
    """What Python's `ssl` says of the socket; the C extension has no word for the version."""
    if not settings.get("use_pure"):
        return {}
    socket = connection._socket.sock
    told = socket.cipher() if hasattr(socket, "cipher") else None
    if told is None:
        return {"view": None}
    return {"view": {"version": socket.version(), "cipher": told[0], "resumed": socket.session_reused}}


def _tls_settings(tls: dict[str, Any]) -> Settings:
    if tls["mode"] == "unset":
        return {}
    if tls["mode"] == "off":
        return {"ssl_disabled": True}
    if tls["mode"] == "required":
        # No word requires TLS: in the clear it logs in all the same, and the connection is looked at then.
        return {"ssl_disabled": False}
    if tls["verify"] != "none" and tls["ca_file"] is None:
        raise Refused("tls.ca_file: Connector/Python verifies only with a file of CAs")
    files = {"ssl_ca": tls["ca_file"], "ssl_cert": tls["certificate_file"], "ssl_key": tls["key_file"]}
    settings = given(files)
    if tls["versions"]:
        settings["tls_versions"] = [f"TLSv{version}" for version in tls["versions"]]
    verified = tls["verify"] != "none"
    return settings | {"ssl_verify_cert": verified, "ssl_verify_identity": tls["verify"] == "identity"}
