"""A program that copies a server behind the contract: one job from standard input, events to standard output.

`program.adapter_command` starts it, with the program's level of `client`, its version and its command line as
arguments. An operation is one run of the program, from its start to its end: connecting and logging in are in
it, as they are for who types it. One run before the window is looked through; those of the window are not,
but must write as much.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from tlstax.clients.adapter import (
    Failed,
    Laboratory,
    check_files,
    conclude,
    connections_alone,
    failure,
    job_of,
    served,
    take_limits,
)
from tlstax.clients.streams import demand
from tlstax.clients.streams.child import Copying, looked_through
from tlstax.contract import CpuTime, Done, Job, Ready, Streamed
from tlstax.observers.process import cpu_between


def main(arguments: Sequence[str]) -> int:
    """Serve one job; the exit status is 0 after `done`."""
    name, version, *program = arguments
    return served(lambda laboratory: _serve(laboratory, name, version, program))


def _serve(laboratory: Laboratory, name: str, version: str, program: Sequence[str]) -> None:
    job = job_of(laboratory)
    demand.check(job)
    check_files(job.tls)
    take_limits(job.cpus, name)
    unrecorded = job.model_copy(update={"workload": job.workload.model_copy(update={"on_connect": ()})})
    tool = demand.TOOLS[name]
    before_window = looked_through(name, program, tool.job_of_run(unrecorded, 0), laboratory)
    with ExitStack() as stack:
        runs = [
            stack.enter_context(Copying(name, program, tool.job_of_run(job, number), laboratory))
            for number in range(1, 1 + (job.operations or 1))
        ]
        before = [run.settled_cpu() for run in runs]
        laboratory.say(_ready(name, version, runs[0].pid))
        runs[0].wait_for_go()
        took_s = 0.0
        for run in runs:
            began_s = run.let_go()
            took_s += run.wait_for_end(job.duration_s + job.timeout_s) - began_s
        used = [cpu_between(start, run.cpu()) for start, run in zip(before, runs, strict=True)]
        known = [each for each in used if each is not None]
        if len(known) < len(runs):
            raise Failed(failure("internal", "client", f"the CPU clock of {name} cannot be read"))
        cpu = CpuTime(
            total_us=sum(each.total_us for each in known),
            user_us=sum(each.user_us for each in known),
            system_us=sum(each.system_us for each in known),
        )
        wrote = tuple(run.written_bytes() for run in runs)
        streamed = Streamed(
            copy_bytes=before_window.copy_bytes,
            written=(before_window.written, *wrote),
            holds=_asked_of(job, before_window.holds),
            received_bytes=before_window.received_bytes,
        )
        each = tool.connections(job)
        counts = (len(runs) * each, (len(runs) + before_window.runs) * each)
        conclude(laboratory, _done(len(runs), counts, took_s, cpu, streamed))


def _asked_of(job: Job, holds: dict[str, int]) -> dict[str, int]:
    """What the copy holds of what the job tells of; of a base backup all else is its own affair."""
    asked = job.stream.holds if job.stream else {}
    return {what: holds[what] for what in asked if what in holds}


def _ready(name: str, version: str, pid: int) -> Ready:
    """The first run stands at its gate. It can be asked nothing: neither what it negotiated nor of whom."""
    return Ready(
        client=name, client_version=version, pid=pid, server_version="", tls_library=None, negotiated=()
    )


def _done(copies: int, connections: tuple[int, int], took_s: float, cpu: CpuTime, streamed: Streamed) -> Done:
    """The result, of as many connections in the window and in all: handshakes and latencies are left out."""
    in_window, in_all = connections
    return Done(
        elapsed_s=took_s,
        operations=copies,
        scheduled=copies,
        skipped=0,
        window=connections_alone(in_window),
        lifetime=connections_alone(in_all),
        histograms_ns={},
        cpu=cpu,
        wire=None,
        errors=(),
        row_samples=(),
        streamed=streamed,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
