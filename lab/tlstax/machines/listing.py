"""What is known of the machines of a cluster: as `tlstax machines --json` prints it, and as tables. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError
from rich.table import Table
from rich.text import Text

from tlstax.clients.fleet_messages import of_exchanges
from tlstax.contract import Frozen
from tlstax.machines.cluster import Node
from tlstax.support.errors import TlstaxError
from tlstax.support.text import counted
from tlstax.tools.doctor.check import Check, Diagnosis
from tlstax.topics.core.printed import printed


class Clock(Frozen):
    """How much a machine's clock is ahead of the head's, and by how much that may be off, by an exchange."""

    ahead_ms: float
    error_ms: float


class ListedMachine(Frozen):
    """A machine of the cluster; `why_not` says why nothing can be measured there, and is else empty.

    `cpus` are those that tlstax may use there. `checks` is what `tlstax doctor` says on that machine.
    """

    name: str
    address: str
    why_not: str = ""
    cpus: int | None = None
    memory_bytes: int | None = None
    kernel: str = ""
    architecture: str = ""
    clock: Clock | None = None
    checks: tuple[Check, ...] = ()


class RoundTrip(Frozen):
    """How long it takes to connect from one machine to another, the median of `count`."""

    source: str
    target: str
    p50_us: float
    count: int


class MachineListing(Frozen):
    """The document that `machines --json` prints: who is joined at this address, by their names."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    address: str
    machines: tuple[ListedMachine, ...]
    round_trips: tuple[RoundTrip, ...]


def clock_of(asked_s: float, answered_s: float, theirs_s: float) -> Clock:
    """What one exchange tells: when it was asked and answered by our clock, and theirs in between."""
    offset = of_exchanges([(asked_s, answered_s, theirs_s)])
    return Clock(ahead_ms=offset.ahead_s * 1000, error_ms=offset.error_s * 1000)


def listed_machine(
    node: Node,
    failure: object,
    facts: Mapping[str, Any] | None,
    clock: Clock | None,
    said: tuple[int, str, str] | None,
) -> ListedMachine:
    """A machine from what its shim answered; `failure` is why it answers no longer, if it is our error."""
    checks, why_not = _checks(said) if said is not None else ((), "")
    known = facts or {}
    return ListedMachine(
        name=node.name,
        address=node.address,
        why_not=failure.sentence() if isinstance(failure, TlstaxError) else why_not,
        cpus=known.get("cpus"),
        memory_bytes=known.get("memory_bytes"),
        kernel=known.get("kernel", ""),
        architecture=known.get("machine", ""),
        clock=clock,
        checks=checks,
    )


def _checks(said: tuple[int, str, str]) -> tuple[tuple[Check, ...], str]:
    """What the doctor found; else why there is no diagnosis."""
    status, output, errors = said
    try:
        return Diagnosis.model_validate_json(output).checks, ""
    except ValidationError:
        last = errors.strip().splitlines()[-1:]
        return (), last[0].removeprefix("tlstax: ") if last else f"its tlstax ended with status {status}"


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
