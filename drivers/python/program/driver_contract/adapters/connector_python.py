"""MySQL Connector/Python: its C extension where it has one, or with `use_pure` its own Python."""

from __future__ import annotations

from typing import Any

import mysql.connector

from driver_contract.adapters.endpoint import endpoint_of
from driver_contract.driver import Settings, TlsView
from driver_contract.failure import bad_job
from driver_contract.job import Job, Tls


class ConnectorPython:
    """`mysql.connector.connect` with its keyword arguments."""

    title = "Connector/Python"
    percent = "%"

    def version(self) -> str:
        """Connector/Python's own word."""
        return str(mysql.connector.__version__)

    def settings(self, job: Job) -> Settings:
        """Where to and as whom; of TLS what the job says."""
        return endpoint_of(job) | _tls_settings(job.tls)

    def connect(self, settings: Settings) -> Any:
        """A connection of Connector/Python's."""
        return mysql.connector.connect(**settings)

    def prepared_cursor(self, connection: Any) -> Any:
        """A cursor that prepares at the server."""
        return connection.cursor(prepared=True)

    def client_tells(self, settings: Settings) -> bool:
        """Its Python has a socket that tells; the C extension has no word for the version."""
        return bool(settings.get("use_pure"))

    def client_view(self, connection: Any) -> TlsView | None:
        """What Python's `ssl` says of the socket, which is kept to itself."""
        socket = connection._socket.sock
        told = socket.cipher() if hasattr(socket, "cipher") else None
        return None if told is None else TlsView(socket.version(), told[0], socket.session_reused)


def _tls_settings(tls: Tls) -> Settings:
    if tls.mode == "unset":
        return {}
    if tls.mode == "off":
        return {"ssl_disabled": True}
    if tls.mode == "required":
        # No word requires TLS: in the clear it logs in all the same, and the connection is looked at then.
        return {"ssl_disabled": False}
    if tls.verify != "none" and tls.ca_file is None:
        raise bad_job("tls.ca_file: Connector/Python verifies only with a file of CAs")
    files = {"ssl_ca": tls.ca_file, "ssl_cert": tls.certificate_file, "ssl_key": tls.key_file}
    settings: Settings = {name: word for name, word in files.items() if word}
    if tls.versions:
        settings["tls_versions"] = [f"TLSv{version}" for version in tls.versions]
    verified = tls.verify != "none"
    return settings | {"ssl_verify_cert": verified, "ssl_verify_identity": tls.verify == "identity"}


DRIVER = ConnectorPython()
