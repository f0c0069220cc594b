"""mysqlslap behind the contract: one job from standard input, events to standard output.

`companions.adapter_command` starts it, with the name, the version and the command line of a mysqlslap.
The measured work is all mysqlslap's: this program writes its query file, holds it at gates before and after
each of its rounds, and reads its CPU clock while it stands still.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from tlstax.clients.adapter import (
    Laboratory,
    check_files,
    conclude,
    cpu_used,
    job_of,
    ready_untold,
    served,
    take_limits,
)
from tlstax.clients.mysqlslap import demand
from tlstax.clients.mysqlslap.child import BEGIN, END, Launch, Measured, Mysqlslap, done_event
from tlstax.clients.mysqlslap.demand import QueryFile, Written, only_reads, query_file
from tlstax.contract import Job

LAST_TRY = 1000
"""Operations of a connection in the longest of the runs that determine the rate."""

TELLING_S = 0.1
"""Operations that took this long determine the rate."""

MOST_GROWTH, PATIENCE_S = 10, 2.0
"""How many times as many operations a run has than the one before; the second one is not to take longer."""

TRIED_SHARE = 0.01
"""How much of a sequence, at most, is used by one run that determines the rate."""


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
        take_limits(job.cpus, "mysqlslap")
        written = Written(job.workload, job.seed)
        operations = self._operations(job, written)
        queries = query_file(written, operations, job.workload.on_connect)
        reset = demand.reset_statements(job)
        with self._start(job, queries, job.rounds, reset) as mysqlslap:
            mysqlslap.wait_for(BEGIN, job.timeout_s, "connect")
            before = mysqlslap.settled_cpu()
            self.laboratory.say(ready_untold("mysqlslap", self.version, mysqlslap.pid))
            mysqlslap.wait_for_go()
            took_s = self._rounds(mysqlslap, job.rounds, job.duration_s + job.timeout_s)
            used = cpu_used(before, mysqlslap.settled_cpu(), "mysqlslap")
            mysqlslap.pass_gate()
            measured = Measured(
                report=mysqlslap.report(),
                gate_to_gate_s=took_s,
                query_file=queries,
                connections_before=self.connections + 1,
                cpu=used,
            )
            conclude(self.laboratory, done_event(job, measured))

    def _start(self, job: Job, file: QueryFile, rounds: int, reset: Sequence[str] = ()) -> Mysqlslap:
        launch = Launch(
            program=self.program,
            arguments=demand.arguments(job, queries=file.queries, rounds=rounds),
            options=demand.option_file(job),
            queries=file.statements,
            reset=reset,
        )
        return Mysqlslap(launch, self.laboratory)

    def _rounds(self, mysqlslap: Mysqlslap, rounds: int, within_s: float) -> float:
        """Let every round run; stops at the last gate. Seconds from gate to gate, all rounds together."""
        took_s = 0.0
        for place in range(rounds):
            if place:
                mysqlslap.pass_gate()
                mysqlslap.wait_for(BEGIN, within_s, "begin another round")
            begun = mysqlslap.pass_gate()
            took_s += mysqlslap.wait_for(END, within_s, "finish its queries") - begun
        return took_s

    def _operations(self, job: Job, written: Written) -> int:
        """How many operations each connection does in a round, after as many unmeasured ones as it takes."""
        if job.operations is not None:
            each = max(1, job.operations // job.rounds // job.connections)
            if only_reads(job.workload):
                self._unmeasured(job, written, 1)
            return each
        return max(1, round(self._rate_per_s(job, written) * job.duration_s / job.rounds))

    def _rate_per_s(self, job: Job, written: Written) -> float:
        """Operations a second of each connection.

        A run's time includes making its connections, so its rate follows from how much longer it takes than
        one with a single operation; but from at least half of its time, as that one may have met a busy
        machine.
        """
        most = max(1, int(min(LAST_TRY, TRIED_SHARE * written.left())))
        single_s = self._unmeasured(job, written, 1)
        tried, took_s = 1, single_s
        while tried < most and (tried == 1 or took_s < TELLING_S):
            grown = math.ceil(min(MOST_GROWTH, PATIENCE_S / single_s)) if tried == 1 else MOST_GROWTH
            tried = min(most, max(2, tried * grown))
            run_s = self._unmeasured(job, written, tried)
            took_s = max(run_s - single_s, run_s / 2)
        return tried / took_s

    def _unmeasured(self, job: Job, written: Written, operations: int) -> float:
        """Run these operations on each connection, without proof; the seconds that they took."""
        with self._start(job, query_file(written, operations, ()), 1) as mysqlslap:
            mysqlslap.wait_for(BEGIN, job.timeout_s, "connect")
            took_s = self._rounds(mysqlslap, 1, job.timeout_s + job.duration_s)
            mysqlslap.pass_gate()
            mysqlslap.report()
        self.connections += 1 + job.connections
        return took_s


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
