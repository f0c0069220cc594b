"""The drivers that are known as a table for a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tlstax.tools.probes.drivers.probe_document import ListedDriver, ListedDrivers
from tlstax.topics.core.printed import printed


def listed_text(listing: ListedDrivers, *, width: int, colour: bool) -> str:
    """One line a driver, then how many there are and what would make the others ready."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("Driver", "of", "version", "language", "status"):
        table.add_column(heading, no_wrap=heading in {"Driver", "version", "language"})
    for driver in listing.drivers:
        table.add_row(driver.name, driver.product, driver.version, driver.language, _status(driver))
    ready = sum(driver.status == "ready" for driver in listing.drivers)
    summary = f"{ready} of {len(listing.drivers)} are built; the others are when they are first used."
    missing = sorted({program for driver in listing.drivers for program in driver.missing})
    if missing:
        summary += f" Not here, and needed for some: {', '.join(missing)}."
    return printed([table, Text(), Text(summary)], width=width, colour=colour)


def _status(driver: ListedDriver) -> str:
    if driver.status == "ready":
        return "ready"
    if driver.missing:
        return f"needs {', '.join(driver.missing)}"
    return "to be built" if driver.status == "absent" else "to be built anew"
