"""The built-in workloads, statement by statement.

`sbtest`: the workloads of sysbench 1.0.20 on its table. Source: oltp_common.lua and the oltp_*.lua beside it.
Ids are drawn evenly (--rand-type=uniform). Two things differ: inserts say their ids, which follow on the
table's, where sysbench leaves them to AUTO_INCREMENT; and deletes take the ids one after another, so that
each of them finds its row, where sysbench draws them.

`people`: the four statements of the study of MySQL 8.0.33 (Haikal et al.) on its table of people, as text.
The table has no index: the times and loads that were published are those of work on the whole table. The
paper does not print its statements; these are the plainest that have the costs which it shows.

`words`: the loop of the published study of Connector/J (2020): one word inserted after another, as text.
The study prints one statement and, decrypted, the answer to the one before: `0A 00 00 01`, the header of
packet 1 of ten bytes, then `00` (OK), `01` (one row), `FD 3C B7 02` (insert id 177980), `01 00` (its status
flags) and `00 00` (no warnings). The flags are SERVER_STATUS_IN_TRANS alone, without SERVER_STATUS_AUTOCOMMIT
(0x0002): the loop ran within one transaction, and nothing was committed between two inserts. Nor was anything
else sent: what the driver writes next is the next insert. (MySQL internals, OK_Packet and
SERVER_STATUS_flags_enum.)

`ping` reads nothing, for servers in which nothing may be created. A storm opens and logs in all connections
as fast as they can be, and asks nothing on them: the measure of the study of tunnels (seed 004), 100
connections at once, ten runs, connections a second.
"""

from __future__ import annotations

from tlstax.contract import Digits, Offset, Sequence, Statement, Transaction, UniformInt, Workload
from tlstax.study.product import ProductName

POINT_SELECTS = 10
RANGE_SIZE = 100

_GROUP = "#" * 11
C_TEMPLATE = "-".join([_GROUP] * 10)
PAD_TEMPLATE = "-".join([_GROUP] * 5)

LAST_ID = 2**31 - 1
"""The largest value of the column `id`, an INTEGER, of both tables."""


def point_select(table: str, rows: int) -> Workload:
    """oltp_point_select: one row by its primary key."""
    return Workload(protocol="prepared", statements=(_by_id(table, rows),))


def reconnect(table: str, rows: int) -> Workload:
    """Connect, select one row with a text query (what runs once is not worth preparing), disconnect."""
    return Workload(reconnect=True, protocol="text", statements=(_by_id(table, rows),))


def select_range(table: str, rows: int) -> Workload:
    """The simple range of the read-only mix, by itself."""
    return Workload(protocol="prepared", statements=(_range("SELECT c FROM {table}", table, rows),))


def insert(table: str, rows: int) -> Workload:
    """oltp_insert, prepared: one row with the next id."""
    new_id = Sequence(first=rows + 1, last=LAST_ID)
    return Workload(protocol="prepared", statements=(_insert(table, rows, {"id": new_id}),))


def update(table: str, rows: int) -> Workload:
    """oltp_update_index: the indexed column of one row."""
    return Workload(protocol="prepared", statements=(_update_index(table, rows),))


def delete(table: str, rows: int) -> Workload:
    """oltp_delete over ids in their order; when all rows are gone, it is over."""
    by_id = Statement(sql=_delete_sql(table), parameters={"id": Sequence(first=1, last=rows)})
    return Workload(protocol="prepared", statements=(by_id,))


def read_only(table: str, rows: int) -> Workload:
    """oltp_read_only: ten point selects and four ranges, in a transaction."""
    return Workload(protocol="prepared", mix=(Transaction(bracketed=True, statements=_reads(table, rows)),))


def read_write(table: str, rows: int) -> Workload:
    """oltp_read_write: the read-only mix, two updates, and a row deleted and inserted again."""
    statements = (
        *_reads(table, rows),
        _update_index(table, rows),
        Statement(
            sql=f"UPDATE {table} SET c={{c}} WHERE id={{id}}",  # noqa: S608 - the table's name is our own
            parameters={"c": Digits(template=C_TEMPLATE), "id": _any_id(rows)},
        ),
        Statement(sql=_delete_sql(table)),
        _insert(table, rows, {}),
    )
    # The row that is deleted is the one that is inserted: its id is drawn once, for both statements.
    once = {"id": _any_id(rows)}
    return Workload(
        protocol="prepared", mix=(Transaction(bracketed=True, parameters=once, statements=statements),)
    )


def _reads(table: str, rows: int) -> tuple[Statement, ...]:
    """The statements of the read-only mix in their order."""
    return (
        _by_id(table, rows).model_copy(update={"repeat": POINT_SELECTS}),
        _range("SELECT c FROM {table}", table, rows),
        _range("SELECT SUM(k) FROM {table}", table, rows),
        _range("SELECT c FROM {table}", table, rows, " ORDER BY c"),
        _range("SELECT DISTINCT c FROM {table}", table, rows, " ORDER BY c"),
    )


def _any_id(rows: int) -> UniformInt:
    return UniformInt(low=1, high=rows)


def _by_id(table: str, rows: int) -> Statement:
    return Statement(
        sql=f"SELECT c FROM {table} WHERE id={{id}}",  # noqa: S608 - the table's name is our own
        parameters={"id": _any_id(rows)},
    )


def _range(head: str, table: str, rows: int, tail: str = "") -> Statement:
    return Statement(
        sql=f"{head.format(table=table)} WHERE id BETWEEN {{id}} AND {{last}}{tail}",
        parameters={"id": _any_id(rows), "last": Offset(of="id", by=RANGE_SIZE - 1)},
    )


def _update_index(table: str, rows: int) -> Statement:
    return Statement(
        sql=f"UPDATE {table} SET k=k+1 WHERE id={{id}}",  # noqa: S608 - the table's name is our own
        parameters={"id": _any_id(rows)},
    )


def _delete_sql(table: str) -> str:
    return f"DELETE FROM {table} WHERE id={{id}}"  # noqa: S608 - the table's name is our own


def _insert(table: str, rows: int, new_id: dict[str, Sequence]) -> Statement:
    """A new row; without an id of its own it takes the transaction's."""
    return Statement(
        sql=f"INSERT INTO {table} (id, k, c, pad) VALUES ({{id}}, {{k}}, {{c}}, {{pad}})",  # noqa: S608
        parameters={
            **new_id,
            "k": _any_id(rows),
            "c": Digits(template=C_TEMPLATE),
            "pad": Digits(template=PAD_TEMPLATE),
        },
    )


NEW_PERSON = "'Ada', 'Lovelace', 'ada.lovelace@example.com', 'Female', '192.0.2.15'"
"""What an inserted row holds beside its id (the address is from RFC 5737, the domain from RFC 2606)."""


def people_select(table: str, rows: int) -> Workload:  # noqa: ARG001 (all workloads are made alike)
    """All rows of the table."""
    return _on_people(f"SELECT * FROM {table}")  # noqa: S608 - the table's name is our own


def people_insert(table: str, rows: int) -> Workload:
    """One row, with the next id."""
    return _on_people(
        f"INSERT INTO {table} (id, first_name, last_name, email, gender, ip_address)"  # noqa: S608
        f" VALUES ({{id}}, {NEW_PERSON})",
        id=Sequence(first=rows + 1, last=LAST_ID),
    )


def people_update(table: str, rows: int) -> Workload:
    """Another e-mail address for one row."""
    return _on_people(
        f"UPDATE {table} SET email={{email}} WHERE id={{id}}",  # noqa: S608 - the table's name is our own
        email=Digits(template="###########@example.com"),
        id=UniformInt(low=1, high=rows),
    )


def people_delete(table: str, rows: int) -> Workload:
    """One row after another; when all are gone, it is over."""
    return _on_people(
        f"DELETE FROM {table} WHERE id={{id}}",  # noqa: S608 - the table's name is our own
        id=Sequence(first=1, last=rows),
    )


def _on_people(sql: str, **parameters: Digits | Sequence | UniformInt) -> Workload:
    return Workload(protocol="text", statements=(Statement(sql=sql, parameters=dict(parameters)),))


BEGINS = "SET autocommit=0"
"""What a program says that turns autocommit off; the server takes the transaction back when it hangs up."""

BEGINS_AT_POSTGRESQL = "BEGIN"
"""The same where autocommit is the client's affair (PostgreSQL documentation, "ECPG: SET AUTOCOMMIT")."""


def stream(table: str, rows: int) -> Workload:  # noqa: ARG001 (all workloads are made alike)
    """All of the table, which is what a dump asks for; what else a program reads is its own affair.

    A mix, for nobody counts its statements: such programs say many others.
    """
    whole = Statement(sql=f"SELECT * FROM {table}")  # noqa: S608 (the laboratory's own table)
    return Workload(reconnect=True, mix=(Transaction(statements=(whole,)),))


def as_at(product: ProductName, workload: Workload) -> Workload:
    """A workload of these at that product: PostgreSQL begins a transaction otherwise, the rest is alike."""
    if product != "postgresql" or workload.on_connect != (BEGINS,):
        return workload
    return workload.model_copy(update={"on_connect": (BEGINS_AT_POSTGRESQL,)})


EXECUTE = "/* execute */ "
"""What makes a statement one of which a program cannot tell whether it reads: our JDBC client hands it to
`execute()`, as frameworks do, and not to `executeUpdate()` (drivers/java/README.md)."""


def words_insert(table: str, rows: int) -> Workload:  # noqa: ARG001 (all workloads are made alike)
    """One word, its two spaces before `values` as published: with "words" for a table it is 39 bytes long."""
    return _on_words(_words_sql(table))


def words_execute(table: str, rows: int) -> Workload:  # noqa: ARG001 (all workloads are made alike)
    """The same, handed to the driver as a statement of any kind."""
    return _on_words(f"{EXECUTE}{_words_sql(table)}")


def _words_sql(table: str) -> str:
    return f"insert into {table} (word)  values('123')"


def _on_words(sql: str) -> Workload:
    return Workload(protocol="text", statements=(Statement(sql=sql),), on_connect=(BEGINS,))


_PING = Statement(sql="SELECT 1")
"""What pools ask to see that a connection is alive; a proxy passes it on like any other query."""


def ping(table: str, rows: int) -> Workload:  # noqa: ARG001 (it reads none)
    """One statement after another on connections that are kept."""
    return Workload(protocol="text", statements=(_PING,))


def reconnect_ping(table: str, rows: int) -> Workload:  # noqa: ARG001 (it reads none)
    """Connect, ask once, disconnect."""
    return Workload(reconnect=True, protocol="text", statements=(_PING,))


STORM_ROUNDS = 10
"""How many rounds a trial has where a study does not say: the runs that were published."""

STORM_CONNECTIONS = 100
"""How many connections a round opens where nobody says: as many as were published."""


def storm(table: str, rows: int) -> Workload:  # noqa: ARG001 (all workloads are made alike)
    """A connection opened and logged in; it needs no table."""
    return Workload(storm=True)
