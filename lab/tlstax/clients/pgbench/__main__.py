"""pgbench behind the contract: one job from standard input, events to standard output.

`companions.adapter_command` starts it, with the name, the version and the command line of a pgbench. The
measured work is all pgbench's: this program writes its script, holds it at a gate once its connections are
made, and reads its CPU clock there and at its end. pgbench ends a run after a number of operations or whole
seconds; so it is given a number, which follows from how fast it was beforehand.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from tlstax.clients.adapter import (
    Failed,
    Laboratory,
    check_files,
    conclude,
    cpu_used,
    done_untold,
    failure,
    job_of,
    ready_untold,
    served,
    take_limits,
)
from tlstax.clients.pgbench import demand
from tlstax.clients.pgbench.child import Launch, Pgbench
from tlstax.contract import CpuTime, Done, Job
from tlstax.observers.process import read_cpu
from tlstax.specimens.shared_pages import LOCKS_VARIABLE

WORK = "finish its operations"

TELLING_S = 0.2
"""Operations that took this long determine the rate."""

MOST_GROWTH = 10
"""How many times as many operations a run has than the one before, at most."""


def main(arguments: Sequence[str]) -> int:
    """Serve one job; the exit status is 0 after `done`."""
    _, version, *program = arguments
    return served(lambda laboratory: _Service(laboratory, version, program).serve())


@dataclass
class _Service:
    """One job on its way. `connections` counts those that were opened before the window."""

    laboratory: Laboratory
    version: str
    program: Sequence[str]
    connections: int = field(default=0)

    def serve(self) -> None:
        job = job_of(self.laboratory)
        demand.check(job)
        check_files(job.tls)
        take_limits(job.cpus, "pgbench")
        operations = self._operations(job)
        with self._start(job, operations) as pgbench:
            pgbench.wait_at_gate(job.timeout_s)
            before = pgbench.settled_cpu()
            self.laboratory.say(ready_untold("pgbench", self.version, pgbench.pid))
            pgbench.wait_for_go()
            began_s = pgbench.open_gate()
            ended_s = pgbench.wait_for_end(job.duration_s + job.timeout_s, WORK)
            used = cpu_used(before, read_cpu(pgbench.pid), "pgbench")
            self._check_report(pgbench, job, operations)
            conclude(self.laboratory, self._done(job, operations, ended_s - began_s, used))

    def _start(self, job: Job, operations: int) -> Pgbench:
        launch = Launch(
            program=self.program,
            arguments=demand.arguments(job, operations),
            environment={**demand.environment(job), **_page()},
            password_file=demand.password_file(job),
            script=demand.script(job),
            firsts=demand.first_of_threads(job.connections, job.threads),
        )
        return Pgbench(launch, self.laboratory)

    def _operations(self, job: Job) -> int:
        """How many operations each connection does, after as many unmeasured ones as the rate takes."""
        if job.operations is not None:
            return max(1, job.operations // job.connections)
        tried, took_s = 1, self._unmeasured(job, 1)
        while took_s < TELLING_S:
            tried *= min(MOST_GROWTH, max(2, math.ceil(TELLING_S / took_s)))
            took_s = self._unmeasured(job, tried)
        return max(1, round(tried / took_s * job.duration_s))

    def _unmeasured(self, job: Job, operations: int) -> float:
        """Run these operations on each connection; the seconds that they took."""
        with self._start(job, operations) as pgbench:
            pgbench.wait_at_gate(job.timeout_s)
            began_s = pgbench.open_gate()
            took_s = pgbench.wait_for_end(job.duration_s + job.timeout_s, WORK) - began_s
            self._check_report(pgbench, job, operations)
        self.connections += self._made(job, operations)
        return took_s

    def _check_report(self, pgbench: Pgbench, job: Job, operations: int) -> None:
        """Failed where pgbench reports other work than it was given."""
        report, given = pgbench.report(), operations * job.connections
        if (report.clients, report.operations) != (job.connections, given):
            text = (
                f"pgbench reports {report.operations} operations of {report.clients} clients, and was given "
                f"{given} and {job.connections}"
            )
            raise Failed(failure("internal", "client", text))

    def _made(self, job: Job, operations: int) -> int:
        """The connections of one run: one that looks at the database, and those that work."""
        working = operations * job.connections if job.workload.reconnect else job.connections
        return 1 + working

    def _done(self, job: Job, operations: int, elapsed_s: float, used: CpuTime) -> Done:
        made, worked = self._made(job, operations), operations * job.connections
        # At the gate the connections that are kept are there; where each operation makes its own, the
        # first of each thread is.
        before = len(demand.first_of_threads(job.connections, job.threads))
        in_window = made - 1 - before if job.workload.reconnect else 0
        return done_untold(elapsed_s, worked, (in_window, self.connections + made), used)


def _page() -> dict[str, str]:
    """Where pgbench is to count its locks, as this program was told; nothing where it was not."""
    path = os.environ.get(LOCKS_VARIABLE)
    return {LOCKS_VARIABLE: path} if path else {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
