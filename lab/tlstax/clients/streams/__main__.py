"""A program that copies a server behind the contract: one job from standard input, events to standard output.

`companions.adapter_command` starts it, with the program's level of `client`, its version and its command
line. An operation is one run of the program, from its start to its end: connecting and logging in are in
it, as they are for who types it. One run before the window is looked through; those of the window are not,
but must write as much.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from tlstax.clients.adapter import (
    Laboratory,
    check_files,
    conclude,
    cpu_used,
    done_untold,
    job_of,
    ready_untold,
    served,
    take_limits,
)
from tlstax.clients.streams import demand
from tlstax.clients.streams.child import COPY, Copying, looked_through
from tlstax.contract import Job, Streamed
from tlstax.contract.event import summed
from tlstax.observers.process import read_cpu


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
        laboratory.say(ready_untold(name, version, runs[0].pid))
        runs[0].wait_for_go()
        took_s = 0.0
        for run in runs:
            began_s = run.let_go()
            took_s += run.wait_for_end(job.duration_s + job.timeout_s, COPY) - began_s
        used = [cpu_used(start, read_cpu(run.pid), name) for start, run in zip(before, runs, strict=True)]
        wrote = tuple(run.written_bytes() for run in runs)
        streamed = Streamed(
            copy_bytes=before_window.copy_bytes,
            written=(before_window.written, *wrote),
            holds=_asked_of(job, before_window.holds),
            received_bytes=before_window.received_bytes,
        )
        each = tool.connections(job)
        counts = (len(runs) * each, (len(runs) + before_window.runs) * each)
        conclude(laboratory, done_untold(took_s, len(runs), counts, summed(used), streamed=streamed))


def _asked_of(job: Job, holds: dict[str, int]) -> dict[str, int]:
    """What the copy holds of what the job tells of; of a base backup all else is its own affair."""
    asked = job.stream.holds if job.stream else {}
    return {what: holds[what] for what in asked if what in holds}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
