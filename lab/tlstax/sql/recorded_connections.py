"""The table in which connections record themselves: what is the same of it in all products.

Each product's `connection_log` makes it, with columns `version` and `cipher`, and has the statement by which
a connection adds its row.
"""

from __future__ import annotations

from tlstax.contract import Job
from tlstax.records.trial import ConnectionsSeen
from tlstax.sql import answers
from tlstax.sql.database import Database

TABLE = "tlstax_connections"


def recording(job: Job, statement: str) -> Job:
    """The job, each of whose connections begins with that statement."""
    on_connect = (statement, *job.workload.on_connect)
    return job.model_copy(update={"workload": job.workload.model_copy(update={"on_connect": on_connect})})


def clear(admin: Database) -> None:
    """Forget those of earlier trials."""
    answers.carry_out(admin, f"TRUNCATE TABLE {TABLE}")


def read(admin: Database) -> tuple[ConnectionsSeen, ...]:
    """Those recorded since the table was cleared, counted by what the server said of their encryption."""
    asked = f"SELECT version, cipher, COUNT(*) FROM {TABLE} GROUP BY version, cipher ORDER BY 3 DESC"  # noqa: S608
    return tuple(
        ConnectionsSeen(connections=answers.number(count), version=version or None, cipher=cipher or None)
        for version, cipher, count in answers.rows(admin, asked, columns=3)
    )
