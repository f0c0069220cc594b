"""What keeping connections saves, as a table of the overview."""

from __future__ import annotations

from tlstax.findings.core.wording import percent
from tlstax.findings.pool.words import saving_label
from tlstax.results.document import (
    RunDocument,
)
from tlstax.results.interval import Interval
from tlstax.study import workloads
from tlstax.topics.core import figures
from tlstax.topics.core.grid import Cell, Grid, Line, Part


def pool_table(document: RunDocument) -> Grid | None:
    """A line for each case; None where the study does not ask."""
    if not document.pool:
        return None
    first = document.pool[0]
    steps = sorted({step for found in document.pool for step in found.connections})
    lines = tuple(
        Line(
            saving_label(found, document),
            (
                _operations(found.operations_worth),
                _operations(found.operations_needed),
                _change(found.kept_to_plaintext),
                _change(found.made_to_plaintext),
            ),
        )
        for found in document.pool
    )
    return Grid(
        title=f"What a connection costs the server, in {workloads.in_words(first.kept)}",
        reading=(
            f"CPU time of the server per operation, at {_connections(steps)}. Worth: one "
            f"connection made, in operations on one that is kept. Until {percent(first.share)}: with "
            "so many on each connection, making it is that share of what the server spends. Kept, made: what "
            "TLS adds to an operation on a connection that is kept, and to one that makes its own."
        ),
        heads=("worth", f"until {percent(first.share)}", "kept", "made"),
        parts=(Part("", lines),),
    )


def _connections(steps: list[int]) -> str:
    return f"{', '.join(map(str, steps))} connection{'' if steps == [1] else 's'}"


def _operations(ratio: Interval) -> Cell:
    interval = figures.ends(ratio, figures.significant)[1:-1]
    return Cell(
        figure=figures.significant(ratio.point),
        change=figures.significant(ratio.point),
        interval=interval,
        words=f"{figures.significant(ratio.point)} operations {interval}".strip(),
    )


def _change(ratio: Interval | None) -> Cell:
    if ratio is None:
        return Cell()
    return Cell(
        figure=f"{ratio.point:.2f}",
        change=figures.change(ratio),
        interval=figures.interval(ratio),
        words=figures.change_with_interval(ratio),
    )
