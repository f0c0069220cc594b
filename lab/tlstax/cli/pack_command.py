"""`tlstax runs pack` and `runs open`: a run as a file for others, and such a file among one's own runs."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from tlstax import __version__
from tlstax.cli.output_file import check_writable, format_of_name, write_bytes
from tlstax.cli.report_command import report_command
from tlstax.cli.streams import show
from tlstax.records.trial import StoredRun
from tlstax.store import Store, open_store, row_tables
from tlstax.store.anonymise import anonymous
from tlstax.store.pack import SUFFIX, opened, packed
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted


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
