"""The drivers that are known as a table for a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tlstax.probes.drivers.probe_document import ListedDriver, ListedDrivers
from tlstax.report.core.printed import printed


def listed_text(found: ListedDrivers, *, width: int, colour: bool) -> str:
    """One line a driver, then how many there are and what would make the others ready."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("Driver", "of", "version", "language", "status"):
        table.add_column(heading, no_wrap=heading in {"Driver", "version", "language"})
    for one in found.drivers:
        table.add_row(one.name, one.product, one.version, one.language, _status(one))
    ready = sum(one.status == "ready" for one in found.drivers)
    summary = f"{ready} of {len(found.drivers)} are built; the others are when they are first used."
    missing = sorted({program for one in found.drivers for program in one.missing})
    if missing:
        summary += f" Not here, and needed for some: {', '.join(missing)}."
    return printed([table, Text(), Text(summary)], width=width, colour=colour)


def _status(one: ListedDriver) -> str:
    if one.status == "ready":
        return "ready"
    if one.missing:
        return f"needs {', '.join(one.missing)}"
    return "to be built" if one.status == "absent" else "to be built anew"
