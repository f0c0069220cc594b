"""Which CPUs and load machines a run has: as asked for, as in the run that is resumed, or as a pilot finds.

Before the first block the busiest cases run for a moment. They have a server of their own, and what is
measured is started with its CPUs afterwards. A server that was moved would be another one: its memory stays
near the CPUs that it was started on, and so does what it chose by their number. Where the load comes from
other machines, as many are taken as keep the server busy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tlstax.clients.fleet import Fleet
from tlstax.clients.fleet_messages import Peer
from tlstax.contract import Job
from tlstax.observers.machine import ROOT, available_cpus, describe_machine, physical_cores, split_as_asked
from tlstax.plan.cpu_shares import FEWEST_CORES, PILOT_S, AskedCpus, Core, Split, pilot_cases, shared_by
from tlstax.plan.jobs import job_for
from tlstax.plan.timing import window_s
from tlstax.records.beforehand import LoadStep, Pilot, PilotLoad
from tlstax.records.trial import LoadMachines, Machine, RunHeader, StoredRun, Trial, TrialRecord
from tlstax.records.window import BUSY
from tlstax.run.bench import Bench, Needs
from tlstax.run.benches import Benches, Say, Specimens, open_benches, unsaid
from tlstax.run.resume import ANEW
from tlstax.run.trial import run_trial
from tlstax.study import Case, Study
from tlstax.study.factors import ServerChoice
from tlstax.support import interruption
from tlstax.support.errors import UserMistake
from tlstax.support.text import as_ranges, counted, enumerated


def machine_of(
    asked: AskedCpus,
    resumed: StoredRun | None = None,
    available: AbstractSet[int] | None = None,
    root: Path = ROOT,
) -> Machine:
    """The machine with its CPUs shared out; where a run is resumed that had a pilot, as they were then.

    UserMistake where CPUs were asked for that cannot be had so, and where those of then cannot be had.
    """
    cpus = available_cpus() if available is None else available
    header = resumed.header if resumed is not None else None
    if header is not None and header.machine.pilot is not None and not asked.is_any:
        described = describe_machine(cpus, root, _of_then(header, cpus))
        return described.model_copy(update={"pilot": header.machine.pilot})
    described = describe_machine(cpus, root, split_as_asked(asked, cpus, root))
    return described.model_copy(update={"cpus_asked_for": asked.is_any})


def _of_then(header: RunHeader, cpus: AbstractSet[int]) -> Split:
    split = Split(header.machine.server_cpus, header.machine.client_cpus)
    lacking = {*split.server_cpus, *split.client_cpus} - cpus
    if lacking:
        raise UserMistake(
            f"run {header.run} was begun with {split.words()} and is now without CPU {as_ranges(lacking)}",
            remedy=f"let it have them, or {ANEW}",
        )
    return split


MOST_ROWS = 100_000
"""Rows of the pilot's table: what a point select costs hardly depends on them, and filling it does."""

Measure = Callable[[Sequence[Case]], Sequence[PilotLoad]]
Opened = Callable[[ServerChoice], AbstractContextManager[Benches]]


def piloted(  # noqa: PLR0913 (all that a server is started with)
    study: Study,
    specimens: Specimens,
    needs: Needs,
    machine: Machine,
    say: Say,
    *,
    external: Collection[str | None] = (),
) -> Machine:
    """The machine with its CPUs shared out by a pilot, where there is anything to choose; else as it was.

    `external` are the levels of `server` that are not ours to try. UserMistake and MachineFault where the
    server cannot be started.
    """
    fewer = replace(needs, rows=min(needs.rows, MOST_ROWS))

    def opened(choice: ServerChoice) -> AbstractContextManager[Benches]:
        return open_benches(study, specimens, fewer, unsaid, machine=machine, only=(choice,))

    def measure(cases: Sequence[Case]) -> list[PilotLoad]:
        return measured(cases, study, opened, say)

    suited = pilot_cases(study, external)
    return balanced_by(suited, machine, physical_cores(available_cpus()), measure, say)


def balanced_by(
    cases: Sequence[Case], machine: Machine, cores: Sequence[Core], measure: Measure, say: Say
) -> Machine:
    """The machine with its CPUs shared out by what `measure` finds of the cases of a pilot.

    As it was where there are too few cores, or no cases.
    """
    if len(cores) < FEWEST_CORES or not cases:
        return machine
    say(f"a pilot of {counted(len(cases), 'case')} finds out how many CPUs the client needs")
    loads = tuple(measure(cases))
    pilot = Pilot(server_cpus=machine.server_cpus, client_cpus=machine.client_cpus, loads=loads)
    return shared_by(pilot, machine, cores)


def measured(cases: Sequence[Case], study: Study, opened: Opened, say: Say) -> list[PilotLoad]:
    """What each of these cases of one server uses on both sides; a case that fails is passed over."""
    with opened(cases[0].levels.server_choice) as benches:
        loads = [load_of(record) for _, record in _tried(cases, study, benches, say)]
    return [load for load in loads if load is not None]


def _tried(
    cases: Sequence[Case], study: Study, benches: Benches, say: Say
) -> Iterator[tuple[Bench, TrialRecord]]:
    """A trial of each of these cases of one server, and what it ran on."""
    choice = cases[0].levels.server_choice
    for place, case in enumerate(cases):
        interruption.check()
        trial = Trial(block=0, position=place, case=case)
        with benches.using(choice) as bench:
            record = run_trial(trial, pilot_job(trial, study, bench), bench)
            benches.revive(choice, record.failure, say)
        yield bench, record


def load_of(record: TrialRecord) -> PilotLoad | None:
    """How many CPUs a trial kept busy on either side; None where it failed, or a side is out of reach."""
    window = record.window
    if record.failure or record.verdict.value == "invalid" or window is None or not window.took_s:
        return None
    used_us = ((side.cpu_total_us if side else None) or 0.0 for side in (window.client, window.server))
    client, server = (round(each / 1e6 / window.took_s, 3) for each in used_us)
    if not (client and server):
        return None
    return PilotLoad(case=record.trial.case.levels, client_busy_cpus=client, server_busy_cpus=server)


def pilot_job(trial: Trial, study: Study, bench: Bench) -> Job:
    """What a case does in a pilot."""
    levels = trial.case.levels
    terms = bench.terms_of(levels).model_copy(update={"duration_s": window_s(levels, PILOT_S, study)})
    job = job_for(levels, terms, sequence=trial.position)
    return bench.reporting(job, levels)


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
    tried = _tried(cases, study, benches, say)
    found = [_busy(record, len(bench.machine.server_cpus)) for bench, record in tried]
    known = [busy for busy in found if busy is not None]
    return round(min(known), 3) if known else None


def _busy(record: TrialRecord, cpus: int) -> float | None:
    window = record.window
    if record.failure or window is None or window.server is None or not cpus or not window.took_s:
        return None
    return (window.server.cpu_total_us or 0.0) / 1e6 / window.took_s / cpus
