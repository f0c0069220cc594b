"""What the processors did while a case was measured, second by second, as sar prints it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.core.processors import series, shares, together, window_slices
from tlstax.records.trial import TrialRecord
from tlstax.records.window import CpuTicks
from tlstax.topics.core.figures import NOTHING
from tlstax.topics.core.groups import Row
from tlstax.topics.core.section import Folded, Words
from tlstax.topics.core.table import Table

SECONDS = (1, 5)
"""The lengths of the stretches that a window is shown in, where it is longer than one of them."""

COLUMNS = ("user", "nice", "system", "iowait", "steal", "idle")


HEADS = (
    "Window",
    "Trials",
    *(f"%{name}" for name in COLUMNS),
    "%system on the server\N{RIGHT SINGLE QUOTATION MARK}s CPUs",
)


def processors(rows: Sequence[Row]) -> Iterator[Folded]:
    """What is known of these cases' valid trials; nothing where nobody watched."""
    lines = tuple(line for row in rows for line in _case(row))
    ticks = {record.window.ticks_per_s for row in rows for record in row.valid if record.window}
    if lines and ticks:
        reading = (
            f"The kernel counts in ticks of {1000 / min(ticks):g} ms, so a short window alone tells little: "
            "each line is the sum over the case's valid trials. %system includes interrupts, as sar has it."
        )
        table = Table("", HEADS, lines, (), of_words=True, literal=True)
        yield Folded("What the processors did, second by second", (Words(reading, aside=True), table))


def _case(row: Row) -> Iterator[tuple[str, ...]]:
    """The lines of one case, which the first one names: every second, every five, and all together."""
    for place, line in enumerate(_lines(row.valid)):
        yield ("" if place else row.label, *line)


def _lines(records: Sequence[TrialRecord]) -> Iterator[tuple[str, ...]]:
    slices = window_slices(records)
    everything = together(slices)
    average = shares(everything) if everything is not None else None
    if average is None:
        return
    longest_s = max(part.at_s + part.took_s for part in slices)
    watched = sum(1 for record in records if record.window and record.window.cpus)
    for every_s in SECONDS:
        if longest_s > every_s:
            own = {stretch.from_s: stretch.ticks for stretch in series(records, every_s, "server")}
            for stretch in series(records, every_s):
                words = f"{stretch.from_s:g} to {min(stretch.from_s + every_s, stretch.to_s):.3g} s"
                yield _line(words, stretch.trials, stretch.ticks, own.get(stretch.from_s))
    yield _line("average", watched, everything, together(slices, "server"))


def _line(words: str, trials: int, machine: CpuTicks | None, server: CpuTicks | None) -> tuple[str, ...]:
    """Shares of the machine, and the kernel's on the server's processors where it has some of its own."""
    all_of_it, own = (shares(ticks) if ticks is not None else None for ticks in (machine, server))
    cells = (NOTHING if all_of_it is None else f"{getattr(all_of_it, name):.2f}" for name in COLUMNS)
    return words, f"{trials}", *cells, NOTHING if own is None else f"{own.system:.2f}"
