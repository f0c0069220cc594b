"""What kinds of statements and sizes are called."""

from __future__ import annotations

from tlstax.results.bulk import BulkCurve

_KIB, _MIB = 1 << 10, 1 << 20


def kind_words(curve: BulkCurve) -> str:
    """Which way the bytes go, and in which rows: "results in rows of 10 KiB"."""
    if curve.direction == "sent":
        return "sent in a statement"
    if curve.direction == "connected":
        return "a connection for one result"
    what = "inserts" if curve.direction == "inserted" else "results"
    return (
        f"{what} of one row"
        if curve.row_bytes is None
        else f"{what} in rows of {size_words(curve.row_bytes)}"
    )


def size_words(size_bytes: int) -> str:
    """A number of bytes as people write it: "64 B", "16 KiB", "1.6 MiB"."""
    if size_bytes < _KIB:
        return f"{size_bytes} B"
    unit, name = (_KIB, "KiB") if size_bytes < _MIB else (_MIB, "MiB")
    value = size_bytes / unit
    return f"{value:,.0f} {name}" if value >= 100 else f"{value:.3g} {name}"
