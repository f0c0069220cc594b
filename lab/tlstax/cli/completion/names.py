"""Names that change from day to day, for a shell that completes them: runs, servers that were added.

Imports as little as it can: a key press waits for it. What cannot be read has no names, and nothing is said
of it.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import closing, suppress

from tlstax.support.directories import data_dir

WORD = "completion-names"
"""The hidden command that prints them, which the launcher knows too (setup/unprepared.sh)."""

MOST = 200
"""The newest runs: nobody reads a longer list."""


def print_names(kinds: Iterable[str]) -> int:
    """Print the names of these kinds that there are, one a line, a run's with its study behind a tab."""
    for kind in kinds:
        with suppress(Exception):
            sys.stdout.write(
                "".join(f"{line}\n" for line in NAMES[kind]() if line.replace("\t", "").isprintable())
            )
    return 0


def _runs() -> list[str]:
    path = data_dir() / "store.sqlite"
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.1)) as connection:
        found = connection.execute(
            "SELECT run, study FROM kept_runs ORDER BY started_at DESC LIMIT ?", (MOST,)
        )
        return [f"{run}\t{study}" for run, study in found]


def _added() -> list[str]:
    text = (data_dir() / "specimens.json").read_text(encoding="utf-8")
    return [str(entry["name"]) for entry in json.loads(text)["added"]]


NAMES: dict[str, Callable[[], list[str]]] = {"runs": _runs, "packs": _runs, "factor-server": _added}
"""By the names of kinds in `kinds.py` that have more than a script can know."""
