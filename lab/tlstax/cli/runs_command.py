"""`tlstax runs`: what is kept, whole or deleted."""

from __future__ import annotations

import json
import sys

from tlstax.cli.kept import open_store


def list_command(*, as_json: bool) -> int:
    """Every run, the newest first."""
    with open_store() as store:
        runs = store.runs()
    if as_json:
        document = {"schema": 1, "runs": [run.model_dump() for run in runs]}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return 0
    if not runs:
        sys.stdout.write("There is no run yet; `tlstax run` makes one.\n")
        return 0
    sys.stdout.write(f"{'run':22}{'study':18}{'status':13}{'trials':>7}  {'invalid':>7}  stopped because\n")
    for run in runs:
        trials = run.valid + run.invalid + run.unknown
        sys.stdout.write(
            f"{run.run:22}{run.study:18}{run.status:13}{trials:7}  {run.invalid + run.unknown:7}  "
            f"{run.stopped_because}\n"
        )
    return 0


def export_command(run_name: str) -> int:
    """A run with all its trials as one JSON document."""
    with open_store() as store:
        sys.stdout.write(store.export(run_name) + "\n")
    return 0


def delete_command(run_name: str) -> int:
    """Delete a run, and say which one it was."""
    with open_store() as store:
        deleted = store.delete(run_name)
    sys.stdout.write(f"deleted run {deleted}\n")
    return 0
