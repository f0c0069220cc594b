"""Connections that record themselves at the server: for load clients that do not say what they negotiated.

Each begins with a statement that records, at the server, which connection it is and what the server
says of its encryption. So the word is the server's own, and of every connection that did measured work.
"""

from __future__ import annotations

import re

from tlstax.mysql.accounts import SCHEMA
from tlstax.sql import answers
from tlstax.sql.database import Database
from tlstax.sql.recorded_connections import TABLE
from tlstax.study.product import product_of

_FIRST_WITH_PERFORMANCE_SCHEMA = (5, 7)
"""MySQL from which session status is in performance_schema; before, and in MariaDB, in information_schema."""


def create(admin: Database) -> None:
    """Make the table in the laboratory's schema; in memory, so that a row costs next to nothing."""
    answers.carry_out(admin, f"DROP TABLE IF EXISTS {TABLE}")
    answers.carry_out(
        admin,
        f"CREATE TABLE {TABLE} (id BIGINT UNSIGNED PRIMARY KEY, version VARCHAR(64), cipher VARCHAR(64)) "
        "ENGINE=MEMORY",
    )


def statement(server_version: str) -> str:
    """The statement by which a connection records itself; said twice, it records it once."""
    source = f"{_schema(server_version)}.session_status"
    return (
        f"REPLACE INTO {SCHEMA}.{TABLE} SELECT CONNECTION_ID(), "  # noqa: S608 - every name is our own
        "MAX(IF(VARIABLE_NAME='Ssl_version',VARIABLE_VALUE,NULL)), "
        "MAX(IF(VARIABLE_NAME='Ssl_cipher',VARIABLE_VALUE,NULL)) "
        f"FROM {source} WHERE VARIABLE_NAME IN ('Ssl_version','Ssl_cipher')"
    )


def _schema(server_version: str) -> str:
    number = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", server_version)
    era = (int(number[1]), int(number[2])) if number else _FIRST_WITH_PERFORMANCE_SCHEMA
    if product_of(server_version) == "mariadb" or era < _FIRST_WITH_PERFORMANCE_SCHEMA:
        return "information_schema"
    return "performance_schema"
