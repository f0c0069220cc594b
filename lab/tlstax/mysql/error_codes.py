"""The numbers of errors that change what is done next, by what they mean.

Source: MySQL's and MariaDB's error references (server errors: 1xxx, 3xxx, 4xxx; client errors: 2xxx).
"""

from __future__ import annotations

from pymysql.constants import ER

from tlstax.mysql.database import SqlError

ACCESS_DENIED: int = ER.ACCESS_DENIED_ERROR
SCHEMA_EXISTS: int = ER.DB_CREATE_EXISTS
NO_SUCH_COLUMN: int = ER.BAD_FIELD_ERROR
NO_SUCH_TABLE: int = ER.NO_SUCH_TABLE
PARSE_ERROR: int = ER.PARSE_ERROR
TABLE_EXISTS: int = ER.TABLE_EXISTS_ERROR

OBJECT_EXISTS = frozenset({ER.TABLE_EXISTS_ERROR, ER.SP_ALREADY_EXISTS, ER.TRG_ALREADY_EXISTS, 1537})
"""The last is ER_EVENT_ALREADY_EXISTS, which pymysql has no name for."""

REFERRED_TO = frozenset({1217, 1451, 3730})
"""A foreign key refers to it: ER_ROW_IS_REFERENCED, ER_ROW_IS_REFERENCED_2, ER_FK_CANNOT_DROP_PARENT."""

NOT_ALLOWED = frozenset({1044, 1142})
"""The account lacks the right: ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR."""

READ_ONLY = frozenset({1290, 1792, 1836, 1874, 3989})
"""Nothing can be changed: read_only and its like, a transaction that only reads, a replica being set up."""

UNKNOWN_SCHEMA: int = ER.BAD_DB_ERROR

_CLIENT_ERRORS = range(2000, 3000)


def number_of(error: SqlError) -> int:
    """The error's number; 0 where it has none."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def is_of_connection(error: SqlError) -> bool:
    """Whether the connection failed, and not a statement."""
    return number_of(error) in _CLIENT_ERRORS
