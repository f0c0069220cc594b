"""One trial of the self-bench: a contestant through a cell's job, and both sides read around its window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Job, TlsOff
from tlstax.mysql import row_samples, status
from tlstax.mysql.database import SqlError
from tlstax.observers import process
from tlstax.observers.counters import Counters
from tlstax.observers.perf_events import INSTRUCTIONS, Event
from tlstax.observers.window import Side, Watch, Watched
from tlstax.plan.jobs import job_for
from tlstax.records.window import ProcessUse
from tlstax.run.bench import Bench
from tlstax.run.trial import GRACE_S
from tlstax.selfbench.plan import Contestant, Trial
from tlstax.selfbench.records import Instructions, Observation
from tlstax.support.errors import MachineFault

CONNECT_S = 0.05
"""A connection may take so long to be made: sysbench reads its certificates anew for each."""


class Measurer:
    """Measures trials on a bench; called with one, it gives what was observed."""

    def __init__(
        self,
        bench: Bench,
        commands: Mapping[Contestant, Sequence[str]],
        events: Sequence[Event],
        warn: Callable[[str], None],
        client_tls_library: str | None = None,
    ) -> None:
        """`events` are the counters that work here, none where there are no counters."""
        self._bench = bench
        self._commands = commands
        self._events = tuple(events)
        self._warn = warn
        self._client_tls_library = client_tls_library
        self._sequence = 0

    def __call__(self, trial: Trial) -> Observation:
        """Run a trial. What fails at the client or the server is in the observation.

        MachineFault when the server died too often.
        """
        terms = self._bench.terms.model_copy(
            update={"source_addresses": (), "client_cpus": self._bench.machine.client_cpus[:1]}
        )
        job = job_for(trial.cell.levels(), terms, sequence=self._sequence)
        if trial.contestant != "sysbench":
            job = _over(job, self._client_tls_library)
        self._sequence += 1
        seen: dict[str, Any] = {"trial": trial}
        try:
            self._observe(job, self._commands[trial.contestant], seen)
        except ClientFailure as failure:
            seen["failure"] = str(failure)
        except MachineFault as fault:
            seen["failure"] = fault.message
        except (SqlError, OSError) as fault:
            seen["failure"] = f"the trial broke off ({fault})"
        self._bench.revive(str(seen.get("failure", "")), self._warn)
        return Observation.model_validate(seen)

    def _observe(self, job: Job, command: Sequence[str], seen: dict[str, Any]) -> None:
        """The steps of a trial; what is learned goes into `seen`, so that it is kept when a step fails."""
        server, admin = self._bench.server, self._bench.admin
        at_start = status.read_status(admin)
        with LoadClient(command, job) as client, Counters(self._events) as counters:
            ready = client.wait_ready(ready_within_s(job))
            seen["ready"] = ready
            # Only now: the program that answers may be a child of the one that was started.
            counters.attach(ready.pid)
            connected = status.connected(at_start) + (0 if job.workload.reconnect else job.connections)
            watched = Watched(
                client=Side(ready.pid, counters),
                server=Side(server.pid),
                read_status=lambda: status.read_settled_status(admin, connected),
            )
            with Watch(watched) as watch:
                watch.begin()
                client.go()
                seen["done"] = done = client.wait_done(job.duration_s + job.timeout_s + GRACE_S)
                window = watch.end()
        seen["instructions"] = _instructions(window.client)
        seen["setup_delta"] = status.status_delta(at_start, watch.status_at_begin)
        seen["window_delta"] = window.status_delta
        seen["server_cpu"] = process.server_cpu(window.server)
        seen["row_mismatches"] = row_samples.mismatches(admin, done.row_samples)


def ready_within_s(job: Job) -> float:
    """How long to wait for `ready`: what one connection may take, and some time for each of them."""
    return job.timeout_s + job.warmup_s + GRACE_S + job.connections * CONNECT_S


def _over(job: Job, library: str | None) -> Job:
    """The job with its client's TLS library chosen, where there is one to choose."""
    if library is None or isinstance(job.tls, TlsOff):
        return job
    return job.model_copy(update={"tls": job.tls.model_copy(update={"library": library})})


def _instructions(client: ProcessUse | None) -> Instructions | None:
    user, kernel = (client.counters.get(event.name) if client else None for event in INSTRUCTIONS)
    return None if user is None else Instructions(user=user, kernel=kernel)
