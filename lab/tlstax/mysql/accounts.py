"""The accounts of a private server: the statements that make them, in SQL that every product has."""

from __future__ import annotations

from tlstax.mysql import answers
from tlstax.mysql.credentials import (
    ADMINISTRATOR,
    LOAD_USER,
    LOAD_USER_BY_CERTIFICATE,
    SCHEMA,
    Credentials,
    user_by_plugin,
)
from tlstax.mysql.database import Database


def by_plugin(plugin: str, password: str) -> list[str]:
    """SQL for a load account of its own, proved by that plugin of MySQL's (CREATE USER, IDENTIFIED WITH)."""
    user = f"'{user_by_plugin(plugin)}'@'%'"
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


def let_it_see_connections(admin: Database) -> None:
    """Give the load account what an inspection reads of those that are connected (performance_schema)."""
    answers.carry_out(admin, f"GRANT SELECT ON performance_schema.* TO '{LOAD_USER}'@'%'")


def make_by_plugin(admin: Database, plugin: str, password: str) -> None:
    """Make the load account of this plugin. Raises SqlError where the server does not have the plugin."""
    for statement in by_plugin(plugin, password):
        answers.carry_out(admin, statement)


def make_by_certificate(admin: Database, password: str) -> None:
    """Make the load account that also demands a client certificate (CREATE USER, REQUIRE X509)."""
    user = f"'{LOAD_USER_BY_CERTIFICATE}'@'%'"
    answers.carry_out(admin, f"CREATE USER IF NOT EXISTS {user} IDENTIFIED BY '{password}' REQUIRE X509")
    answers.carry_out(admin, f"GRANT ALL ON `{SCHEMA}`.* TO {user}")


def forget_logins(admin: Database) -> None:
    """Have the server forget what caching_sha2_password remembers of earlier logins.

    Reference manual, "Caching SHA-2 Pluggable Authentication", Cache Management.
    """
    answers.carry_out(admin, "FLUSH PRIVILEGES")


def demands_certificate(admin: Database, user: str) -> bool | None:
    """Whether the server lets this account in only with a certificate; None where there is no such account.

    From mysql.user, whose ssl_type is X509 then (reference manual, "Grant Tables").
    """
    asked = "SELECT ssl_type FROM mysql.user WHERE User = %s"
    for (kind,) in answers.rows(admin, asked, user, columns=1):
        return str(kind) == "X509"
    return None


def plugin_of_load_account(admin: Database) -> str:
    """The plugin by which the load account is proved, which was made without naming one.

    Empty where the server reports none, as an old one does whose accounts have the native plugin by default.
    """
    asked = "SELECT plugin FROM mysql.user WHERE User = %s"
    for (plugin,) in answers.rows(admin, asked, LOAD_USER, columns=1):
        return str(plugin)
    return ""
