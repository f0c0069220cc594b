"""One job from beginning to end: set up, warm up, `ready`, a slice for each `go`, `end`, `done`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import perf_counter_ns, process_time_ns

from driver_contract.crew import Crew
from driver_contract.driver import Driver
from driver_contract.failure import Failure, bad_job
from driver_contract.job import Job, job_of
from driver_contract.laboratory import Laboratory, LaboratoryGone
from driver_contract.proof import Proof, tls_library
from driver_contract.steady import SLICE_S, Slice, is_steady
from driver_contract.turns import Turns
from driver_contract.window import Window
from driver_contract.worker import Tally, Worker


def served(name: str, driver: Driver, site: Path) -> int:
    """Serve one job; the exit status is 0 after `done`."""
    laboratory = Laboratory()
    try:
        _serve(name, driver, site, laboratory)
    except LaboratoryGone:
        return 1
    except KeyboardInterrupt:
        return 130
    except Failure as failure:
        _tell(laboratory, failure)
        return 1
    except Exception as error:
        _tell(laboratory, Failure("internal", f"{name} stopped: {type(error).__name__}: {error}"))
        return 1
    return 0


def _tell(laboratory: Laboratory, failure: Failure) -> None:
    sys.stderr.write(f"{failure.message}\n")
    event = {"event": "error", "kind": failure.kind, "fault": failure.fault, "fatal": True}
    try:
        laboratory.say({**event, "message": failure.message, "code": failure.code, "count": 1})
    except LaboratoryGone:
        return


def _serve(name: str, driver: Driver, site: Path, laboratory: Laboratory) -> None:
    job = job_of(laboratory.line())
    _take_the_machines_part(job)
    settings = driver.settings(job)
    settings.update(job.options)
    turns = Turns()
    workers = [Worker(number, job, driver, settings, turns) for number in range(job.connections)]
    crew = Crew(workers, laboratory, job.timeout_s)
    proof = _set_up(job, driver, Proof(driver, settings), crew)
    slices, steady = _warm_up(job, crew, turns)
    turns.begin(job.operations)
    window = Window(workers)
    laboratory.say(
        {
            "event": "ready",
            "client": name,
            "client_version": driver.version(),
            "pid": os.getpid(),
            "server_version": proof.server_version,
            "tls_library": tls_library(site),
            "negotiated": proof.told(),
            "warmup": [vars(each) for each in slices],
            "steady": steady,
        }
    )
    _measure(crew, turns, laboratory, window)
    laboratory.wait_for_end()
    for worker in workers:
        worker.close()


def _take_the_machines_part(job: Job) -> None:
    """Run on the processors that the job names, and let the runtime trust whom it says."""
    if job.cpus:
        try:
            os.sched_setaffinity(0, job.cpus)
        except OSError:
            raise bad_job(f"cpus: this machine does not let us run on {sorted(job.cpus)}") from None
    if job.tls.trusted_ca_file is not None:
        os.environ["SSL_CERT_FILE"] = job.tls.trusted_ca_file
        os.environ["SSL_CERT_DIR"] = os.devnull


def _set_up(job: Job, driver: Driver, proof: Proof, crew: Crew) -> Proof:
    """Open all connections and ask each what was negotiated; with `reconnect` they are closed again."""

    def set_up(worker: Worker) -> None:
        worker.busy_since_ns = perf_counter_ns()
        session = worker.open()
        try:
            worker.greet(session)
            encrypted = proof.ask(session)
        except Exception as error:
            raise worker.failure(error) from error
        if job.tls.wanted and not encrypted:
            raise Failure("no_tls", f"{driver.title} logged in in the clear, though TLS was asked for")
        worker.commits = job.changes_data and not proof.autocommit
        if job.reconnect:
            session.close()
        else:
            worker.keep(session)

    crew.each(set_up)
    return proof


def _warm_up(job: Job, crew: Crew, turns: Turns) -> tuple[list[Slice], bool | None]:
    """The job's work, until it is steady where that is looked for."""
    turns.begin(None)
    if not job.steady_within_s:
        if job.warmup_s:
            _work_for(job.warmup_s, crew, turns)
        return [], None
    slices: list[Slice] = []
    begin_ns = perf_counter_ns()
    while not is_steady(slices) and not turns.ended:
        if slices and slices[-1].elapsed_s >= job.steady_within_s:
            return slices, False
        cpu_ns = process_time_ns()
        operations = _work_for(SLICE_S, crew, turns)
        used_us = (process_time_ns() - cpu_ns) / 1000
        slices.append(Slice((perf_counter_ns() - begin_ns) / 1e9, operations, used_us))
    return slices, is_steady(slices)


def _work_for(span_s: float, crew: Crew, turns: Turns) -> int:
    """Work without keeping anything but the number of operations that succeeded. Raises Failure."""
    until_ns = perf_counter_ns() + int(span_s * 1e9)
    for worker in crew.workers:
        worker.tally = Tally()
    crew.each(lambda worker: worker.work(until_ns))
    if turns.fatal is not None:
        raise turns.fatal
    return sum(worker.tally.operations for worker in crew.workers)


def _measure(crew: Crew, turns: Turns, laboratory: Laboratory, window: Window) -> None:
    """A slice for each `go`, and `done` at `end`. Raises Failure."""
    while (length_s := laboratory.next_slice_s()) is not None:
        _work_a_slice(length_s, crew, laboratory, window)
        if turns.fatal is not None:
            raise turns.fatal
        laboratory.say(window.close_slice(length_s))
    if not window.has_slices:
        raise bad_job("`end` came before the first `go`: nothing was measured")
    laboratory.say(window.done())


def _work_a_slice(length_s: float, crew: Crew, laboratory: Laboratory, window: Window) -> None:
    until_ns = window.open_slice() + int(length_s * 1e9)
    crew.each(lambda worker: worker.work(until_ns), lambda: laboratory.say(window.interval()))
