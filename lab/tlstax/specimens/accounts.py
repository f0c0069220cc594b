"""The statements that make the two accounts of a private server, in SQL that every product has."""

from __future__ import annotations

from tlstax.specimens.credentials import ADMINISTRATOR, LOAD_USER, SCHEMA, Credentials


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
