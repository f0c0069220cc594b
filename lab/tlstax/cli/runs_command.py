"""`tlstax runs`: what is kept, listed or deleted."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.cli.kept import open_store, reports_dir
from tlstax.cli.streams import agrees, show, show_json
from tlstax.report.core.untrusted import printable
from tlstax.store import RunSummary
from tlstax.store.listing import RunListing
from tlstax.store.store import UnreadableRun
from tlstax.support.errors import MachineFault

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
    if not runs:
        return
    show(f"{'run':22}{'study':18}{'status':13}{'trials':>7}  {'invalid':>7}  stopped because\n")
    for run in runs:
        trials = run.valid + run.invalid + run.unknown
        show(
            f"{printable(run.run):22}{printable(run.study):18}{run.status:13}{trials:7}  "
            f"{run.invalid + run.unknown:7}  {printable(run.stopped_because)}\n"
        )


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
