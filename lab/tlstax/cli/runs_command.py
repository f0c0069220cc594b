"""`tlstax runs`: what is kept, listed or deleted, and the rows of the store's views."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tlstax.cli.streams import agrees, show, show_json, tell, terminal_width
from tlstax.store import RunSummary, open_store, row_tables
from tlstax.store.store import RunListing, UnreadableRun
from tlstax.support.directories import reports_dir
from tlstax.support.errors import MachineFault
from tlstax.support.text import counted
from tlstax.support.untrusted import printable

NOTHING = "Runs that measured nothing, none of whose trials is valid; `last` is none of them:"


def list_command(*, as_json: bool) -> int:
    """Every run, the newest first."""
    with open_store() as store:
        listed = store.listed()
    runs = tuple(run for run in listed if isinstance(run, RunSummary))
    unreadable = tuple(run for run in listed if isinstance(run, UnreadableRun))
    if as_json:
        show_json(RunListing(runs=runs, unreadable=unreadable).model_dump_json(indent=2) + "\n")
        return 0
    if not listed:
        show("There are no runs yet; `tlstax run` makes one.\n")
        return 0
    empty = tuple(run for run in runs if not run.valid and run.status != "running")
    _table([run for run in runs if run not in empty])
    if empty:
        show(f"{NOTHING}\n")
        _table(empty)
    for broken in unreadable:
        show(f"{printable(broken.run):22}{printable(broken.why)}\n")
    return 0


def _table(runs: Sequence[RunSummary]) -> None:
    """A line for each run; why it stopped takes what is left of the terminal's width, and of a pipe all."""
    if not runs:
        return
    study = max(len(printable(run.study)) for run in runs)
    room = terminal_width() if sys.stdout.isatty() else None
    rows = [("run", "study", "status", "trials", "invalid", "stopped because")]
    for run in runs:
        trials = run.valid + run.invalid + run.unknown
        rows.append(
            (
                printable(run.run),
                printable(run.study),
                run.status,
                str(trials),
                str(run.invalid + run.unknown),
                printable(run.stopped_because),
            )
        )
    for name, of, status, trials_word, invalid, why in rows:
        line = f"{name:22}{of:{max(study, 5)}}  {status:11}  {trials_word:>6}  {invalid:>7}  {why}".rstrip()
        show(f"{line if room is None or len(line) <= room else line[: room - 1] + '…'}\n")


def delete_command(run_name: str, *, is_agreed: bool) -> int:
    """Delete a run with its report, and say which one it was; the exit status.

    Who has not agreed is asked, on a terminal; UserMistake where nobody can be.
    """
    with open_store() as store:
        run = store.found(run_name)
        page = reports_dir() / f"{run}.html"
        there = page.name == f"{run}.html" and page.is_file()
        what = f"run {run}" + (" and its report" if there else "")
        if not is_agreed and not agrees(f"Delete {printable(what)} for good?"):
            show(f"{what} is kept\n" if not there else f"{what} are kept\n")
            return 0
        store.delete(run)
    if there:
        try:
            page.unlink(missing_ok=True)
        except OSError as error:
            raise MachineFault(
                f"run {run} is deleted, and its report {page} cannot be ({error.strerror})",
                remedy="delete that by hand",
            ) from error
    show(f"deleted {what}\n")
    return 0


def tabulate_command() -> int:
    """Write what is missing and say for how many runs; the exit status."""
    with open_store() as store:
        written = row_tables.write_missing(store, tell)
        path = store.path
    show(f"{path}: rows of {counted(written, 'run')} written\n")
    return 0
