"""`tlstax runs export`: a run as one document, or a table of it as CSV, JSON or Parquet."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from tlstax.cli.asked_outcomes import asked_outcomes
from tlstax.cli.output_file import check_writable, format_of_name, write_bytes
from tlstax.cli.runs_app import ExportOptions
from tlstax.cli.streams import show, show_json
from tlstax.records.trial import StoredRun
from tlstax.report.run_tables import TABLES, Tabulated, blocks_csv, json_lines, rows_csv, rows_json
from tlstax.stats.series import block_rows
from tlstax.store import open_store
from tlstax.support import temporary
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import closest, counted
from tlstax.topics.answer.export import export_text
from tlstax.topics.core.columns import ColumnType, Table, Values

ExportFormat = Literal["json", "csv", "parquet"]

BY_SUFFIX: dict[str, ExportFormat] = {".json": "json", ".csv": "csv", ".parquet": "parquet"}
"""The format by the name of the file, where --format does not say."""

BLOCKS = "blocks"
"""The small table of CSV: a row for each case and block."""

USUAL_ROWS = {"csv": BLOCKS, "parquet": "trials"}
"""What is exported where nobody says; of JSON the whole document."""


def export_command(options: ExportOptions) -> int:
    """Print or write what was asked for; the exit status. Raises UserMistake before anything is written."""
    options = replace(options, format_=options.format_ or _format_of(options.output))
    _check(options)
    with open_store() as store:
        stored = store.load(options.run_name)
    if options.format_ == "json" and options.rows is None:
        _put(options, export_text(stored) + "\n", is_json=True)
        return 0
    rows = options.rows or USUAL_ROWS[options.format_ or ""]
    if options.format_ == "parquet":
        return _parquet(options, stored, rows)
    if rows == BLOCKS:
        names = asked_outcomes(options.outcomes, stored.header.study)
        _put(options, blocks_csv(block_rows(stored, names), names), is_json=False)
        return 0
    found = Tabulated(stored).rows(rows)
    if options.format_ == "json":
        _put(options, rows_json(found), is_json=True)
    else:
        _put(options, rows_csv(TABLES[rows], found), is_json=False)
    return 0


def _format_of(output: Path | None) -> ExportFormat:
    return "json" if output is None else format_of_name(output, BY_SUFFIX, "json", what="an export")


def _check(options: ExportOptions) -> None:
    """UserMistake for a format, rows or outcomes that there are not, or that do not go together."""
    _known("--format", options.format_ or "", get_args(ExportFormat))
    if options.rows is not None:
        _known("--rows", options.rows, (*TABLES, BLOCKS))
    if options.rows == BLOCKS and options.format_ != "csv":
        raise UserMistake(f"--rows {BLOCKS} is for --format csv alone", remedy="choose other rows")
    if options.outcomes is not None and (options.format_ != "csv" or options.rows not in {None, BLOCKS}):
        raise UserMistake(
            f"--outcomes is for --format csv and --rows {BLOCKS} alone: all else has every outcome",
            remedy="leave it out",
        )
    if options.output is not None:
        check_writable(options.output)


def _known(option: str, given: str, known: Collection[str]) -> None:
    if given not in known:
        raise UserMistake(
            f"{option}: there is no {given!r}{closest(given, known)}",
            remedy=f"choose one of {', '.join(known)}",
        )


def _put(options: ExportOptions, text: str, *, is_json: bool) -> None:
    if options.output is not None:
        write_bytes(options.output, text.encode(errors="replace"))
    elif is_json:
        show_json(text)
    else:
        show(text)


def _parquet(options: ExportOptions, stored: StoredRun, rows: str) -> int:
    from tlstax.cli.export_command import parquet

    path = options.output or Path(f"{stored.header.run}-{rows}.parquet")
    check_writable(path)
    found = list(Tabulated(stored).rows(rows))
    content = parquet(TABLES[rows], found)
    write_bytes(path, content)
    what = f"{counted(len(found), 'row')} of {rows}, {len(content) / 1e6:.1f} MB"
    show(f"{path}: run {stored.header.run}, {what}\n")
    return 0


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
