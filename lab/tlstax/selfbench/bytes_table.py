"""How fast results are read, as text for a terminal and as Markdown."""

from __future__ import annotations

from tlstax.report.formats.markdown import escaped
from tlstax.results.interval import Interval
from tlstax.selfbench.bytes_document import BytesDocument, BytesFigures
from tlstax.topics.core.facts import machine_words
from tlstax.topics.core.figures import NOTHING, significant
from tlstax.topics.core.untrusted import printable

TITLE = "Results of 16 MiB read from a server that does nothing, in the clear: the engine, and a bare loop"
HEADS = ("rows of", "", "MiB/s", "reader's CPU, µs a MiB", "sender's CPU, µs a MiB")
RATIOS = "engine to bare"


def bytes_terminal(document: BytesDocument) -> str:
    """The table, then what to bear in mind."""
    rows = [HEADS, *_rows(document)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADS))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    facts = (f"\N{BULLET} {printable(text)}" for text in _facts(document))
    return "\n".join([TITLE, "", *lines, "", *facts, ""])


def bytes_markdown(document: BytesDocument) -> str:
    """The same as a Markdown table."""
    rows = [HEADS, ("---:",) * len(HEADS), *_rows(document)]
    table = "\n".join(f"| {' | '.join(map(escaped, row))} |" for row in rows)
    return f"{TITLE}\n\n{table}\n\n" + "\n".join(f"- {escaped(text)}" for text in _facts(document)) + "\n"


def _rows(document: BytesDocument) -> list[tuple[str, ...]]:
    return [row for found in document.results for row in _of(found)]


def _of(found: BytesFigures) -> list[tuple[str, ...]]:
    size = f"{found.row_bytes:,} B"
    readers = [
        (
            size if name == "engine" else "",
            name,
            significant(side.mib_per_s.point),
            significant(side.reader_cpu_us_per_mib.point),
            significant(side.sender_cpu_us_per_mib.point) if side.sender_cpu_us_per_mib else NOTHING,
        )
        for name, side in (("engine", found.engine), ("bare", found.bare))
    ]
    return [*readers, ("", RATIOS, _ratio(found.rate_to_bare), _ratio(found.cpu_to_bare), "")]


def _ratio(found: Interval) -> str:
    point = f"{found.point:.2f}"
    return point if found.low is None or found.high is None else f"{point} {found.low:.2f}–{found.high:.2f}"


def _facts(document: BytesDocument) -> list[str]:
    pairs = max((found.rate_to_bare.blocks for found in document.results), default=0)
    return [
        f"{pairs} pairs of slices of {document.slice_s:g} s for each length of row; intervals are of 95 %",
        machine_words(document.machine),
        *document.caveats,
    ]
