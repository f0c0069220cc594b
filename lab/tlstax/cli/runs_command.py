"""`tlstax runs`: what is kept, listed or deleted."""

from __future__ import annotations

from tlstax.cli.kept import open_store
from tlstax.cli.streams import show, show_json
from tlstax.report.core.untrusted import printable
from tlstax.store import RunSummary
from tlstax.store.listing import RunListing
from tlstax.store.store import UnreadableRun


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
    show(f"{'run':22}{'study':18}{'status':13}{'trials':>7}  {'invalid':>7}  stopped because\n")
    for run in runs:
        trials = run.valid + run.invalid + run.unknown
        show(
            f"{printable(run.run):22}{printable(run.study):18}{run.status:13}{trials:7}  "
            f"{run.invalid + run.unknown:7}  {printable(run.stopped_because)}\n"
        )
    for broken in unreadable:
        show(f"{printable(broken.run):22}{printable(broken.why)}\n")
    return 0


def delete_command(run_name: str) -> int:
    """Delete a run, and say which one it was."""
    with open_store() as store:
        deleted = store.delete(run_name)
    show(f"deleted run {deleted}\n")
    return 0
