"""The pilot: before the first block the busiest cases run for a moment, and say how to share out the CPUs.

It has a server of its own, and what is measured is started with its CPUs afterwards. A server that was moved
would be another one: its memory stays near the CPUs that it was started on, and so does what it chose by
their number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from tlstax.contract import Job
from tlstax.mysql import connection_log
from tlstax.observers.machine import available_cpus, physical_cores
from tlstax.plan.cpu_shares import Core
from tlstax.plan.jobs import job_for
from tlstax.plan.pilot import FEWEST_CORES, PILOT_S, pilot_cases, shared_by
from tlstax.plan.timing import window_s
from tlstax.records.pilot import Pilot, PilotLoad
from tlstax.records.trial import Machine, Trial, TrialRecord
from tlstax.run.bench import Bench, Needs
from tlstax.run.benches import Benches, Say, Specimens, open_benches
from tlstax.run.trial import run_trial
from tlstax.study import Case, Study
from tlstax.study.factors import ServerChoice
from tlstax.support import interruption
from tlstax.support.text import counted

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
        return open_benches(study, specimens, fewer, _unsaid, machine=machine, only=(choice,))

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
    loads = []
    choice = cases[0].levels.server_choice
    with opened(choice) as benches:
        for place, case in enumerate(cases):
            interruption.check()
            trial = Trial(block=0, position=place, case=case)
            with benches.using(choice) as bench:
                record = run_trial(trial, pilot_job(trial, study, bench), bench)
                benches.revive(choice, record.failure, say)
            loads.append(load_of(record))
    return [load for load in loads if load is not None]


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
    return connection_log.reporting(job, bench.server.version) if bench.connects_in_window(levels) else job


def _unsaid(_: str) -> None:
    """Of a server that is gone in a moment, its steps would be taken for those of the run's."""
