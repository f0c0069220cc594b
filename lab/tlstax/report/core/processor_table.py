"""What the processors did while a case was measured, second by second, as sar prints it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlstax.findings.core.processors import Shares, Stretch, series, shares, together, window_slices
from tlstax.records.trial import TrialRecord
from tlstax.report.core.groups import Row

SECONDS = (1, 5)
"""The lengths of the stretches that a window is shown in, where it is longer than one of them."""

COLUMNS = ("user", "nice", "system", "iowait", "steal", "idle")


@dataclass(frozen=True)
class Line:
    """One stretch of the window over some trials: its shares, in the order of `COLUMNS`, as text.

    `server_system` is the share of the kernel on the server's processors; empty where it has none of its own.
    """

    stretch: str
    trials: int
    cells: tuple[str, ...]
    server_system: str
    is_average: bool = False


@dataclass(frozen=True)
class CaseLines:
    """The lines of one case: every second, every five, and all together."""

    label: str
    lines: tuple[Line, ...]


def processor_lines(rows: Sequence[Row]) -> tuple[CaseLines, ...]:
    """The table of these cases' valid trials; without those that nobody watched."""
    return tuple(CaseLines(row.label, lines) for row in rows if (lines := tuple(_lines(tuple(row.valid)))))


def tick_words(rows: Sequence[Row]) -> str:
    """How fine the figures are; empty where there are none."""
    ticks = {record.window.ticks_per_s for row in rows for record in row.valid if record.window}
    if not ticks:
        return ""
    tick_ms = 1000 / min(ticks)
    return (
        f"The kernel counts in ticks of {tick_ms:g} ms, so a short window alone tells little: each line is "
        "the sum over the case's valid trials. %system includes interrupts, as sar has it."
    )


def _lines(records: Sequence[TrialRecord]) -> Iterator[Line]:
    slices = window_slices(records)
    everything = together(slices)
    average = shares(everything) if everything is not None else None
    if average is None:
        return
    longest_s = max(part.at_s + part.took_s for part in slices)
    watched = sum(1 for record in records if record.window and record.window.cpus)
    for every_s in SECONDS:
        if longest_s > every_s:
            own = {stretch.from_s: stretch for stretch in series(records, every_s, "server")}
            for stretch in series(records, every_s):
                words = f"{stretch.from_s:g} to {min(stretch.from_s + every_s, stretch.to_s):.3g} s"
                yield _line(words, stretch.trials, shares(stretch.ticks), _of(own.get(stretch.from_s)))
    server = together(slices, "server")
    yield _line("average", watched, average, shares(server) if server else None, is_average=True)


def _of(stretch: Stretch | None) -> Shares | None:
    return shares(stretch.ticks) if stretch is not None else None


def _line(
    words: str, trials: int, machine: Shares | None, server: Shares | None, *, is_average: bool = False
) -> Line:
    return Line(
        stretch=words,
        trials=trials,
        cells=tuple(f"{getattr(machine, name):.2f}" for name in COLUMNS) if machine is not None else (),
        server_system=f"{server.system:.2f}" if server is not None else "",
        is_average=is_average,
    )
