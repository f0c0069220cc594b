"""The self-bench's answer in words, and what its cells are called."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.results.interval import Interval
from tlstax.selfbench.document import (
    CellFigures,
    SelfBenchDocument,
)
from tlstax.selfbench.plan import Cell
from tlstax.support.text import counted, enumerated

OPERATIONS = {"point-select": "a point select", "reconnect": "a reconnect"}
TLS_WORDS = {"off": "in plaintext", "1.3": "under TLS 1.3", "1.3-resumed": "resuming TLS 1.3"}

USUAL_CONNECTIONS = 64
"""How many connections the answer is given for, or, where these were not measured, the nearest below."""

RIVALS = {"sysbench": "client_cpu_to_sysbench", "the bare floor": "client_cpu_to_floor"}


def cell_words(cell: Cell) -> str:
    """A cell in words: "a point select at 64 connections under TLS 1.3"."""
    where = f"at {counted(cell.connections, 'connection')}"
    return f"{OPERATIONS[cell.workload]} {where} {TLS_WORDS[cell.tls]}"


def answer(document: SelfBenchDocument) -> str:
    """How much of sysbench's CPU and of the floor's the engine spends, in a sentence for each."""
    sentences = [
        sentence for rival, ratio in RIVALS.items() if (sentence := _sentence(rival, ratio, document.cells))
    ]
    return " ".join(sentences) or "There is nothing to compare the engine with."


def figure_words(figure: Interval) -> str:
    """A ratio with its interval: "0.47 [0.45, 0.49]"; without brackets where there is none."""
    point = ratio_text(figure.point)
    if figure.low is None or figure.high is None:
        return point
    return f"{point} [{ratio_text(figure.low)}, {ratio_text(figure.high)}]"


def ratio_text(value: float) -> str:
    """Two decimals, fewer where the ratio is large: 0.47, 12.3, 140."""
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f}" if value < 1000 else ">999"


def _sentence(rival: str, ratio: str, cells: Sequence[CellFigures]) -> str:
    known = [cell for cell in cells if getattr(cell, ratio) is not None]
    if not known:
        return ""
    counts = {cell.connections for cell in known}
    shown = max((many for many in counts if many <= USUAL_CONNECTIONS), default=min(counts))
    of_whom, parts = f" of {rival}'s CPU", []
    for workload, operation in OPERATIONS.items():
        on_what = f" on {operation}"
        for cell in known:
            if cell.workload == workload and cell.connections == shown:
                ratio_words = figure_words(getattr(cell, ratio))
                parts.append(f"{ratio_words}{of_whom}{on_what} {TLS_WORDS[cell.tls]}")
                of_whom = on_what = ""
    return f"At {counted(shown, 'connection')} the engine spends {enumerated(parts)}."
