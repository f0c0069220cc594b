"""The specimens as a table for a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tlstax.probes.specimen_list import Listed, Listing
from tlstax.topics.core.printed import printed

HEADINGS = {
    "server": "Servers",
    "tls_library": "TLS libraries",
    "client": "Clients",
    "path": "Paths",
    "variant": "Our own variants",
    "fault": "Faults",
}


ROOM_FOR_CHECKSUMS = 100
"""From this width on there is room for the beginning of each checksum; the JSON has the whole."""


def table_text(listing: Listing, *, width: int, colour: bool) -> str:
    """One table a kind, then how much room they take."""
    parts: list[Table | Text] = []
    for kind, heading in HEADINGS.items():
        of_kind = [specimen for specimen in listing.specimens if specimen.kind == kind]
        if of_kind:
            parts.append(_table(heading, of_kind, checksums=width >= ROOM_FOR_CHECKSUMS))
    there = [specimen for specimen in listing.specimens if specimen.status == "ready"]
    size_mb = sum(specimen.bytes or 0 for specimen in there) / 1e6
    summary = f"{len(there)} of {len(listing.specimens)} are here ({size_mb:,.0f} MB)."
    broken = [specimen.name for specimen in listing.specimens if specimen.status == "broken"]
    if broken:
        summary += f" Broken: {', '.join(broken)}; `tlstax specimens fetch NAME` gets them anew."
    return printed([*parts, Text(summary)], width=width, colour=colour)


def _table(heading: str, of_kind: list[Listed], *, checksums: bool) -> Table:
    table = Table(box=None, pad_edge=False, title=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(heading, no_wrap=True)
    table.add_column("version", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("MB", justify="right", no_wrap=True)
    if checksums:
        table.add_column("sha256", no_wrap=True)
    table.add_column("origin")
    table.add_column("its TLS")
    for specimen in of_kind:
        size = f"{specimen.bytes / 1e6:,.0f}" if specimen.bytes is not None else ""
        checksum = [specimen.sha256[:8]] if checksums else []
        table.add_row(
            specimen.name,
            specimen.version or "?",
            specimen.status,
            size,
            *checksum,
            specimen.origin,
            _words(specimen),
        )
    table.add_row()
    return table


def _words(specimen: Listed) -> str:
    if specimen.status == "broken":
        return specimen.reason
    if specimen.status == "absent" or specimen.kind in {"fault", "variant", "path"}:
        return ""
    return specimen.tls.words() if specimen.tls else "not asked yet"
