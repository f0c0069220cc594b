"""The built-in workloads by name, as the contract describes them."""

from __future__ import annotations

from tlstax.contract import Statement, UniformInt, Workload

NAMES = ("point-select", "reconnect")


def built_in(name: str, table: str, rows: int) -> Workload:
    """The workload of that name over ids 1 to `rows` of `table`.

    `point-select` is sysbench's oltp_point_select on connections that are kept: one row by primary
    key, as a prepared statement. `reconnect` connects, selects one row with a text query (a
    statement that runs once is not worth preparing) and disconnects. KeyError for another name.
    """
    by_id = Statement(
        sql=f"SELECT c FROM {table} WHERE id={{id}}",  # noqa: S608 - the table's name is our own
        parameters={"id": UniformInt(low=1, high=rows)},
    )
    return {
        "point-select": Workload(reconnect=False, protocol="prepared", statements=(by_id,)),
        "reconnect": Workload(reconnect=True, protocol="text", statements=(by_id,)),
    }[name]
