"""Rows as Parquet, written by DuckDB. An extra: the launcher installs it when Parquet is first asked for."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.report.run_tables import json_lines
from tlstax.support import temporary
from tlstax.support.errors import MachineFault
from tlstax.topics.core.columns import ColumnType, Table, Values

_TYPES: dict[ColumnType, str] = {"TEXT": "VARCHAR", "INTEGER": "BIGINT", "REAL": "DOUBLE"}

_AS_PARQUET = (
    "COPY (SELECT * FROM read_json('{rows}', format = 'newline_delimited', columns = {columns})) "
    "TO '{file}' (FORMAT parquet)"
)


def parquet(table: Table, rows: Iterable[Values]) -> bytes:
    """The file's content: a column of its type for each of the table's. Raises MachineFault."""
    try:
        import duckdb
    except ImportError as error:
        raise MachineFault(
            "Parquet is written by DuckDB, which is not installed here",
            remedy="start `./tlstax runs export --format parquet`: the launcher installs it",
        ) from error
    columns = {column.name: _TYPES[column.type] for column in table.columns}
    with temporary.directory() as folder:
        lines, file = folder / "rows.json", folder / "rows.parquet"
        with lines.open("wb") as stream:
            stream.writelines(line + b"\n" for line in json_lines(rows))
        with duckdb.connect(config={"autoinstall_known_extensions": "false", "threads": "1"}) as database:
            database.execute(_AS_PARQUET.format(rows=lines, file=file, columns=columns))
        return file.read_bytes()
