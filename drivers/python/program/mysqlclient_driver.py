"""mysqlclient: MySQLdb's C extension on libmariadb, which brings TLS along."""

from __future__ import annotations

import os
from typing import Any

import MySQLdb
import MySQLdb.release
from settings import Settings, given, settings_of

TAKES = ("batch_values", "commit")
PERCENT = "%%"
MODES = {"none": "REQUIRED", "ca": "VERIFY_CA", "identity": "VERIFY_IDENTITY"}


def version() -> str:
    """Mysqlclient's own word."""
    return str(MySQLdb.release.__version__)


def settings(terms: dict[str, Any]) -> Settings:
    """The keyword arguments for `connect`."""
    return settings_of(terms, _tls_settings(terms["tls"]))


def connect(settings: Settings) -> Any:
    """A connection of mysqlclient's."""
    return MySQLdb.connect(**settings)


def prepared_cursor(connection: Any) -> Any:
    """Mysqlclient prepares nothing: it puts the values into the text itself."""
    return connection.cursor()


def view(connection: Any, settings: Settings) -> dict[str, Any]:  # noqa: ARG001
    """It has no word for what was negotiated."""
    return {}


def _tls_settings(tls: dict[str, Any]) -> Settings:
    """Versions are libmariadb's to be told, by a file of options: mysqlclient has no argument for them."""
    if tls["mode"] == "unset":
        return {}
    if tls["mode"] == "off":
        return {"ssl_mode": "DISABLED"}
    if tls["mode"] == "required":
        # Libmariadb 3.3 logs in in the clear all the same where it has to: the connection is looked at then.
        return {"ssl_mode": "REQUIRED"}
    settings: Settings = {"ssl_mode": MODES[tls["verify"]]}
    if files := given({"ca": tls["ca_file"], "cert": tls["certificate_file"], "key": tls["key_file"]}):
        settings["ssl"] = files
    if tls["versions"]:
        settings["read_default_file"] = _options_file(tls["versions"])
    return settings


def _options_file(versions: list[str]) -> str:
    """The path of a file of options in memory, which lasts as long as the process."""
    file = os.memfd_create("my.cnf", 0)
    names = ",".join(f"TLSv{version}" for version in versions)
    os.write(file, f"[client]\ntls_version={names}\n".encode())
    return f"/proc/self/fd/{file}"
