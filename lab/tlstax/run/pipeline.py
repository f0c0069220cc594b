"""The whole of a run, readable in one function: bench → plan → trials → store → what was measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from tlstax.plan.admission import without_room
from tlstax.plan.budget import Fitting, Took
from tlstax.plan.order import blocks, cases, trials_per_block
from tlstax.plan.sittings import Sitting
from tlstax.records.trial import RunHeader, StoredRun, Trial, TrialRecord
from tlstax.results.live import LiveRun
from tlstax.run.benches import Benches
from tlstax.run.block import Where, external, run_block
from tlstax.run.early_abort import stop_on_the_users_mistake, stop_where_nothing_can_be_done
from tlstax.run.preparing import Listener, Request, begun, needs_of, opened
from tlstax.run.progress import Outlook, Step
from tlstax.run.resume import slim, spent_s
from tlstax.run.server_variables import check_switchable
from tlstax.run.tls_support import accepted, settled
from tlstax.stats.live import Account
from tlstax.stats.stopping import Continue, Stop, Taken, decide
from tlstax.store import Store
from tlstax.study import Study
from tlstax.study.labels import full_label, group_label
from tlstax.support import interruption
from tlstax.support.errors import Interrupted, TlstaxError


class Watcher(Listener, Protocol):
    """Who is kept informed of a run."""

    def trial(self, step: Step) -> None:
        """A trial begins."""
        ...

    def noted(self, live: LiveRun) -> None:
        """Nobody is being measured now, and this is known of the run."""
        ...

    def close(self) -> None:
        """The trials have ended."""
        ...


def run(request: Request, store: Store, watcher: Watcher) -> StoredRun:
    """Carry out a study and give back what the store holds of it.

    Every trial is on disk before the next begins. Ctrl-C ends the run in order and keeps what was
    measured; the run's status says so. UserMistake and MachineFault where nothing could be measured.
    """
    needs = needs_of(request)
    with opened(request, needs, watcher) as benches:
        study = benches.study_of(request.study)
        check_switchable(study, benches)
        study = accepted(study, benches, watcher.warn)
        study = settled(study, benches, watcher.step, as_able=request.tls_as_able)
        header = begun(request, study, needs, benches, store)
        to_its_end(header.run, lambda: _measure(request, header, benches, store, watcher), store, watcher)
    return store.load(header.run)


def to_its_end(run_name: str, measure: Callable[[], str], store: Store, watcher: Watcher) -> None:
    """Measure, and have the store know how that ended: `measure` returns why it stopped.

    An interruption ends it in order; another failure is stored, and raised again.
    """
    try:
        with interruption.restored():
            why = measure()
    except Interrupted:
        store.finish(run_name, "interrupted", "Ctrl-C or a signal ended it")
    except TlstaxError as error:
        store.finish(run_name, "failed", error.message)
        raise
    else:
        store.finish(run_name, "complete", why)
    finally:
        watcher.close()


def _measure(request: Request, header: RunHeader, benches: Benches, store: Store, watcher: Watcher) -> str:
    """Block after block until the stopping rule is content; why it stopped."""
    study, before = header.study, request.resumed
    records = list(before.trials) if before else []
    outlook = Outlook(study, header.trial_duration_s, spent_s(before) if before else 0.0, time.monotonic())
    if outlook.warning:
        watcher.warn(outlook.warning)
    account = Account(header, records)
    taken = Taken.of(study)
    if before:
        known = decide(study, before.measured, outlook.spent_s(time.monotonic()), taken)
        outlook.decided(known.progress, time.monotonic())
        account.decided(known.progress)
    done = {record.trial.place for record in records}
    for words in without_room(study, header.external):
        watcher.step(words)
    where = Where(header, benches, external(header, benches), request.share)
    follower = _Follower(outlook, watcher, header, store, records, account)
    fitting, past = Fitting.of(study, cases(study), header.trial_duration_s), list[Took]()
    answered = False
    for block in blocks(study, header.seed, done):
        began_s = time.monotonic()
        shortest_s = fitting.next_s(past, outlook.spent_s(began_s))
        run_block(block, where, shortest_s, follower)
        answered = answered or stop_where_nothing_can_be_done(records, study)
        if block[0].goes_before:
            continue
        if len(block) == trials_per_block(study):
            past.append(Took(shortest_s, time.monotonic() - began_s))
        measured = [record for record in records if record.trial.is_measured]
        decision: Stop | Continue = decide(study, measured, outlook.spent_s(time.monotonic()), taken)
        if isinstance(decision, Stop):
            return decision.why
        outlook.decided(decision.progress, time.monotonic())
        account.decided(decision.progress)
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
    account: Account

    def sits(self, sitting: Sitting) -> None:
        self.watcher.noted(noted(self.account, self.outlook, _next(sitting, self.header.study)))

    def begins(self, trial: Trial) -> None:
        self.watcher.trial(self.outlook.step(trial, time.monotonic()))

    def failed(self, record: TrialRecord) -> None:
        stop_on_the_users_mistake(record, self.header.study)

    def turns_begin(self, sitting: Sitting) -> None:
        trials = sitting.trials
        self.watcher.trial(self.outlook.turns(trials[-1], len(trials), time.monotonic()))

    def done(self, records: tuple[TrialRecord, ...]) -> None:
        self.store.add_trials(self.header.run, records)
        self.account.took(records)
        for record in records:
            self.records.append(slim(record, self.header.study))
            stop_on_the_users_mistake(record, self.header.study)

    def warn(self, text: str) -> None:
        self.account.warned(text)
        self.watcher.warn(text)


def noted(account: Account, outlook: Outlook, doing: str) -> LiveRun:
    """What is known now; `doing` comes next."""
    share, left_s = outlook.rest(time.monotonic())
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return account.between(doing, at, share=share, left_s=left_s)


def _next(sitting: Sitting, study: Study) -> str:
    """What a sitting is about to do, in words."""
    first = sitting.trials[0]
    if sitting.takes_turns:
        cases = f"{len(sitting.trials)} cases take turns"
        group = group_label(first.case.levels, study)
        return f"block {first.block + 1}: {cases}, {group}" if group else f"block {first.block + 1}: {cases}"
    when = "beforehand" if first.goes_before else f"block {first.block + 1}"
    return f"{when}, trial {first.position + 1}: {full_label(first.case, study)}"
