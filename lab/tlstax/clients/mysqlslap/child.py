"""A mysqlslap process: held at a gate before and after every round, listened to, and ended.

mysqlslap runs a command of the user's before and after each of its rounds (--pre-system, --post-system),
outside its own clock. Ours says a word and waits for an answer, so that the process stands still in between,
with no statement in flight. What it prints itself it keeps until its end (stdio, to a pipe), so its standard
output carries the gates' words first. Events are made of what it says.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tlstax.clients.adapter import Failed, Fault, Laboratory, done_untold, failure, file_in_memory
from tlstax.clients.child import Child, started
from tlstax.clients.mysqlslap.demand import QueryFile
from tlstax.contract import CpuTime, Done, ErrorEvent, ErrorKind, Job

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
    worked = job.connections * job.rounds
    return done_untold(
        own_s if report.reported_s["minimum"] >= RESOLUTION_S else measured.gate_to_gate_s,
        given.operations * worked,
        (worked, measured.connections_before + worked),
        measured.cpu,
        reported_s=report.reported_s,
    )


BEGIN, END = "tlstax-round-begins", "tlstax-round-ends"
_GATES = (f"--pre-system=echo {BEGIN} && read -r go", f"--post-system=echo {END} && read -r go")

END_S = 10.0


@dataclass(frozen=True)
class Launch:
    """How mysqlslap is to be started: its command line, its option file, and what it says.

    `queries` are what its connections say, `reset` what the main one says before each round.
    """

    program: Sequence[str]
    arguments: Sequence[str]
    options: str = field(repr=False)
    queries: Sequence[str]
    reset: Sequence[str] = ()


class Mysqlslap(Child):
    """A running mysqlslap.

    The account and the statements lie in memory (memfd_create(2)): a password must be on no command line and
    in no file of the disk, and a client that is killed leaves nothing behind.
    """

    def __init__(self, launch: Launch, laboratory: Laboratory) -> None:
        files = {name: file_in_memory(text) for name, text in _texts(launch).items()}
        paths = {name: f"/proc/self/fd/{descriptor}" for name, descriptor in files.items()}
        command = [
            *launch.program,
            f"--defaults-file={paths.pop('defaults-file')}",
            *launch.arguments,
            *(f"--{name}={path}" for name, path in paths.items()),
            *_GATES,
        ]
        # A gate that still waits at the end ends with its standard input.
        environment = {**os.environ, "OPENSSL_CONF": os.devnull, "LC_ALL": "C"}
        process = started(command, environment, tuple(files.values()))
        super().__init__("mysqlslap", process, laboratory, failure_in)

    def wait_for(self, word: str, within_s: float, doing: str) -> float:
        """Return when a gate has sent this word: the time (time.monotonic). Failed, LaboratoryGone."""
        self.listen(lambda: self._has_said(word), within_s, doing)
        return time.monotonic()

    def pass_gate(self) -> float:
        """Let it go on; the time before that."""
        now = time.monotonic()
        stdin = self._process.stdin
        if stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                stdin.write(b"go\n")
        return now

    def report(self) -> Report:
        """What it prints at its end, once it has ended; its clocks can still be read then. Failed."""
        self.wait_for_end(END_S, "end")
        found = report_in(self._printed)
        if found is None:
            raise Failed(self.death(self._process.wait()))
        return found

    def _has_said(self, word: str) -> bool:
        line, end, rest = self._printed.partition("\n")
        if not end or line != word:
            return False
        self._printed = rest
        return True


def _texts(launch: Launch) -> dict[str, str]:
    """The files that it is given, by the option that names each."""
    texts = {"defaults-file": launch.options, "query": _lines(launch.queries)}
    return {**texts, "pre-query": _lines(launch.reset)} if launch.reset else texts


def _lines(statements: Sequence[str]) -> str:
    return "".join(f"{statement}\n" for statement in statements)
