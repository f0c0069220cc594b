"""A connection to a server, and what its errors are."""

from __future__ import annotations

from typing import Any, TypeAlias

from pymysql.connections import Connection
from pymysql.err import MySQLError

Database: TypeAlias = "Connection[Any]"
"""A connection of the laboratory's own, for statements that are not measured."""

SqlError = MySQLError
"""What a login or a statement raises where the server refuses it or the connection fails.

Its first argument is the number of the error, its last what the server says of it.
"""
