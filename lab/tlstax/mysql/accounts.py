"""The accounts of a private server, in SQL that every product has; and what an external one's is bound to.

Source: MySQL reference manual, "SHOW CREATE USER Statement" (an account may ask for itself, from MySQL 5.7.6
and MariaDB 10.2 on), "CREATE USER SSL/TLS Options" and "CREATE USER Resource-Limit Options".
"""

from __future__ import annotations

import re

from tlstax.sql import answers
from tlstax.sql.credentials import Credentials
from tlstax.sql.database import Database, SqlError
from tlstax.sql.facts import Terms
from tlstax.study.level_names import CACHING_SHA2, NATIVE_PASSWORD

ADMINISTRATOR = "tlstax_admin"
LOAD_USER = "tlstax_load"
LOAD_USER_BY_CERTIFICATE = "tlstax_load_by_certificate"
SCHEMA = "tlstax"


def user_by_plugin(plugin: str) -> str:
    """The load account that is proved by this plugin: one for each, since cases of one run may have several.

    With the longest name of a plugin it has 31 characters; MySQL takes 32.
    """
    return f"tlstax_by_{plugin}"


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


def replication_statements() -> list[str]:
    """What lets the load account read the log of changes (reference manual, "REPLICATION SLAVE")."""
    return [f"GRANT REPLICATION SLAVE ON *.* TO '{LOAD_USER}'@'%'"]


def let_it_see_connections(admin: Database) -> None:
    """Give the load account what an inspection reads of those that are connected (performance_schema)."""
    answers.carry_out(admin, f"GRANT SELECT ON performance_schema.* TO '{LOAD_USER}'@'%'")


def make_by_plugin(admin: Database, plugin: str, password: str) -> None:
    """Make the load account that is proved by this plugin of MySQL's (CREATE USER, IDENTIFIED WITH).

    Raises SqlError where the server does not have the plugin.
    """
    user = f"'{user_by_plugin(plugin)}'@'%'"
    answers.carry_out(admin, f"CREATE USER IF NOT EXISTS {user} IDENTIFIED WITH {plugin} BY '{password}'")
    answers.carry_out(admin, f"GRANT ALL ON `{SCHEMA}`.* TO {user}")


def make_by_certificate(admin: Database, password: str) -> None:
    """Make the load account that also demands a client certificate (CREATE USER, REQUIRE X509)."""
    user = f"'{LOAD_USER_BY_CERTIFICATE}'@'%'"
    answers.carry_out(admin, f"CREATE USER IF NOT EXISTS {user} IDENTIFIED BY '{password}' REQUIRE X509")
    answers.carry_out(admin, f"GRANT ALL ON `{SCHEMA}`.* TO {user}")


REMEMBERED = frozenset({CACHING_SHA2})
"""The plugins by which later logins are shorter than the first.

caching_sha2_password remembers an account's password after one full authentication, which a Unix socket
carries out safely. From then on logins without TLS take its short path.
"""


def forget_logins(admin: Database) -> None:
    """Have the server forget what caching_sha2_password remembers of earlier logins.

    Reference manual, "Caching SHA-2 Pluggable Authentication", Cache Management.
    """
    answers.carry_out(admin, "FLUSH PRIVILEGES")


def kept_secrets(admin: Database) -> dict[str, str]:  # noqa: ARG001
    """None: what logs in at MySQL for its clients asks them for their passwords."""
    return {}


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

    The native one where the server reports none, as an old one does, whose accounts have that by default.
    """
    asked = "SELECT plugin FROM mysql.user WHERE User = %s"
    for (plugin,) in answers.rows(admin, asked, LOAD_USER, columns=1):
        return str(plugin) or NATIVE_PASSWORD
    return NATIVE_PASSWORD


_LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL)
_REQUIRE = re.compile(r" REQUIRE ((?:(?:SSL|X509|CIPHER|ISSUER|SUBJECT)\b[ ]*(?:''[ ]*)?(?:AND )?)+)")
_HOURLY = re.compile(r"\b(MAX_(?:QUERIES|UPDATES|CONNECTIONS)_PER_HOUR) ([0-9]+)")


def terms(database: Database) -> Terms:
    """Those of the connection's account; none where the server does not tell.

    Raises SqlError where the server is gone. The answer may hold the hash of the password, so it is asked for
    over TLS alone and kept nowhere.
    """
    if not database.is_encrypted:
        return Terms()
    try:
        told = answers.rows(database, "SHOW CREATE USER CURRENT_USER()", columns=1)
    except SqlError as error:
        if error.is_of_connection:
            raise
        return Terms()
    return terms_in(str(told[0][0])) if told else Terms()


def terms_in(statement: str) -> Terms:
    """What a CREATE USER statement of the server's says, whatever stands in its literals."""
    bare = _LITERAL.sub("''", statement)
    required = _REQUIRE.search(bare)
    limits = tuple((name, int(limit)) for name, limit in _HOURLY.findall(bare) if int(limit))
    return Terms(" ".join(required[1].replace("''", "").split()) if required else "", limits)
