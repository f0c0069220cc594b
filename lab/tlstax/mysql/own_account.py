"""What an account is bound to that its own connection can read: how it must connect, and hourly limits.

Source: MySQL reference manual, "SHOW CREATE USER Statement" (an account may ask for itself, from MySQL 5.7.6
and MariaDB 10.2 on), "CREATE USER SSL/TLS Options" and "CREATE USER Resource-Limit Options".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tlstax.mysql import answers
from tlstax.mysql.database import Database, SqlError, is_connection_error

_LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL)
_REQUIRE = re.compile(r" REQUIRE ((?:(?:SSL|X509|CIPHER|ISSUER|SUBJECT)\b[ ]*(?:''[ ]*)?(?:AND )?)+)")
_HOURLY = re.compile(r"\b(MAX_(?:QUERIES|UPDATES|CONNECTIONS)_PER_HOUR) ([0-9]+)")


class Terms(NamedTuple):
    """`requires` is what the account demands of a connection, such as "SSL", empty where nothing.

    `hourly` has its limits by their names, those alone that are in force.
    """

    requires: str = ""
    hourly: tuple[tuple[str, int], ...] = ()


def terms(database: Database) -> Terms:
    """Those of the connection's account; none where the server does not tell.

    Raises SqlError where the server is gone.
    The answer may hold the hash of the password, so it is asked for over TLS alone and kept nowhere.
    """
    if not getattr(database, "_secure", False):
        return Terms()
    try:
        told = answers.rows(database, "SHOW CREATE USER CURRENT_USER()", columns=1)
    except SqlError as error:
        if is_connection_error(error):
            raise
        return Terms()
    return read(str(told[0][0])) if told else Terms()


def read(statement: str) -> Terms:
    """What a CREATE USER statement of the server's says, whatever stands in its literals."""
    bare = _LITERAL.sub("''", statement)
    required = _REQUIRE.search(bare)
    limits = tuple((name, int(limit)) for name, limit in _HOURLY.findall(bare) if int(limit))
    return Terms(" ".join(required[1].replace("''", "").split()) if required else "", limits)
