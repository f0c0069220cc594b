"""Proof of a load that came from several machines: each did its part of it, and they began together."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt

MOST_APART = 1 / 2
"""How many of the slices may have begun too far apart: those that did not are still enough, and what keeps
machines from beginning together more often than this is no accident."""


def together(trial: Complete) -> Iterator[Doubt]:
    """Every machine's client worked, their parts are the whole, and most of their slices began together."""
    load = trial.evidence.load
    if load is None:
        return
    for part in load.parts:
        if not part.operations:
            yield Doubt(
                "invalid", f"no operation came from {part.machine}, which was given a part of the load"
            )
    job = trial.evidence.job
    connections = sum(part.connections for part in load.parts)
    if job is not None and connections != job.connections:
        yield Doubt(
            "invalid",
            f"{connections} connections were given to the load machines, where {job.connections} are wanted",
        )
    operations = sum(part.operations for part in load.parts)
    if operations != trial.done.operations:
        yield Doubt(
            "invalid",
            f"the load machines finished {operations} operations, all together {trial.done.operations}",
        )
    if load.apart > MOST_APART * load.slices:
        yield Doubt(
            "invalid",
            f"in {load.apart} of {load.slices} slices the load machines began more than a twentieth of it "
            f"apart ({load.skew_us:.0f} µs in the median, clocks known to {load.clock_error_us:.0f} µs)",
        )
