"""The whole of a run, readable in one function: bench → plan → trials → store → what was measured."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from tlstax import __version__
from tlstax.bench import Bench, open_bench
from tlstax.clients.engine import engine_specimen
from tlstax.errors import Interrupted, TlstaxError, UserMistake
from tlstax.findings.stopping import Continue, Progress, Stop, decide
from tlstax.guests.access import GuestAccess
from tlstax.jobs import job_for
from tlstax.labels import full_label
from tlstax.plan import blocks, cases
from tlstax.records import RunHeader, StoredRun, TrialRecord
from tlstax.store import Store, new_run_id
from tlstax.study import Study
from tlstax.trial import run_trial

WANTED_BLOCKS = 20
"""So many blocks fit the budget. Trials of a case scatter about as much whether they last a tenth of a
second or a whole one (each is a process, connections and server threads of its own), so many short ones,
interleaved, tell more in the same time than few long ones (Abedi and Brecht, ICPE 2017)."""

TRIAL_OVERHEAD_S = 0.1
"""About what a trial takes beside its window: start, connections, warm-up, counters."""

SHORTEST_S, LONGEST_S = 0.1, 10.0

SAME_MISTAKE = frozenset({"access_denied", "certificate", "no_tls", "bad_job", "tls_library"})
"""Errors of a client that every further trial of the case would meet again."""


REMEDIES = {
    "no_tls": "turn TLS on at the server, or there is nothing to compare",
    "certificate": "mend the certificate, or choose an --ssl-mode that does not verify it",
}


class Watcher(Protocol):
    """Who is told what goes on."""

    def step(self, text: str) -> None:
        """Something begins that may take a while."""
        ...

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        ...

    def trial(self, number: int, block: int, label: str, progress: Progress | None) -> None:
        """A trial begins."""
        ...

    def close(self) -> None:
        """The trials have ended."""
        ...


@dataclass(frozen=True)
class Request:
    """What is to be measured. `guest` is None for the default server, `seed` None for a random one."""

    study: Study
    guest: GuestAccess | None = None
    seed: int | None = None


def run(request: Request, store: Store, watcher: Watcher) -> StoredRun:
    """Carry out a study and give back what the store holds of it.

    Every trial is on disk before the next begins. Ctrl-C ends the run in order and keeps what was
    measured; the run's status tells. UserMistake and MachineFault where nothing could be measured.
    """
    study = request.study
    seed = secrets.randbelow(2**32) if request.seed is None else request.seed
    duration_s = trial_duration_s(study)
    with open_bench(study, request.guest, seed=seed, duration_s=duration_s, say=watcher.step) as bench:
        header = _header(study, bench, seed, duration_s)
        store.begin(header)
        try:
            why = _measure(study, bench, header, store, watcher)
        except Interrupted:
            store.finish(header.run, "interrupted", "Ctrl-C or a signal ended it")
        except TlstaxError as error:
            store.finish(header.run, "failed", error.message)
            raise
        else:
            store.finish(header.run, "complete", why)
        finally:
            watcher.close()
    return store.load(header.run)


def trial_duration_s(study: Study) -> float:
    """How long each trial measures, so that the wanted number of blocks fits the budget."""
    room_s = study.budget_s / (WANTED_BLOCKS * len(cases(study))) - TRIAL_OVERHEAD_S
    return round(min(LONGEST_S, max(SHORTEST_S, room_s)), 3)


def _header(study: Study, bench: Bench, seed: int, duration_s: float) -> RunHeader:
    started = datetime.now(UTC)
    return RunHeader(
        run=new_run_id(started),
        started_at=started.isoformat(timespec="seconds"),
        tlstax_version=__version__,
        study=study,
        seed=seed,
        trial_duration_s=duration_s,
        machine=bench.machine,
        specimens=(bench.server.specimen, engine_specimen()),
        guest=bench.guest,
    )


def _measure(study: Study, bench: Bench, header: RunHeader, store: Store, watcher: Watcher) -> str:
    """Block after block until the stopping rule is content; why it stopped."""
    records: list[TrialRecord] = []
    started = time.monotonic()
    progress: Progress | None = None
    for block in blocks(study, header.seed):
        for trial in block:
            watcher.trial(len(records) + 1, trial.block, full_label(trial.case), progress)
            job = job_for(trial.case.levels, bench.terms, sequence=len(records))
            record = run_trial(trial, job, bench)
            store.add_trial(header.run, record)
            records.append(record)
            _stop_on_the_users_mistake(record)
            bench.revive(record.failure, watcher.warn)
        decision: Stop | Continue = decide(study, records, time.monotonic() - started)
        if isinstance(decision, Stop):
            return decision.why
        progress = decision.progress
    raise AssertionError("blocks have no end")


def _stop_on_the_users_mistake(record: TrialRecord) -> None:
    """A mistake in what was asked for would only repeat itself; the first trial shows it."""
    if record.trial.block > 0:
        return
    for error in record.client_errors:
        if error.fatal and error.kind in SAME_MISTAKE:
            raise UserMistake(
                f"{full_label(record.trial.case)}: {error.message}", remedy=REMEDIES.get(error.kind, "")
            )
