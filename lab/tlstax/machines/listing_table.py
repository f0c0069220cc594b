"""The machines of a cluster as tables for a terminal. Pure."""

from __future__ import annotations

from collections import Counter

from rich.table import Table
from rich.text import Text

from tlstax.machines.listing import ListedMachine, MachineListing
from tlstax.support.text import counted
from tlstax.topics.core.printed import printed

MOST_IN_MATRIX = 8
"""With more machines, round trips between all of them are too many to read: the JSON has them."""


def listing_text(listing: MachineListing, *, width: int, colour: bool) -> str:
    """Which machines there are, how far they are apart, and what is amiss on each."""
    machines = listing.machines
    heading = f"{counted(len(machines), 'machine')}, joined by Ray at {listing.address}"
    parts: list[Table | Text] = [Text(heading), Text(), _machines(machines)]
    if 1 < len(machines) <= MOST_IN_MATRIX:
        parts += [Text(), Text("Connecting from one to another, p50 µs"), _round_trips(listing)]
    amiss = [line for machine in machines for line in _amiss(machine)]
    if amiss:
        parts += [Text(), *(Text(line) for line in amiss)]
    return printed(parts, width=width, colour=colour)


def _machines(machines: tuple[ListedMachine, ...]) -> Table:
    table = _table("Machine", "address", "CPUs", "GiB", "kernel", "clock ms", "doctor")
    for machine in machines:
        memory = machine.memory_bytes
        clock = machine.clock
        counts = Counter(check.status for check in machine.checks)
        said = ", ".join(
            f"{counts[status]} {status}" for status in ("ok", "limited", "missing") if counts[status]
        )
        table.add_row(
            machine.name,
            machine.address,
            "" if machine.cpus is None else str(machine.cpus),
            "" if memory is None else f"{memory / 2**30:.0f}",
            machine.kernel,
            "" if clock is None else f"{clock.ahead_ms:+.1f} ±{clock.error_ms:.1f}",
            "left out" if machine.why_not else said,
        )
    return table


def _round_trips(listing: MachineListing) -> Table:
    names = [machine.name for machine in listing.machines]
    known = {(trip.source, trip.target): trip.p50_us for trip in listing.round_trips}
    table = _table("from", *(f"to {name}" for name in names))
    for source in names:
        cells = (known.get((source, target)) for target in names)
        table.add_row(source, *("–" if cell is None else f"{cell:,.0f}" for cell in cells))
    return table


def _amiss(machine: ListedMachine) -> list[str]:
    if machine.why_not:
        return [f"{machine.name} is left out: {machine.why_not}"]
    return [
        f"{machine.name}, {check.name}: {check.found}"
        for check in machine.checks
        if check.status == "missing"
    ]


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, heading in enumerate(headings):
        table.add_column(heading, no_wrap=True, justify="left" if place == 0 else "right")
    return table
