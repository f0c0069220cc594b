"""The whole of a run, readable in one function: bench → plan → trials → store → what was measured."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from tlstax import __version__
from tlstax.findings.core.stopping import Continue, Stop, Taken, decide
from tlstax.guests.access import GuestAccess
from tlstax.observers.machine import describe_machine
from tlstax.observers.profiler import probe
from tlstax.observers.turn import Turn, turn
from tlstax.plan.elsewhere import most_connections
from tlstax.plan.order import blocks, cases
from tlstax.plan.sittings import Sitting
from tlstax.plan.timing import trial_duration_s
from tlstax.records.trial import Changes, RunHeader, StoredRun, Trial, TrialRecord
from tlstax.run.bench import Needs
from tlstax.run.benches import Benches, obtain, open_benches, open_guest
from tlstax.run.block import Where, external, run_block
from tlstax.run.early_abort import stop_on_the_users_mistake, stop_where_nothing_can_be_done
from tlstax.run.progress import Outlook, Step
from tlstax.run.resume import check_same, slim, spent_s
from tlstax.run.server_variables import check_switchable
from tlstax.run.tls_support import settled
from tlstax.store import Store, new_run_id
from tlstax.study import Study
from tlstax.study.workload_level import data_needs
from tlstax.support import interruption
from tlstax.support.errors import Interrupted, TlstaxError


class Watcher(Protocol):
    """Who is kept informed of a run."""

    def step(self, text: str) -> None:
        """Something begins that may take a while."""
        ...

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        ...

    def trial(self, step: Step) -> None:
        """A trial begins."""
        ...

    def close(self) -> None:
        """The trials have ended."""
        ...


@dataclass(frozen=True)
class Request:
    """What is to be measured. `guest` is None for servers of our own, `seed` None for a random one.

    `resumed` is a run that was cut off and is to be brought to its end, None for a new one. `changes` are the
    options that changed the study's file. Where `tls_as_able`, a server that lacks the study's TLS
    versions gets what it has; else it is a mistake. Where another run is measuring, this one waits for its
    turn, or with `beside_others` goes on at once; `turn` is one that its caller has already.
    """

    study: Study
    guest: GuestAccess | None = None
    seed: int | None = None
    changes: Changes = field(default_factory=Changes)
    resumed: StoredRun | None = None
    tls_as_able: bool = False
    beside_others: bool = False
    turn: Turn | None = None


def run(request: Request, store: Store, watcher: Watcher) -> StoredRun:
    """Carry out a study and give back what the store holds of it.

    Every trial is on disk before the next begins. Ctrl-C ends the run in order and keeps what was
    measured; the run's status says so. UserMistake and MachineFault where nothing could be measured.
    """
    needs = _needs(request)
    with _opened(request, needs, watcher) as benches:
        check_switchable(request.study, benches)
        study = settled(request.study, benches, watcher.step, as_able=request.tls_as_able)
        header = _begun(request, study, benches, needs, store)
        try:
            with interruption.restored():
                why = _measure(request, header, benches, store, watcher)
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


def _needs(request: Request) -> Needs:
    study, resumed = request.study, request.resumed
    if resumed is not None:
        seed, duration_s = resumed.header.seed, resumed.header.trial_duration_s
    else:
        seed = secrets.randbelow(2**32) if request.seed is None else request.seed
        duration_s = trial_duration_s(study, cases(study))
    return Needs(study.rows, most_connections(study), seed, duration_s, study.schedule, data_needs(study))


@contextmanager
def _opened(request: Request, needs: Needs, watcher: Watcher) -> Iterator[Benches]:
    """What the trials run on, once it is this run's turn.

    A resumed run is refused before anything is started for it. What must be fetched is fetched before.
    """
    study, say = request.study, watcher.step
    sampling = probe() if study.profile else None
    specimens = obtain(study, say) if request.guest is None else None
    if request.resumed is not None and specimens is not None:
        check_same(request.resumed.header, specimens.described(), describe_machine())
    with ExitStack() as stack:
        given = nullcontext(request.turn) if request.turn is not None else None
        mine = stack.enter_context(given or turn(watcher.warn, beside_others=request.beside_others))
        if request.guest is not None:
            benches = stack.enter_context(open_guest(study, request.guest, needs, say, watcher.warn))
        elif specimens is not None:
            benches = stack.enter_context(open_benches(study, specimens, needs, say))
        benches.turn = mine
        for bench in benches.benches.values():
            bench.sampling = sampling
        yield benches


def _begun(request: Request, study: Study, benches: Benches, needs: Needs, store: Store) -> RunHeader:
    """The run's header, once the store knows that the run goes on."""
    if request.resumed is not None:
        return store.resume(request.resumed.header.run).header
    started = datetime.now(UTC)
    header = RunHeader(
        run=new_run_id(started),
        started_at=started.isoformat(timespec="seconds"),
        tlstax_version=__version__,
        study=study,
        seed=needs.seed,
        trial_duration_s=needs.duration_s,
        machine=benches.machine,
        specimens=benches.specimens,
        guest=benches.guest,
        changes=request.changes,
    )
    store.begin(header)
    return header


def _measure(request: Request, header: RunHeader, benches: Benches, store: Store, watcher: Watcher) -> str:
    """Block after block until the stopping rule is content; why it stopped."""
    study, before = header.study, request.resumed
    records = list(before.trials) if before else []
    outlook = Outlook(study, header.trial_duration_s, spent_s(before) if before else 0.0, time.monotonic())
    if outlook.warning:
        watcher.warn(outlook.warning)
    taken: Taken = {}
    if before:
        known = decide(study, before.measured, outlook.spent_s(time.monotonic()), taken)
        outlook.decided(known.progress, time.monotonic())
    done = {record.trial.place for record in records}
    where = Where(header, benches, external(study, header, benches, watcher.step))
    follower = _Follower(outlook, watcher, header, store, records)
    for block in blocks(study, header.seed, done):
        run_block(block, where, follower)
        stop_where_nothing_can_be_done(records[-len(block) :], study)
        if block[0].captured:
            continue
        measured = [record for record in records if record.trial.is_measured]
        decision: Stop | Continue = decide(study, measured, outlook.spent_s(time.monotonic()), taken)
        if isinstance(decision, Stop):
            return decision.why
        outlook.decided(decision.progress, time.monotonic())
    raise AssertionError("blocks have no end")


@dataclass(frozen=True)
class _Follower:
    """Stores what a block measures, keeps the run's watcher informed, and ends it at the user's mistake.

    `records` grows by what the stopping rule needs of each trial.
    """

    outlook: Outlook
    watcher: Watcher
    header: RunHeader
    store: Store
    records: list[TrialRecord]

    def begins(self, trial: Trial) -> None:
        self.watcher.trial(self.outlook.step(trial, time.monotonic()))

    def failed(self, record: TrialRecord) -> None:
        stop_on_the_users_mistake(record, self.header.study)

    def turns_begin(self, sitting: Sitting) -> None:
        trials = sitting.trials
        self.watcher.trial(self.outlook.turns(trials[-1], len(trials), time.monotonic()))

    def done(self, records: tuple[TrialRecord, ...]) -> None:
        self.store.add_trials(self.header.run, records)
        for record in records:
            self.records.append(slim(record, self.header.study))
            stop_on_the_users_mistake(record, self.header.study)

    def warn(self, text: str) -> None:
        self.watcher.warn(text)
