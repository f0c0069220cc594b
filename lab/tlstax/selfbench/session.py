"""The whole of a self-bench, readable in one function: contestants → server → blocks → what was measured."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from tlstax import __version__
from tlstax.mysql import tls_switch
from tlstax.observers.countable import Usable, usable_events
from tlstax.observers.perf_events import INSTRUCTIONS, Event
from tlstax.observers.turn import turn
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.run.bench import Bench, Needs, Wanted, open_private_bench
from tlstax.run.cpus import machine_of
from tlstax.selfbench import contestants, rounds
from tlstax.selfbench.contestants import Contestants
from tlstax.selfbench.measure import Measurer
from tlstax.selfbench.plan import WINDOW_S, Cell
from tlstax.selfbench.proof import TLS_1_3
from tlstax.selfbench.records import Header, Run, ServerFacts

ROWS = 100_000


class Watcher(rounds.Watcher, Protocol):
    """Who is kept informed of a self-bench."""

    def step(self, text: str) -> None:
        """Something begins that may take a while."""
        ...

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        ...


@dataclass(frozen=True)
class Request:
    """What is to be compared, for how long. `seed` is None for a random one.

    `window_s` is how long a contestant works for a cell in a block, at the least (`plan.lengths`).
    `client_tls_library` is the libssl that the engine and the floor load, None the machine's; sysbench
    has the one that it was linked with. Where another run is measuring this one waits, or with
    `beside_others` goes on at once. `cpus` are those that the user asked for; of the client's, the first is
    used.
    """

    cells: tuple[Cell, ...]
    budget_s: float
    seed: int | None = None
    rows: int = ROWS
    window_s: float = WINDOW_S
    client_tls_library: str | None = None
    beside_others: bool = False
    cpus: AskedCpus = field(default_factory=AskedCpus)


def run(request: Request, watcher: Watcher) -> Run:
    """Compare the contestants and give back what was measured. MachineFault where nothing could be."""
    seed = secrets.randbelow(2**32) if request.seed is None else request.seed
    machine = machine_of(request.cpus)
    found = contestants.find(watcher.warn)
    usable = usable_events()
    events = [event for event in INSTRUCTIONS if event in usable.events]
    needs = Needs(
        rows=request.rows,
        # All contestants of a cell keep theirs at once.
        connections=len(found.commands) * max(cell.connections for cell in request.cells),
        seed=seed,
        duration_s=request.window_s,
    )
    wanted = Wanted(options=(f"--tls-version={TLS_1_3}",))
    with (
        turn(watcher.warn, beside_others=request.beside_others) as mine,
        open_private_bench(needs, watcher.step, wanted, machine) as bench,
    ):
        header = _header(request, needs, bench, found, _why_none(events, usable))
        measurer = Measurer(bench, found.commands, events, watcher.warn, request.client_tls_library)
        done = rounds.run_blocks(header, found.commands, measurer, watcher)
        return done.model_copy(update={"beside_another": mine.others()})


def _header(
    request: Request, needs: Needs, bench: Bench, found: Contestants, why_no_instructions: str
) -> Header:
    # One CPU for whoever is the client: the floor has one thread, and nobody shall have more than it.
    machine = bench.machine.model_copy(update={"client_cpus": bench.machine.client_cpus[:1]})
    return Header(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tlstax_version=__version__,
        seed=needs.seed,
        rows=needs.rows,
        budget_s=request.budget_s,
        window_s=needs.duration_s,
        cells=request.cells,
        machine=machine,
        specimens=(bench.server.specimen, *found.specimens),
        server=server_facts(bench),
        absent=found.absent,
        why_no_instructions=why_no_instructions,
    )


def _why_none(events: Sequence[Event], usable: Usable) -> str:
    """Why no instructions are counted; empty where some are."""
    return "" if events else usable.why_not[INSTRUCTIONS[0]]


def server_facts(bench: Bench) -> ServerFacts:
    """What the server says of itself."""
    server = bench.server
    return ServerFacts(
        name=server.specimen.name,
        version=server.version,
        tls_library_version=server.tls_library_version,
        tls_versions=tls_switch.session_versions(bench.admin),
    )
