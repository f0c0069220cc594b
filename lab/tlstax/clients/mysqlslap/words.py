"""What mysqlslap prints: the times of its rounds, and what went wrong, in the contract's words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tlstax.clients.adapter import Fault, failure
from tlstax.contract import ErrorEvent, ErrorKind

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

_BY_TEXT: tuple[tuple[str, ErrorKind, Fault], ...] = (
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
    kind, fault = next(((kind, fault) for words, kind, fault in _BY_TEXT if words in text), (None, None))
    if match["option_text"] is not None:
        kind, fault = "internal", "client"
    elif kind is None or (match["query"] is not None and kind != "server_closed"):
        kind, fault = "server_error", "server"
    if match["query"] is not None:
        text = f"{text} (in {_shortened(match['query'])})"
    return failure(kind, fault or "server", text, code)


def death(status: int, log: str) -> ErrorEvent:
    """The end of a mysqlslap that should still run."""
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    last = log.strip().splitlines()[-1:]
    return failure_in(log) or failure("internal", "client", ": ".join([f"mysqlslap {how}", *last]))


def _shortened(query: str) -> str:
    return query if len(query) <= _SHOWN_CHARACTERS else f"{query[:_SHOWN_CHARACTERS]}…"
