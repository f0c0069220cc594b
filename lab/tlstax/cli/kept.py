"""Where runs and reports are kept, for the commands that open them."""

from __future__ import annotations

from pathlib import Path

from tlstax.store import Store
from tlstax.support.directories import data_dir, ensure_directory


def open_store() -> Store:
    """The user's store; the caller closes it."""
    return Store.open(ensure_directory(data_dir()) / "store.sqlite")


def reports_dir() -> Path:
    """Where reports go when no other place was named; made when missing. Raises MachineFault."""
    return ensure_directory(data_dir() / "reports")
