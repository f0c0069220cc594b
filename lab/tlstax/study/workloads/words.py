"""The loop of the published study of Connector/J (2020): one word inserted after another, as text.

The study prints one statement and, decrypted, the answer to the one before: `0A 00 00 01`, the header of
packet 1 of ten bytes, then `00` (OK), `01` (one row), `FD 3C B7 02` (insert id 177980), `01 00` (its status
flags) and `00 00` (no warnings). The flags are SERVER_STATUS_IN_TRANS alone, without SERVER_STATUS_AUTOCOMMIT
(0x0002): the loop ran within one transaction, and nothing was committed between two inserts. Nor was anything
else sent: what the driver writes next is the next insert. (MySQL internals, OK_Packet and
SERVER_STATUS_flags_enum.)
"""

from __future__ import annotations

from tlstax.contract import Statement, Workload

BEGINS = "SET autocommit=0"
"""What a program says that turns autocommit off; the server takes the transaction back when it hangs up."""


EXECUTE = "/* execute */ "
"""What makes a statement one of which a program cannot tell whether it reads: our JDBC client hands it to
`execute()`, as frameworks do, and not to `executeUpdate()` (drivers/java/README.md)."""


def insert(table: str, rows: int) -> Workload:  # noqa: ARG001 (all workloads are made alike)
    """One word, its two spaces before `values` as published: with "words" for a table it is 39 bytes long."""
    return _of(_sql(table))


def execute(table: str, rows: int) -> Workload:  # noqa: ARG001 (all workloads are made alike)
    """The same, handed to the driver as a statement of any kind."""
    return _of(f"{EXECUTE}{_sql(table)}")


def _sql(table: str) -> str:
    return f"insert into {table} (word)  values('123')"


def _of(sql: str) -> Workload:
    return Workload(protocol="text", statements=(Statement(sql=sql),), on_connect=(BEGINS,))
