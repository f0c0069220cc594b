"""The note that a run writes down of itself between its blocks: where it is, and reading it."""

from __future__ import annotations

import contextlib
from pathlib import Path

from pydantic import ValidationError

from tlstax.results.live import LiveRun
from tlstax.support.directories import sessions_dir
from tlstax.support.temporary import is_stale

NAME = "live.json"
"""The note's file, in a session directory of its own: who holds the directory's lock is still at work."""


def read(directory: Path) -> LiveRun | None:
    """What was noted last; None where nothing is, or nothing that this version writes."""
    try:
        return LiveRun.model_validate_json((directory / NAME).read_bytes())
    except (OSError, ValidationError):
        return None


def under_way() -> list[tuple[Path, LiveRun]]:
    """Where runs that are at work on this machine note what is known of them, those that measure first.

    Of these the one that noted something last.
    """
    found = []
    for file in sessions_dir().glob(f"*/{NAME}"):
        with contextlib.suppress(OSError):
            noted_ns = file.stat().st_mtime_ns
            live = read(file.parent)
            if live is not None and not is_stale(file.parent):
                found.append((bool(live.run), noted_ns, file.parent, live))
    found.sort(key=lambda note: note[:2], reverse=True)
    return [(directory, live) for _, _, directory, live in found]
