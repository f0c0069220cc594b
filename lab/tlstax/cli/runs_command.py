"""`tlstax runs`: what is kept, listed or deleted."""

from __future__ import annotations

from tlstax.cli.kept import open_store
from tlstax.cli.streams import show, show_json
from tlstax.store.listing import RunListing


def list_command(*, as_json: bool) -> int:
    """Every run, the newest first."""
    with open_store() as store:
        runs = store.runs()
    if as_json:
        show_json(RunListing(runs=tuple(runs)).model_dump_json(indent=2) + "\n")
        return 0
    if not runs:
        show("There are no runs yet; `tlstax run` makes one.\n")
        return 0
    show(f"{'run':22}{'study':18}{'status':13}{'trials':>7}  {'invalid':>7}  stopped because\n")
    for run in runs:
        trials = run.valid + run.invalid + run.unknown
        show(
            f"{run.run:22}{run.study:18}{run.status:13}{trials:7}  {run.invalid + run.unknown:7}  "
            f"{run.stopped_because}\n"
        )
    return 0


def delete_command(run_name: str) -> int:
    """Delete a run, and say which one it was."""
    with open_store() as store:
        deleted = store.delete(run_name)
    show(f"deleted run {deleted}\n")
    return 0
