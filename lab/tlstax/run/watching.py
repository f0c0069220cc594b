"""What is watched of a trial: the sides, and the observers that its case is to have."""

from __future__ import annotations

from dataclasses import replace

from tlstax.contract import Job
from tlstax.observers.counters import Counters
from tlstax.observers.sides import Side
from tlstax.observers.window import Watched
from tlstax.run.bench import Bench
from tlstax.study.factors import CaseLevels


def watched(case: CaseLevels, job: Job, bench: Bench, client: Side, others: int) -> Watched:
    """The sides of a trial and what is watched of them, beside `others` who are connected to the server."""
    path = bench.route(case).path
    sides = Watched(
        client=client,
        server=bench.server_side,
        path=tuple(path.pids) if path else (),
    )
    if not case.is_observed:
        return sides
    return _all_observers(sides, _kept(job, bench.connects_in_window(case)), others, bench)


def counters_of(case: CaseLevels, bench: Bench) -> Counters:
    """What is counted of the case's client; nothing where it is not observed."""
    return Counters(bench.equipment.counted_events if case.is_observed else ())


def _kept(job: Job, in_window: bool) -> tuple[int, int]:
    """How many connections the client keeps before the window in which it makes its own, and after it."""
    if in_window:
        return 1, 0
    kept = 0 if job.workload.reconnect else job.connections
    return kept, kept


def _all_observers(sides: Watched, kept: tuple[int, int], others: int, bench: Bench) -> Watched:
    """What is watched beside the CPU clocks and memory, which results need.

    Beside `others`, `kept` of the client's connections are there before the window and after it; at an
    external server those of others come and go.
    """
    expected = iter(kept)

    def read_status() -> dict[str, int]:
        return bench.server.settled_status(bench.admin, others + next(expected))

    return replace(
        sides,
        server=replace(sides.server, counters=bench.counters),
        read_status=read_status,
        machine=True,
        server_cpus=bench.machine.server_cpus,
    )
