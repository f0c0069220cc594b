"""One trial by itself: the server awake, the client through its job, both sides read, all in one window."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import replace

from tlstax.clients.process import Client
from tlstax.contract import Done, Job
from tlstax.network.tap.opening import capturing
from tlstax.observers import process
from tlstax.observers.profiler import Profiler
from tlstax.observers.window import Side, Watch
from tlstax.plan.jobs import comes_and_goes
from tlstax.plan.turns import STORM_ROUND_S
from tlstax.records.trial import Trial, TrialRecord
from tlstax.records.window import Window
from tlstax.run import server_variables
from tlstax.run.bench import Bench
from tlstax.run.server_pages import Burning, LockCounting
from tlstax.run.trial_evidence import (
    GRACE_S,
    Gathered,
    LoggedLogins,
    Passed,
    counters_of,
    logins_of,
    made_ready,
    observed_of_server,
    travelling,
    watched,
)
from tlstax.sql import answers
from tlstax.sql.facts import changed_counters
from tlstax.study.case_workload import sets_values
from tlstax.study.workloads import writes


def run_trial(trial: Trial, job: Job, bench: Bench) -> TrialRecord:
    """Run one trial and judge it. What fails at the client or the server ends up in the record."""
    gathered, stays = Gathered(trial, job), bench.server.connected()
    logged = logins_of(trial, bench, job)
    with gathered.failures(), server_variables.applied(trial.case.levels, bench), logged as logins:
        _measure(trial, bench, gathered, stays, logins)
    if gathered.failure:
        bench.server.wait_until_gone(stays)
    return gathered.record(bench)


def _measure(
    trial: Trial, bench: Bench, gathered: Gathered, stays: frozenset[int], logins: LoggedLogins
) -> None:
    """The steps of a trial. Both sides are read while nothing is in flight, so over exact work.

    The connections that stay, `stays`, are there before the client is.
    """
    admin, captured, levels = bench.admin, gathered.captured, trial.case.levels
    made_ready(gathered, bench, Passed())
    product = bench.server.product
    status_before = product.status.read_status(admin)
    in_window = bench.connects_in_window(levels)
    if in_window:
        product.connection_log.clear(admin)
    route = bench.route(levels)
    observed, burning, locks = levels.is_observed, Burning(levels, bench), LockCounting(levels, bench)
    with (
        travelling(route, gathered.travelled),
        capturing(captured) if trial.captured else nullcontext(),
        counters_of(levels, bench) as counters,
        bench.client(levels, job := captured.job, counters.open_before_exec if observed else None) as client,
        ExitStack() as watching,
    ):
        try:
            gathered.wait_ready(client)
            logins.client_is_ready()
            if comes_and_goes(job.workload):
                bench.server.wait_until_gone(stays)
            pid = client.watched_pid
            profiler = _profiler(trial, bench, pid, watching)
            others = product.status.connected(status_before)
            sides = watched(levels, job, bench, Side(pid, counters), others)
            keeps = not comes_and_goes(job.workload)
            sides = replace(sides, profiler=profiler, whole_memory=keeps)
            watch = watching.enter_context(Watch(sides))
            watch.begin()
            captured.begin_window()
            with burning.turn(), locks.watching(pid):
                gathered.done = _worked(client, job, bench)
            gathered.burned, gathered.locks = burning.record(), locks.record(gathered.done.operations)
            gathered.client_locks = locks.record_of_client(gathered.done.operations)
            captured.end_window(gathered.done.operations)
            gathered.window, gathered.sampled = watch.end(), watch.sampled
            if in_window:
                gathered.window = _without_ended_threads(gathered.window)
        finally:
            gathered.of_client(client)
    bench.server.wait_until_gone(stays)
    status_after = bench.server.settled_status(admin, product.status.connected(status_before))
    status_delta = changed_counters(status_before, status_after)
    window = gathered.window
    logins.client_has_gone()
    if job.stream is not None:
        product.streams.clear(admin)
    cpu = process.server_cpu(window.server)
    seen = logins.beside(observed_of_server(levels, bench, window, cpu, status_delta))
    by_path = route.path.logins if route.path is not None else None
    gathered.server = seen if by_path is None else seen.model_copy(update={"logged": by_path})
    # Rows that the trial itself may have changed since prove nothing.
    if not writes(job.workload):
        before = sets_values(levels, job.workload)
        gathered.row_mismatches = answers.mismatches(admin, gathered.done.row_samples, before)


def _worked(client: Client, job: Job, bench: Bench) -> Done:
    """The result of the whole window, which is one slice; of a storm at an external server, one a round.

    Of a round's connections it keeps counting some for a moment after it has closed them all.
    """
    within_s = job.duration_s + job.timeout_s + GRACE_S
    if job.lingering is None or not job.workload.storm:
        client.go()
        return client.wait_done(within_s)
    stays = bench.server.connected()
    for _ in range(job.rounds):
        client.slice(STORM_ROUND_S, within_s)
        bench.server.wait_until_gone(stays)
    return client.finish(within_s)


def _without_ended_threads(window: Window) -> Window:
    """The window less the client's changes of threads.

    A client that connects within it has threads that came and went, and what those counted went with them.
    """
    client = window.client
    if client is None:
        return window
    kept = {name: times for name, times in client.counters.items() if name != "context_switches"}
    return window.model_copy(update={"client": client.model_copy(update={"counters": kept})})


def _profiler(trial: Trial, bench: Bench, client_pid: int | None, watching: ExitStack) -> Profiler | None:
    """What samples a profiled trial, not sampling yet; None for the others."""
    sampling = bench.equipment.sampling
    if not trial.profiled or sampling is None:
        return None
    tree = bench.tree.tree if bench.tree is not None else None
    profiler = Profiler(bench.server.pid, client_pid, sampling, bench.machine, server_tree=tree)
    return watching.enter_context(profiler)
