"""When a tunnel is worth it, as rows of text, the same for every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.distance.tunnel_words import briefly, tunnel_words
from tlstax.findings.distance.words import away
from tlstax.report.distance.tables import cell
from tlstax.results.distance import TunnelWorth
from tlstax.results.interval import Interval
from tlstax.support.grouping import grouped
from tlstax.topics.core.table import INDENT, Table

TITLES = {
    "time": "When a tunnel is worth it in place of the server's own TLS: in time",
    "many": "When a tunnel is worth it in place of the server's own TLS: in time with many at a time",
    "CPU": "When a tunnel is worth it in place of the server's own TLS: in CPU time",
}
HEADS = ("saved per\nconnection", "lost per\nstatement", "worth it with so many\nstatements a connection")
READINGS = {
    "time": "In ms, of medians: by how much sooner a connection is up, and by how much later a statement is "
    "answered.",
    "many": "In ms: a second divided by how many connections or statements are done in it.",
    "CPU": "In ms of CPU time of client, tunnel and server together.",
}
BREAK_EVEN = (
    "Below so many statements on a connection the tunnel costs less in all. SSH makes its own connection "
    "once; stunnel and HAProxy shake hands for each that they carry."
)


def tunnel_tables(found: Sequence[TunnelWorth], *, narrow: bool = False) -> Iterator[Table]:
    """A table for each measure; `narrow` ones leave out two columns for the verdicts."""
    for measure, title in TITLES.items():
        of_measure = (each for each in found if each.measure == measure)
        sides = grouped(of_measure, lambda each: (each.server, each.rtt_ms, each.rival))
        rows = tuple(_rows(sides, narrow=narrow))
        if rows:
            heads = HEADS[-1:] if narrow else HEADS
            notes = (READINGS[measure], BREAK_EVEN)
            yield Table(title, heads, rows, notes, of="tunnel in place of TLS")


def _rows(
    sides: dict[tuple[str, float, str], list[TunnelWorth]], *, narrow: bool
) -> Iterator[tuple[str, ...]]:
    width = 1 if narrow else len(HEADS)
    for (server, rtt_ms, rival), several in sides.items():
        place = ", ".join(part for part in (server, away(rtt_ms)) if part)
        yield (f"{place}, in place of {rival}", *[""] * width)
        for each in several:
            costs = () if narrow else (_ms(each.saved_per_connection_us), _ms(each.lost_per_statement_us))
            yield (f"{INDENT}{tunnel_words(each)}", *costs, briefly(each))


def _ms(found: Interval) -> str:
    return cell(found.each(lambda us: us / 1e3))
