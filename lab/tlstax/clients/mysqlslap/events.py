"""What mysqlslap's adapter reports to the laboratory, from what mysqlslap reported."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.clients.adapter import Failed, failure
from tlstax.clients.mysqlslap.query_file import QueryFile
from tlstax.clients.mysqlslap.words import Report
from tlstax.contract import Counts, CpuTime, Done, Job, Ready

RESOLUTION_S = 0.001
"""mysqlslap prints times in milliseconds, cut off."""


@dataclass(frozen=True)
class Measured:
    """How a job's rounds went. `connections_before` were opened before the window, one of them is kept."""

    report: Report
    gate_to_gate_s: float
    query_file: QueryFile
    connections_before: int
    cpu: CpuTime


def ready_event(*, pid: int, version: str) -> Ready:
    """Mysqlslap stands at its first gate. It can be asked nothing: neither what it negotiated nor of whom."""
    return Ready(
        client="mysqlslap",
        client_version=version,
        pid=pid,
        server_version="",
        tls_library=None,
        negotiated=(),
    )


def done_event(job: Job, measured: Measured) -> Done:
    """The result. Failed where mysqlslap reports other work than it was given.

    How long the rounds took is as mysqlslap reports it: its clock leaves out the gates and what puts the data
    back between them, which the time from gate to gate does not. Where it printed less than its resolution,
    the time from gate to gate stands in.
    """
    report, given = measured.report, measured.query_file
    if (report.clients, report.queries) != (job.connections, given.queries):
        text = (
            f"mysqlslap reports {report.clients} clients with {report.queries} queries each, and was given "
            f"{job.connections} with {given.queries}"
        )
        raise Failed(failure("internal", "client", text))
    own_s = report.reported_s["average"] * job.rounds
    operations = given.operations * job.connections * job.rounds
    worked = job.connections * job.rounds
    return Done(
        elapsed_s=own_s if report.reported_s["minimum"] >= RESOLUTION_S else measured.gate_to_gate_s,
        operations=operations,
        scheduled=operations,
        skipped=0,
        window=_counts(worked),
        lifetime=_counts(measured.connections_before + worked),
        histograms_ns={},
        cpu=measured.cpu,
        wire=None,
        errors=(),
        row_samples=(),
        reported_s=report.reported_s,
    )


def _counts(connections: int) -> Counts:
    """It does not report what it negotiated, so handshakes and ways of logging in are left out."""
    return Counts(connections=connections, handshakes=(), authentications={})
