"""What mysqlslap says, and the events that are made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tlstax.clients.adapter import Failed, Fault, connections_alone, failure
from tlstax.clients.mysqlslap.statements import QueryFile
from tlstax.contract import CpuTime, Done, ErrorEvent, ErrorKind, Job, Ready

_LINES = {
    "average": re.compile(r"Average number of seconds to run all queries: ([0-9]{1,9}[.][0-9]+) seconds"),
    "minimum": re.compile(r"Minimum number of seconds to run all queries: ([0-9]{1,9}[.][0-9]+) seconds"),
    "maximum": re.compile(r"Maximum number of seconds to run all queries: ([0-9]{1,9}[.][0-9]+) seconds"),
    "clients": re.compile(r"Number of clients running queries: ([0-9]{1,12})"),
    "queries": re.compile(r"Average number of queries per client: ([0-9]{1,12})"),
}

_FAILED = re.compile(
    r"Cannot run query (?P<query>.*) ERROR : (?P<query_text>.*)"
    r"|Error when connecting to server: (?:(?P<code>[0-9]{1,6}) )?(?P<connect_text>.*)"
    r"|Error when storing result: (?P<result_code>[0-9]{1,6}) (?P<result_text>.*)"
    r"|mysqlslap: \[ERROR\] (?P<option_text>.*)"
)
"""Of a worker's connection it gives the error's number, of its main connection and of queries the text alone.
A worker that meets an error says no more, and mysqlslap ends as if nothing had happened."""

_SHOWN_CHARACTERS = 80

BY_TEXT: tuple[tuple[str, ErrorKind, Fault], ...] = (
    ("Access denied", "access_denied", "server"),
    ("Unknown MySQL server host", "resolve", "network"),
    ("SSL is required", "no_tls", "server"),
    ("SSL_CTX_set_default_verify_paths", "certificate", "job"),
    ("certificate", "certificate", "server"),
    ("SSL connection error", "tls_handshake", "server"),
    ("Can't connect to", "connect", "network"),
    ("Lost connection", "server_closed", "server"),
    ("gone away", "server_closed", "server"),
    ("Protocol mismatch", "not_mysql", "job"),
    ("Malformed communication packet", "not_mysql", "job"),
    ("requires secure connection", "access_denied", "server"),
    ("Authentication plugin", "bad_job", "client"),
)
"""Texts of the client library (errmsg.cc) and what they mean; the first that is found counts."""


@dataclass(frozen=True)
class Report:
    """What mysqlslap prints at its end: seconds of its rounds, and how much was run in each."""

    reported_s: dict[str, float]
    clients: int
    queries: int


def report_in(printed: str) -> Report | None:
    """The report, None where any of its lines is missing."""
    found = {name: match[1] for name, line in _LINES.items() if (match := line.search(printed))}
    if set(found) != set(_LINES):
        return None
    clients, queries = int(found.pop("clients")), int(found.pop("queries"))
    return Report({name: float(text) for name, text in found.items()}, clients, queries)


def failure_in(log: str) -> ErrorEvent | None:
    """The first error that it wrote of, None where it wrote of none."""
    match = _FAILED.search(log)
    if match is None:
        return None
    text = (
        match["query_text"] or match["connect_text"] or match["result_text"] or match["option_text"]
    ).strip()
    number = match["code"] or match["result_code"]
    code = int(number) if number else None
    kind, fault = next(((kind, fault) for words, kind, fault in BY_TEXT if words in text), (None, None))
    if match["option_text"] is not None:
        kind, fault = "internal", "client"
    elif kind is None or (match["query"] is not None and kind != "server_closed"):
        kind, fault = "server_error", "server"
    if match["query"] is not None:
        text = f"{text} (in {_shortened(match['query'])})"
    return failure(kind, fault or "server", text, code)


def _shortened(query: str) -> str:
    return query if len(query) <= _SHOWN_CHARACTERS else f"{query[:_SHOWN_CHARACTERS]}…"


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
        window=connections_alone(worked),
        lifetime=connections_alone(measured.connections_before + worked),
        histograms_ns={},
        cpu=measured.cpu,
        wire=None,
        errors=(),
        row_samples=(),
        reported_s=report.reported_s,
    )
