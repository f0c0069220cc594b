"""PyMySQL: a driver in Python alone; TLS is Python's own `ssl`."""

from __future__ import annotations

import ssl
from typing import Any

import pymysql
from failures import Refused
from pymysql.constants.ER import HANDSHAKE_ERROR
from settings import Settings, context_of, given, settings_of

TAKES = ("batch_values", "commit")
PERCENT = "%%"


def version() -> str:
    """PyMySQL's own word."""
    return str(pymysql.VERSION_STRING)


def settings(terms: dict[str, Any]) -> Settings:
    """The keyword arguments for `connect`."""
    return settings_of(terms, _tls_settings(terms["tls"]))


def connect(settings: Settings) -> Any:
    """A connection of PyMySQL's."""
    try:
        return pymysql.connect(**settings)
    except pymysql.OperationalError as error:
        # Version 1.1 announces TLS to a server that has none, and logs in without: MySQL refuses that.
        if error.args[0] == HANDSHAKE_ERROR and _asks_for_tls(settings):
            words = f"PyMySQL says: {error.args[1]}, as where it asks for TLS and the server has none"
            raise Refused(words, "no_tls", HANDSHAKE_ERROR) from error
        raise


def prepared_cursor(connection: Any) -> Any:
    """PyMySQL prepares nothing: it puts the values into the text itself."""
    return connection.cursor()


def view(connection: Any, settings: Settings) -> dict[str, Any]:  # noqa: ARG001
    """What Python's `ssl` says; PyMySQL keeps its socket to itself, and has no call for it."""
    socket = connection._sock
    if not isinstance(socket, ssl.SSLSocket):
        return {"view": None}
    cipher = (socket.cipher() or ("",))[0]
    return {"view": {"version": socket.version() or "", "cipher": cipher, "resumed": socket.session_reused}}


def _asks_for_tls(settings: Settings) -> bool:
    words = (value for name, value in settings.items() if name.startswith("ssl"))
    return not settings.get("ssl_disabled") and any(words)


def _tls_settings(tls: dict[str, Any]) -> Settings:
    """PyMySQL has no argument for versions: where the job names some it is given an SSLContext."""
    if tls["mode"] == "unset":
        return {}
    if tls["mode"] == "off":
        return {"ssl_disabled": True}
    if tls["mode"] == "required":
        # No word means just this. Any dict but an empty one asks for TLS; an SSLContext has its own checks.
        return {"ssl": {"ca": None}}
    if tls["verify"] != "none" and tls["ca_file"] is None:
        raise Refused("tls.ca_file: PyMySQL verifies only with a file of CAs")
    if tls["versions"]:
        return {"ssl": context_of(tls)}
    if tls["verify"] == "none":
        # A dict is the one way to ask for TLS without verification that versions 1.1 and 1.2 both have.
        words = given({"cert": tls["certificate_file"], "key": tls["key_file"]})
        return {"ssl": {"verify_mode": "none", **words}}
    files = {"ssl_ca": tls["ca_file"], "ssl_cert": tls["certificate_file"], "ssl_key": tls["key_file"]}
    checks = {"ssl_verify_cert": True, "ssl_verify_identity": tls["verify"] == "identity"}
    return given(files) | checks
