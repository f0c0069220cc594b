"""The self-bench's document as text for a terminal of 100 columns, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.report.formats.markdown import escaped
from tlstax.results.interval import Interval
from tlstax.selfbench.document import (
    CellFigures,
    ContestantFigures,
    SelfBenchDocument,
)
from tlstax.selfbench.plan import CONTESTANTS
from tlstax.selfbench.words import answer, ratio_text
from tlstax.support.text import counted
from tlstax.topics.core.facts import machine_words
from tlstax.topics.core.figures import NOTHING, quantity, significant
from tlstax.topics.core.printed import bullets, printed
from tlstax.topics.core.untrusted import printable

WIDTH = 100


class Column(NamedTuple):
    """A column: its head on a terminal, on two lines, and its head in Markdown."""

    above: str
    below: str
    name: str


COLUMNS = (
    Column("", "workload", "workload"),
    Column("", "TLS", "TLS"),
    Column("", "conns", "connections"),
    Column("ops/s", "engine", "ops/s, engine"),
    Column("ops/s to", "sysbench's", "ops/s to sysbench's"),
    Column("client", "engine", "client CPU µs/op, engine"),
    Column("CPU µs", "sysbench", "client CPU µs/op, sysbench"),
    Column("per op", "floor", "client CPU µs/op, floor"),
    Column("CPU to", "sysbench's", "CPU to sysbench's"),
    Column("CPU to", "floor's", "CPU to floor's"),
)

FIRST_NUMBER = 2

READING = "a ratio is the engine's value over the other's, with its 95 % interval; below 1 is less CPU"

BETWEEN_NEIGHBOURS = (
    "ratios are taken between neighbouring slices, and so are not exactly those of the values beside them"
)


def terminal(document: SelfBenchDocument, *, width: int = WIDTH, colour: bool = False) -> str:
    """The table, a line a cell, then the caveats and the answer; nothing is said by colour alone."""
    return printed(_parts(document), width=max(width, WIDTH), colour=colour)


def _parts(document: SelfBenchDocument) -> Iterable[RenderableType]:
    yield Text("The engine beside sysbench and the bare floor", style="bold")
    yield ""
    yield _table(document)
    yield ""
    yield from bullets((*_facts(document), *document.caveats))
    yield ""
    yield Text(printable(answer(document)), style="bold")


def markdown(document: SelfBenchDocument) -> str:
    """The same as a Markdown table, to be pasted into bench/README.md."""
    heads = [escaped(column.name) for column in COLUMNS]
    rules = ["---"] * FIRST_NUMBER + ["---:"] * (len(COLUMNS) - FIRST_NUMBER)
    rows = [[escaped(cell) for cell in line_of(cell)] for cell in document.cells]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (heads, rules, *rows))
    bullets = "\n".join(f"- {escaped(text)}" for text in (*_facts(document), *document.caveats))
    return f"{escaped(answer(document))}\n\n{table}\n\n{bullets}\n"


def line_of(cell: CellFigures) -> list[str]:
    """A cell as the texts of its line, one for each of COLUMNS."""
    return [
        {"point-select": "select", "reconnect": "reconnect"}[cell.workload],
        {"off": "off", "1.3": "1.3", "1.3-resumed": "resumed"}[cell.tls],
        str(cell.connections),
        _value(cell.engine, "ops_per_s"),
        _ratio(cell.ops_to_sysbench),
        *(_value(of, "client_cpu_us_per_op") for of in (cell.engine, cell.sysbench, cell.floor)),
        _ratio(cell.client_cpu_to_sysbench),
        _ratio(cell.client_cpu_to_floor),
    ]


def _table(document: SelfBenchDocument) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    for place in range(len(COLUMNS)):
        table.add_column(justify="right" if place >= FIRST_NUMBER else "left", no_wrap=True)
    table.add_row(*(Text(column.above, style="bold") for column in COLUMNS))
    table.add_row(*(Text(column.below, style="bold") for column in COLUMNS))
    workload = None
    for cell in document.cells:
        if workload not in {None, cell.workload}:
            table.add_row()
        workload = cell.workload
        table.add_row(*(Text(text) for text in line_of(cell)))
    return table


def _facts(document: SelfBenchDocument) -> Iterable[str]:
    """How to read the table, what ran, where and how often."""
    yield READING
    yield BETWEEN_NEIGHBOURS
    server = document.server
    library = f" with {server.tls_library_version}" if server.tls_library_version else ""
    yield f"server {server.name}, {server.version}{library}"
    clients = [f"{s.name} {s.version}" for s in document.specimens if s.kind == "client"]
    yield f"clients {', '.join(clients)}"
    yield from _client_libraries(document.cells)
    yield machine_words(document.machine)
    counts = document.trials
    yield (
        f"{counts.valid} valid and {counts.invalid} invalid trials in {counted(document.blocks, 'block')}; "
        f"seed {document.seed}, {document.started_at}"
    )
    yield _turns(document.cells)


def _turns(cells: Sequence[CellFigures]) -> str:
    """How long slices and windows were, from the shortest to the longest."""
    slices, windows = ([getattr(cell, name) for cell in cells] for name in ("slice_s", "window_s"))
    return f"slices of {_ends(slices)}; windows of sysbench's and of the engine's beside it {_ends(windows)}"


def _ends(lengths_s: Sequence[float]) -> str:
    ends = sorted({min(lengths_s), max(lengths_s)})
    return " to ".join(quantity(length_s * 1e6, "us") for length_s in ends)


def _client_libraries(cells: Sequence[CellFigures]) -> Iterable[str]:
    """Which TLS library each contestant had, where any cell is encrypted."""
    used = {
        name: library
        for cell in cells
        for name in CONTESTANTS
        if (library := getattr(getattr(cell, name), "tls_library", ""))
    }
    if used:
        yield f"TLS libraries: {', '.join(f'{name} {library}' for name, library in used.items())}"


def _value(figures: ContestantFigures | None, outcome: str) -> str:
    found: Interval | None = getattr(figures, outcome) if figures is not None else None
    return significant(found.point) if found is not None else NOTHING


def _ratio(figure: Interval | None) -> str:
    """The point and its interval, 0.47 0.45–0.49; the point alone where there is none."""
    if figure is None:
        return NOTHING
    ends: Sequence[float] = [end for end in (figure.low, figure.high) if end is not None]
    interval = NOTHING.join(ratio_text(end) for end in ends)
    return f"{ratio_text(figure.point)} {interval}".rstrip()
