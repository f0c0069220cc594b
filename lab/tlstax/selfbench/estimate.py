"""From the results of a run to its document: figures, ratios within blocks, caveats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tlstax.findings.core import stats
from tlstax.findings.core.slices import log_ratio_of_neighbours, log_ratio_of_totals
from tlstax.results.interval import Interval
from tlstax.selfbench import caveats
from tlstax.selfbench.document import (
    CellFigures,
    ContestantFigures,
    Rejected,
    SelfBenchDocument,
    TrialCounts,
)
from tlstax.selfbench.outcomes import OUTCOMES, turns_of
from tlstax.selfbench.plan import CONTESTANTS, WHOLE, Cell, Contestant, lengths
from tlstax.selfbench.records import Result, Run

CONFIDENCE = 0.95

RATIOS: dict[str, tuple[str, Contestant]] = {
    "client_cpu_to_sysbench": ("client_cpu_us_per_op", "sysbench"),
    "client_cpu_to_floor": ("client_cpu_us_per_op", "floor"),
    "ops_to_sysbench": ("ops_per_s", "sysbench"),
    "ops_to_floor": ("ops_per_s", "floor"),
}
"""Each ratio: the outcome that it compares, and with whose the engine's is compared."""


def document(run: Run) -> SelfBenchDocument:
    """What a run shows. Only valid trials count; a ratio takes blocks in which both were valid."""
    header = run.header
    cells = tuple(_cell(cell, run.results, header.window_s) for cell in header.cells)
    blocks = len({result.trial.block for result in run.results})
    counts = _counts(run.results)
    return SelfBenchDocument(
        status=run.status,
        started_at=header.started_at,
        tlstax_version=header.tlstax_version,
        seed=header.seed,
        rows=header.rows,
        window_s=header.window_s,
        machine=header.machine,
        specimens=header.specimens,
        server=header.server,
        blocks=blocks,
        cells=cells,
        trials=counts,
        caveats=caveats.of_run(run, blocks, cells, counts),
    )


def figure(values: Sequence[float]) -> Interval | None:
    """The geometric mean of values above zero, one a block, with its interval; None without any."""
    return _interval(stats.log_ratios([(value, 1.0) for value in values if value > 0]))


def log_ratio(outcome: str, ours: Result, theirs: Result) -> float | None:
    """Ln of the ratio of two valid trials of one cell and block; None for an outcome that one does not have.

    Of two that took turns it is the median of that of neighbours, where there are enough of them. A whole
    window is compared with slices as long around it, and with both together: it holds every burst of other
    work that fell into it, and a median would leave out what disturbed the one and not the other.
    """
    own = ours.slices
    if theirs.trial.contestant == WHOLE and ours.beside is not None:
        own = ours.beside
    if own is None or theirs.slices is None:
        return None
    sides = turns_of(ours.trial, own), turns_of(theirs.trial, theirs.slices)
    of_neighbours = log_ratio_of_neighbours(outcome, sides)
    return log_ratio_of_totals(outcome, sides) if of_neighbours is None else of_neighbours


def _interval(logs: Sequence[float]) -> Interval | None:
    return stats.interval(logs, CONFIDENCE) if logs else None


def _cell(cell: Cell, results: Sequence[Result], window_s: float) -> CellFigures:
    valid: dict[Contestant, dict[int, Result]] = {name: {} for name in CONTESTANTS}
    for result in results:
        if result.valid and result.trial.cell == cell:
            valid[result.trial.contestant][result.trial.block] = result
    ratios = {
        name: _interval(
            [
                found
                for block, ours in valid["engine"].items()
                if (theirs := valid[other].get(block)) is not None
                and (found := log_ratio(outcome, ours, theirs)) is not None
            ]
        )
        for name, (outcome, other) in RATIOS.items()
    }
    figures = {name: _contestant(tuple(of_block.values())) for name, of_block in valid.items()}
    of_cell = lengths(cell, window_s)
    return CellFigures.model_validate({**dict(cell), **dict(of_cell), **figures, **ratios})


def _contestant(results: Sequence[Result]) -> ContestantFigures | None:
    if not results:
        return None
    found = {
        name: figure([result.outcomes[name] for result in results if name in result.outcomes])
        for name in OUTCOMES
    }
    said = {
        name: "; ".join(dict.fromkeys(getattr(result, name) for result in results))
        for name in ("negotiated", "tls_library")
    }
    return ContestantFigures.model_validate({**found, **said})


def _counts(results: Sequence[Result]) -> TrialCounts:
    valid = sum(result.valid for result in results)
    times = Counter(
        (result.trial.contestant, result.trial.cell, result.reasons[0])
        for result in results
        if not result.valid
    )
    return TrialCounts(
        valid=valid,
        invalid=len(results) - valid,
        rejected=tuple(
            Rejected(contestant=contestant, reason=reason, trials=number, **dict(cell))
            for (contestant, cell, reason), number in times.most_common()
        ),
    )
