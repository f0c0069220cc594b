"""Where runs and reports are kept, for the commands that open them."""

from __future__ import annotations

from pathlib import Path

from tlstax.errors import MachineFault
from tlstax.places import data_dir, ensure_directory
from tlstax.store import Store


def open_store() -> Store:
    """The user's store; the caller closes it."""
    return Store.open(ensure_directory(data_dir()) / "store.sqlite")


def report_file(run: str) -> Path:
    """Where a run's report goes when no other place was named."""
    return ensure_directory(data_dir() / "reports") / f"{run}.html"


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises MachineFault."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise MachineFault(f"{path} could not be written ({error.strerror})") from None
