"""Load from other machines: connecting to them, and taking as many as it needs to keep the server busy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tlstax.clients.fleet import Fleet
from tlstax.clients.fleet_messages import Peer
from tlstax.observers.machine import available_cpus
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.plan.pilot import pilot_cases
from tlstax.records.load import BUSY, LoadStep
from tlstax.records.trial import LoadMachines, Machine, Trial, TrialRecord
from tlstax.run.benches import Benches
from tlstax.run.pilot import pilot_job
from tlstax.run.trial import run_trial
from tlstax.study import Case, Study
from tlstax.support import interruption
from tlstax.support.text import counted, enumerated

Say = Callable[[str], None]

MOST_CASES = 4
"""Cases that are tried with each number of machines: what matters is whether clients can send enough."""


@dataclass(frozen=True)
class LoadFrom:
    """Which machines the load is to come from, and the address at which they reach the server.

    When one is gone, the run waits `patience_s` to be ended by whoever began it, and else fails. Clients come
    from all addresses of their machines where the server is ours; an external one's account may be for one.
    """

    peers: tuple[Peer, ...]
    server_address: str
    patience_s: float = 0.0
    is_private: bool = True


@contextmanager
def connected(load: LoadFrom, say: Say) -> Iterator[Fleet]:
    """The machines, connected until the block ends. MachineFault where one cannot be reached."""
    say(f"connecting to {enumerated([peer.name for peer in load.peers])}, where the load comes from")
    peers, address = load.peers, load.server_address
    with Fleet(peers, address, load.patience_s, all_addresses=load.is_private) as fleet:
        yield fleet


def with_all_cpus(machine: Machine, asked: AskedCpus) -> Machine:
    """The machine with all CPUs that may be used given to the server, or those that were asked for."""
    cpus = asked.server if asked.server is not None else tuple(sorted(available_cpus()))
    given = {"server_cpus": cpus, "client_cpus": (), "cpus_asked_for": asked.server is not None}
    return machine.model_copy(update={**given, "notes": ()})


def taken(fleet: Fleet, study: Study, benches: Benches, say: Say) -> LoadMachines:
    """Have the load come from the fewest machines that keep the server busy, from all where none do.

    What they made of it is in the steps; without, there was nothing to choose.
    """
    cases, offered = pilot_cases(study)[:MOST_CASES], len(fleet.peers)
    steps: list[LoadStep] = []
    if cases and offered > 1:
        say(f"a pilot of {counted(len(cases), 'case')} finds out how many machines load the server")
        for count in range(1, offered + 1):
            interruption.check()
            fleet.use_first(count)
            steps.append(LoadStep(machines=count, server_busy=_least_busy(cases, study, benches, say)))
            if (steps[-1].server_busy or 0.0) >= BUSY:
                break
    return LoadMachines(
        server_address=fleet.server_address, machines=fleet.machines, offered=offered, steps=tuple(steps)
    )


def _least_busy(cases: Sequence[Case], study: Study, benches: Benches, say: Say) -> float | None:
    """The share of the server's CPUs that worked in the case in which that was least; None out of reach."""
    found = []
    choice = cases[0].levels.server_choice
    for place, case in enumerate(cases):
        with benches.using(choice) as bench:
            trial = Trial(block=0, position=place, case=case)
            record = run_trial(trial, pilot_job(trial, study, bench), bench)
            benches.revive(choice, record.failure, say)
            found.append(_busy(record, len(bench.machine.server_cpus)))
    known = [busy for busy in found if busy is not None]
    return round(min(known), 3) if known else None


def _busy(record: TrialRecord, cpus: int) -> float | None:
    window = record.window
    if record.failure or window is None or window.server is None or not cpus or not window.took_s:
        return None
    return (window.server.cpu_total_us or 0.0) / 1e6 / window.took_s / cpus
