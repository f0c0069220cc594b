"""InnoDB at a running server: when a commit is on the disk, and whether earlier work is still to be done.

Source: MySQL reference manual, "InnoDB Startup Options and System Variables", "FLUSH Statement" and "InnoDB
Standard Monitor and Lock Monitor Output".
"""

from __future__ import annotations

import re

from tlstax.mysql import answers
from tlstax.mysql.database import Database, SqlError
from tlstax.support.errors import MachineFault


def flush_at_commit(admin: Database) -> int:
    """The value of innodb_flush_log_at_trx_commit. MachineFault where the server does not answer."""
    value = answers.as_number(answers.demand(admin, "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit")[0][0])
    if value is None:
        raise MachineFault("the server answers no number for innodb_flush_log_at_trx_commit")
    return value


def set_flush_at_commit(admin: Database, value: int) -> None:
    """Set innodb_flush_log_at_trx_commit. MachineFault where the server does not do so."""
    answers.demand(admin, "SET GLOBAL innodb_flush_log_at_trx_commit = %s", value)


def write_changed_pages(database: Database, table: str) -> None:
    """Have the table's changed pages written, as an export does; nothing where the account may not do so."""
    with database.cursor() as cursor:
        try:
            cursor.execute(f"FLUSH TABLES `{table}` FOR EXPORT")
            cursor.execute("UNLOCK TABLES")
        except SqlError:
            pass


def is_purging(database: Database) -> bool:
    """Whether InnoDB reports that its purge is running; False where the account may not ask.

    The length of its history does not show it: MySQL shortens the list long after the work is done (seen with
    5.6.14 to 9.7).
    """
    try:
        report = "".join(map(str, answers.column(database, "SHOW ENGINE INNODB STATUS", place=2)))
    except SqlError:
        return False
    purge = re.search(r"^Purge done .* state: (.*)$", report, re.MULTILINE)
    return purge is not None and purge[1].strip() == "running"
