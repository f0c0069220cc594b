"""By which plugins a server can prove its accounts."""

from __future__ import annotations

from tlstax.mysql import answers
from tlstax.mysql.database import Database

ACTIVE = (
    "SELECT PLUGIN_NAME FROM INFORMATION_SCHEMA.PLUGINS "
    "WHERE PLUGIN_TYPE = 'AUTHENTICATION' AND PLUGIN_STATUS = 'ACTIVE'"
)


def read(database: Database) -> tuple[str, ...]:
    """Every authentication plugin that is in use, in alphabetical order (INFORMATION_SCHEMA.PLUGINS)."""
    return tuple(sorted(str(name) for name in answers.column(database, ACTIVE, place=0)))
