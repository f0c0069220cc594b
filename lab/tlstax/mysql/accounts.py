"""The statements that make the two accounts of a private server, in SQL that every product has."""

from __future__ import annotations

from tlstax.mysql.credentials import (
    ADMINISTRATOR,
    LOAD_USER,
    LOAD_USER_BY_PLUGIN,
    SCHEMA,
    Credentials,
)


def by_plugin(plugin: str, password: str) -> list[str]:
    """SQL for a second load account, proved by that plugin of MySQL's (CREATE USER, IDENTIFIED WITH)."""
    user = f"'{LOAD_USER_BY_PLUGIN}'@'%'"
    return [
        f"CREATE USER IF NOT EXISTS {user} IDENTIFIED WITH {plugin} BY '{password}'",
        f"GRANT ALL ON `{SCHEMA}`.* TO {user}",
    ]


def statements(credentials: Credentials) -> list[str]:
    """The administrator comes over the socket only, the load account from anywhere.

    "Anywhere" is this machine: the server listens on loopback.
    """
    administrator, load = f"'{ADMINISTRATOR}'@'localhost'", f"'{LOAD_USER}'@'%'"
    return [
        f"CREATE USER {administrator} IDENTIFIED BY '{credentials.admin_password}'",
        f"GRANT ALL ON *.* TO {administrator} WITH GRANT OPTION",
        f"CREATE DATABASE `{SCHEMA}`",
        f"CREATE USER {load} IDENTIFIED BY '{credentials.load_password}'",
        f"GRANT ALL ON `{SCHEMA}`.* TO {load}",
    ]
