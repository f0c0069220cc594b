"""PyMySQL: a driver in Python alone; TLS is Python's own `ssl`."""

from __future__ import annotations

import ssl
from typing import Any

import pymysql
from pymysql.constants.ER import HANDSHAKE_ERROR

from driver_contract.adapters.contexts import context_of
from driver_contract.adapters.endpoint import endpoint_of
from driver_contract.driver import Settings, TlsView
from driver_contract.failure import Failure, bad_job
from driver_contract.job import Job, Tls


class PyMySql:
    """PyMySQL's `connect` with its keyword arguments."""

    title = "PyMySQL"
    percent = "%%"

    def version(self) -> str:
        """PyMySQL's own word."""
        return str(pymysql.VERSION_STRING)

    def settings(self, job: Job) -> Settings:
        """Where to and as whom; of TLS what the job says."""
        return endpoint_of(job) | _tls_settings(job.tls)

    def connect(self, settings: Settings) -> Any:
        """A connection of PyMySQL's. Raises what it raises, or Failure (no_tls)."""
        try:
            return pymysql.connect(**settings)
        except pymysql.OperationalError as error:
            # Version 1.1 announces TLS to a server that has none, and logs in without: MySQL refuses that.
            if error.args[0] == HANDSHAKE_ERROR and _asks_for_tls(settings):
                words = f"PyMySQL says: {error.args[1]}, as where it asks for TLS and the server has none"
                raise Failure("no_tls", words, HANDSHAKE_ERROR, lost=True) from error
            raise

    def prepared_cursor(self, connection: Any) -> Any:
        """PyMySQL prepares nothing: it puts the values into the text itself."""
        return connection.cursor()

    def client_tells(self, settings: Settings) -> bool:  # noqa: ARG002
        """Always: it is a socket of Python's."""
        return True

    def client_view(self, connection: Any) -> TlsView | None:
        """What Python's `ssl` says; PyMySQL keeps its socket to itself, and has no call for it."""
        socket = connection._sock
        if not isinstance(socket, ssl.SSLSocket):
            return None
        return TlsView(socket.version() or "", (socket.cipher() or ("",))[0], socket.session_reused)


def _asks_for_tls(settings: Settings) -> bool:
    words = (value for name, value in settings.items() if name.startswith("ssl"))
    return not settings.get("ssl_disabled") and any(words)


def _tls_settings(tls: Tls) -> Settings:
    """PyMySQL has no argument for versions: where the job names some it is given an SSLContext."""
    if tls.mode == "unset":
        return {}
    if tls.mode == "off":
        return {"ssl_disabled": True}
    if tls.mode == "required":
        # No word means just this. Any dict but an empty one asks for TLS; an SSLContext has its own checks.
        return {"ssl": {"ca": None}}
    if tls.verify != "none" and tls.ca_file is None:
        raise bad_job("tls.ca_file: PyMySQL verifies only with a file of CAs")
    if tls.versions:
        return {"ssl": context_of(tls)}
    if tls.verify == "none":
        # A dict is the one way to ask for TLS without verification that versions 1.1 and 1.2 both have.
        words = {"cert": tls.certificate_file, "key": tls.key_file}
        return {"ssl": {"verify_mode": "none", **{name: word for name, word in words.items() if word}}}
    given = {"ssl_ca": tls.ca_file, "ssl_cert": tls.certificate_file, "ssl_key": tls.key_file}
    settings: Settings = {name: word for name, word in given.items() if word}
    return settings | {"ssl_verify_cert": True, "ssl_verify_identity": tls.verify == "identity"}


DRIVER = PyMySql()
