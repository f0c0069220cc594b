"""mysqlclient: MySQLdb's C extension on libmariadb, which brings TLS along."""

from __future__ import annotations

import os
from typing import Any

import MySQLdb
import MySQLdb.release

from driver_contract.adapters.endpoint import endpoint_of
from driver_contract.driver import Settings, TlsView
from driver_contract.job import Job, Tls

MODES = {"none": "REQUIRED", "ca": "VERIFY_CA", "identity": "VERIFY_IDENTITY"}


class MySqlClient:
    """`MySQLdb.connect` with its keyword arguments."""

    title = "mysqlclient"
    percent = "%%"

    def version(self) -> str:
        """Mysqlclient's own word."""
        return str(MySQLdb.release.__version__)

    def settings(self, job: Job) -> Settings:
        """Where to and as whom; of TLS what the job says."""
        return endpoint_of(job) | _tls_settings(job.tls)

    def connect(self, settings: Settings) -> Any:
        """A connection of mysqlclient's."""
        return MySQLdb.connect(**settings)

    def prepared_cursor(self, connection: Any) -> Any:
        """Mysqlclient prepares nothing: it puts the values into the text itself."""
        return connection.cursor()

    def client_tells(self, settings: Settings) -> bool:  # noqa: ARG002
        """It has no word for what was negotiated."""
        return False

    def client_view(self, connection: Any) -> TlsView | None:  # noqa: ARG002
        """Never asked."""
        return None


def _tls_settings(tls: Tls) -> Settings:
    """Versions are libmariadb's to be told, by a file of options: mysqlclient has no argument for them."""
    if tls.mode == "unset":
        return {}
    if tls.mode == "off":
        return {"ssl_mode": "DISABLED"}
    if tls.mode == "required":
        # Libmariadb 3.3 logs in in the clear all the same where it has to: the connection is looked at then.
        return {"ssl_mode": "REQUIRED"}
    settings: Settings = {"ssl_mode": MODES[tls.verify]}
    files = {"ca": tls.ca_file, "cert": tls.certificate_file, "key": tls.key_file}
    if given := {name: word for name, word in files.items() if word}:
        settings["ssl"] = given
    if tls.versions:
        settings["read_default_file"] = _options_file(tls.versions)
    return settings


def _options_file(versions: tuple[str, ...]) -> str:
    """The path of a file of options in memory, which lasts as long as the process."""
    file = os.memfd_create("my.cnf", 0)
    names = ",".join(f"TLSv{version}" for version in versions)
    os.write(file, f"[client]\ntls_version={names}\n".encode())
    return f"/proc/self/fd/{file}"


DRIVER = MySqlClient()
