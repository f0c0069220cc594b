"""`tlstax runs export`, `pack`, `open` and `publish`: runs as files for other tools and other people.

A site is made beside its place and put there whole.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from tlstax import __version__
from tlstax.cli.asked_outcomes import asked_outcomes
from tlstax.cli.flames_command import draw
from tlstax.cli.report_command import report_command
from tlstax.cli.runs_app import ExportOptions
from tlstax.cli.streams import check_writable, format_of_name, show, show_json, write_bytes
from tlstax.records.trial import StoredRun
from tlstax.report.page.html import Link, html, site_html
from tlstax.report.page.site import PackedFile, SiteRun, site_run
from tlstax.report.run_tables import TABLES, Tabulated, blocks_csv, json_lines, rows_csv, rows_json
from tlstax.stats.series import block_rows
from tlstax.store import Store, open_store, row_tables
from tlstax.store.anonymise import anonymous
from tlstax.store.pack import SUFFIX, content_of, opened, packed, unpacked
from tlstax.support import temporary
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import closest, counted
from tlstax.topics.answer.document import document
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


def pack_command(run: str, output: Path | None, *, with_names: bool) -> int:
    """Write the run into a file, and say what is in it; the exit status."""
    if output is not None:
        format_of_name(output, {SUFFIX: "pack"}, "pack", what="a pack")
    with open_store() as store:
        stored = store.load(run)
    path = output or Path(f"{stored.header.run}{SUFFIX}")
    check_writable(path)
    kept = stored if with_names else anonymous(stored)
    content = packed(kept, by=__version__, names_left_out=not with_names)
    write_bytes(path, content)
    names = "with all names and texts that are in it" if with_names else "without names"
    trials = counted(len(stored.trials), "trial")
    show(f"{path}: run {stored.header.run}, {trials}, {len(content) / 1e6:.1f} MB, {names}\n")
    return 0


def open_command(path: Path) -> int:
    """Keep the file's run among one's own and show it; the exit status."""
    _, stored = opened(path)
    try:
        rows = row_tables.rows_of(stored)
    except Exception as error:  # Anybody may have written it: what nobody foresaw is its fault.
        raise UserMistake(
            f"what is in {path} cannot be worked out ({type(error).__name__}: {error}), and is not kept",
            remedy="get it again from where it was packed",
        ) from error
    with open_store() as store:
        store.adopt(stored, partial(row_tables.replace, run=stored.header.run, rows=rows))
    return report_command(stored.header.run, "terminal", None)


def run_or_pack(store: Store, name: str) -> StoredRun:
    """A run of the store, or of the pack that the name is a path of."""
    if name.endswith(SUFFIX) or os.sep in name or Path(name).is_file():
        _, stored = opened(Path(name))
        return stored
    return store.load(name)


INDEX = "index.html"
MADE_OF = frozenset({INDEX, "runs", "packs"})
"""What a site has at its top."""


def publish_command(directory: Path, packs: Sequence[Path]) -> int:
    """Make the site, or make it anew in place of an earlier one; the exit status.

    UserMistake for a file that is no pack, or that has names in it. An earlier site stays as it was then.
    """
    check_replaceable(directory, MADE_OF)
    runs: dict[str, SiteRun] = {}
    with NewDirectory(directory) as site:
        for path in packs:
            content, stored = _clean(path)
            shown, file = document(stored), PackedFile(hashlib.sha256(content).hexdigest(), len(content))
            found = site_run(stored, shown, file)
            if found.name not in runs:
                page = html(stored, shown, draw, _beside(found))
                site.write({found.pack_path: content, found.page: page.encode(errors="replace")})
                runs[found.name] = found
            elif runs[found.name].pack != found.pack:
                raise UserMistake(f"{path} has run {found.name}, and so has another file", remedy="name one")
        site.write({INDEX: site_html(tuple(runs.values())).encode(errors="replace")})
        site.put_in_place()
    show(f"{directory / INDEX}: {counted(len(runs), 'run')}\n")
    return 0


def _beside(run: SiteRun) -> tuple[Link, ...]:
    """What the page of a run leads to, as seen from there."""
    return (
        Link(f"../{INDEX}", "All runs"),
        Link(f"../{run.pack_path}", "This run with all its trials, as a pack"),
    )


def _clean(path: Path) -> tuple[bytes, StoredRun]:
    """A pack's content and its run, in which nothing is but what is public. Raises UserMistake."""
    content = content_of(path)
    first, stored = unpacked(path, content)
    if not first.names_left_out:
        raise UserMistake(
            f"{path} was packed --with-names, and what it says of its server and machine stays there",
            remedy="pack the run again, without --with-names",
        )
    if anonymous(stored) != stored:
        raise UserMistake(
            f"{path} has texts in it that are not known to be public: it was packed by another version of "
            f"tlstax ({first.packed_by}), or changed",
            remedy=f"where the run is kept, or after `tlstax runs open {path}`, "
            f"`tlstax runs pack {stored.header.run}` leaves them out",
        )
    if stored.is_empty:
        raise UserMistake(
            f"{path} has run {stored.header.run}, which measured nothing", remedy="leave it out"
        )
    return content, stored


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS})


def check_replaceable(directory: Path, made_of: frozenset[str]) -> None:
    """UserMistake where the directory has anything but what is named here: that is no earlier one of ours."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise UserMistake(f"{directory} is no directory", remedy="name another one")
    others = sorted({path.name for path in directory.iterdir()} - made_of) if directory.exists() else []
    if others:
        raise UserMistake(
            f"{directory} has {others[0]!r} in it, which is not of an earlier site",
            remedy="name an empty directory, or one that is not there yet",
        )
    if not directory.absolute().parent.is_dir():
        raise UserMistake(f"{directory.absolute().parent} is no directory", remedy="make it first")


class NewDirectory:
    """The new content while it is being written; `put_in_place` shows it, leaving it otherwise removes it."""

    def __init__(self, directory: Path) -> None:
        self._place = directory.absolute()
        self._stack = ExitStack()

    def __enter__(self) -> NewDirectory:
        self._partial = self._stack.enter_context(temporary.beside(self._place))
        try:
            self._partial.mkdir()
        except OSError as error:
            self._stack.close()
            raise UserMistake(
                f"nothing can be made in {self._place.parent} ({error.strerror})", remedy="name another place"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write files by their paths in the directory. Raises MachineFault."""
        for name, content in files.items():
            path = self._partial / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            except OSError as error:
                raise MachineFault(f"{path} could not be written ({error.strerror})") from error

    def put_in_place(self) -> None:
        """Let it take the place of what is there. Raises MachineFault."""
        try:
            if self._place.exists():
                _exchange(self._partial, self._place)
            else:
                self._partial.rename(self._place)
        except OSError as error:
            raise MachineFault(f"{self._place} could not be replaced ({error.strerror})") from error


def _exchange(new: Path, old: Path) -> None:
    """Let two directories change places."""
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    if renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0:
        return
    number = ctypes.get_errno()
    if number not in _CANNOT_EXCHANGE:
        raise OSError(number, os.strerror(number))
    aside = new.with_name(f"{new.name}{temporary.ASIDE}")
    old.rename(aside)
    new.rename(old)
    aside.rename(new)
