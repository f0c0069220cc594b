"""The record of what a run makes, at a MySQL or MariaDB.

Each row says until when its run is at work, by the server's clock; the newest counts.
"""

from __future__ import annotations

from tlstax.mysql import schema
from tlstax.mysql.database import NO_SUCH_TABLE, TABLE_EXISTS
from tlstax.sql import answers, ownership
from tlstax.sql.database import Database, SqlError

LEASE_S = 15 * 60
"""How long a run counts as being at work after its last row."""


class OwnershipTable(ownership.OwnershipTable):
    """An entry is for the length of a lease from now on."""

    made_by = (
        "CREATE TABLE {0} (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, run CHAR(32) NOT NULL,"
        " step VARCHAR(8) NOT NULL, kind VARCHAR(16) NOT NULL, name VARCHAR(64) NOT NULL,"
        " sign VARCHAR(128) NOT NULL, proof CHAR(64) NOT NULL, node CHAR(64) NOT NULL,"
        " until_utc DATETIME NOT NULL) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COMMENT %s"
    )
    beside = (", until_utc", f", UTC_TIMESTAMP() + INTERVAL {LEASE_S} SECOND")
    quoted = staticmethod(schema.quoted)
    taken = TABLE_EXISTS
    missing = NO_SUCH_TABLE

    def busy_elsewhere_s(self, database: Database, node: str) -> int:
        """How long a run on another node is known to be at work, 0 where none is.

        A row that claims more than a lease is nobody's of ours. A table without these columns says nothing:
        older versions make it so.
        """
        asked = (
            "SELECT MAX(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), until_utc))"  # noqa: S608
            f" FROM {self._with_values} WHERE node <> %s"
            f" AND until_utc BETWEEN UTC_TIMESTAMP() AND UTC_TIMESTAMP() + INTERVAL {LEASE_S} SECOND"
        )
        try:
            left_s = answers.row(database, asked, node, columns=1)[0]
        except SqlError as error:
            if error.is_of_connection:
                raise
            return 0
        return 0 if left_s is None else max(answers.number(left_s), 1)
