"""The record of what a run makes, at a PostgreSQL."""

from __future__ import annotations

from tlstax.postgres import schema
from tlstax.postgres.database import NO_SUCH_TABLE, TABLE_EXISTS, UNKNOWN_SCHEMA
from tlstax.sql import ownership


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
    taken = TABLE_EXISTS
    missing = NO_SUCH_TABLE | UNKNOWN_SCHEMA
