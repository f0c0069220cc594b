"""The record of what a run makes, at a PostgreSQL."""

from __future__ import annotations

from tlstax.postgres import schema
from tlstax.postgres.database import is_no_such_table, is_table_exists, is_unknown_schema
from tlstax.sql import ownership
from tlstax.sql.database import SqlError


class OwnershipTable(ownership.OwnershipTable):
    """Of the servers of a cluster one alone takes writes, and there the lock says who is at work.

    It is made with its comment, both or neither.
    """

    made_by = (
        "CREATE TABLE {0} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run text NOT NULL,"
        " step text NOT NULL, kind text NOT NULL, name text NOT NULL, sign text NOT NULL,"
        " proof text NOT NULL, node text NOT NULL, said_at timestamptz NOT NULL DEFAULT now());"
        " COMMENT ON TABLE {0} IS %s"
    )
    quoted = staticmethod(schema.quoted)
    is_taken = staticmethod(is_table_exists)

    @staticmethod
    def is_missing(error: SqlError) -> bool:
        """Whether there is no such table, or no such schema."""
        return is_no_such_table(error) or is_unknown_schema(error)
