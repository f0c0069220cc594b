"""What drivers did on a hostile wire, for a terminal: a table for each word that they have for TLS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.tools.probes.drivers.attacked import TRICKS, Outcome, TlsAsked
from tlstax.tools.probes.drivers.probe_document import DriverRow

HEADINGS: dict[TlsAsked, str] = {
    "unset": "On a hostile wire, when TLS is not configured",
    "required": "On a hostile wire, when TLS is required, and nothing else is configured",
    "verified": "On a hostile wire, when the server is to be verified",
}

WORDS: dict[Outcome, str] = {
    "refused": "refused",
    "went on": "yes",
    "password": "password",
    "hash": "weak hash",
    "file": "file",
}

SHORT = ("clear", "1", "2", "3", "4", "5")

EXPLAINED = (
    "Clear: it goes on without TLS where the offer of TLS was taken away. What it then gives to whoever asks "
    "for its password by mysql_clear_password (1), by mysql_old_password (2), by a full caching_sha2 login "
    "with a key of their own (3), or for a file (4). And what it gives over TLS to whoever shows a "
    "certificate that nobody vouches for, and asks for a full login (5). \u2013 means that it did not come "
    "to that."
)


def attack_tables(rows: Sequence[DriverRow]) -> Iterator[RenderableType]:
    """The tables, and what their columns are."""
    for tls, title in HEADINGS.items():
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        table.add_column("", no_wrap=True)
        for heading in SHORT:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(Text(row.name), *map(Text, _cells(row, tls)))
        yield from (Text(title, style="bold"), table, Text())
    yield from (Text(EXPLAINED, style="dim"), Text())


def _cells(row: DriverRow, tls: TlsAsked) -> Iterator[str]:
    known = {attack.trick: attack.outcome for attack in row.attacks if attack.tls == tls}
    for trick in TRICKS:
        yield WORDS[known[trick]] if trick in known else "\u2013"
