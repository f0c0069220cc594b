"""A pgbench process: held at its gate with all connections made, let go, listened to, and ended."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tlstax.clients.adapter import Failed, Fault, Laboratory, failure, file_in_memory
from tlstax.clients.child import READ_BYTES, Child, started
from tlstax.contract import ErrorEvent, ErrorKind

NOTICE = re.compile(r"^pgbench: (?:error|fatal): (.*)$", re.MULTILINE)

BY_TEXT: tuple[tuple[str, ErrorKind, Fault], ...] = (
    ("password authentication failed", "access_denied", "server"),
    ("no pg_hba.conf entry", "access_denied", "server"),
    ("server does not support SSL", "no_tls", "server"),
    ("root certificate file", "certificate", "job"),
    ("private key file", "certificate", "job"),
    ("certificate", "certificate", "server"),
    ("SSL error", "tls_handshake", "server"),
    ("could not translate host name", "resolve", "network"),
    ("Connection refused", "connect", "network"),
    ("No such file or directory", "connect", "network"),
    ("timeout expired", "timeout", "network"),
    ("server closed the connection", "server_closed", "server"),
    ("too many clients", "server_error", "server"),
    ("ERROR: ", "server_error", "server"),
    ("FATAL: ", "server_error", "server"),
)
"""Words of libpq and of the server, and what they mean; the first that is found counts."""


@dataclass(frozen=True)
class Launch:
    """How pgbench is to be started. `password_file` and `script` are texts.

    `firsts` are the first clients of its threads, which stop at the gate.
    """

    program: Sequence[str]
    arguments: Sequence[str]
    environment: Mapping[str, str]
    password_file: str = field(repr=False)
    script: str
    firsts: Sequence[int]


@dataclass(frozen=True)
class Report:
    """What pgbench prints at its end: how many clients it had, and what they did."""

    clients: int
    operations: int


_CLIENTS = re.compile(r"^number of clients: ([0-9]{1,9})$", re.MULTILINE)
_OPERATIONS = re.compile(r"^number of transactions actually processed: ([0-9]{1,12})(?:/|$)", re.MULTILINE)


def report_in(printed: str) -> Report | None:
    """The report, None where a line of it is missing."""
    clients, operations = _CLIENTS.search(printed), _OPERATIONS.search(printed)
    return Report(int(clients[1]), int(operations[1])) if clients and operations else None


def failure_in(log: str) -> ErrorEvent | None:
    """The first error that it wrote of, None where it wrote of none."""
    said = NOTICE.search(log)
    if said is None:
        return None
    text = " ".join(said[1].split())
    known = ((kind, fault) for words, kind, fault in BY_TEXT if words in text)
    kind, fault = next(known, ("internal", "client"))
    return failure(kind, fault, text)


class Pgbench(Child):
    """A running pgbench.

    The password and the script lie in memory (memfd_create(2)): a password must be on no command line and in
    no file of the disk, and a client that is killed leaves nothing behind. libpq reads a password file that
    belongs to its user alone.
    """

    def __init__(self, launch: Launch, laboratory: Laboratory) -> None:
        self._firsts, self._is_open, self._here = launch.firsts, False, ""
        (waiting, self._gate), (arrivals, here) = os.pipe(), os.pipe()
        password = file_in_memory(launch.password_file)
        script = file_in_memory(_gate(launch.firsts, waiting, here) + launch.script)
        inherited = (password, script, waiting, here)
        process = started(
            [*launch.program, *launch.arguments, "--define=gate=1", f"--file=/proc/self/fd/{script}"],
            {**launch.environment, "PGPASSFILE": f"/proc/self/fd/{password}"},
            inherited,
            stdin=subprocess.DEVNULL,
        )
        self._arrivals = os.fdopen(arrivals, "rb", buffering=0)
        super().__init__("pgbench", process, laboratory, failure_in)
        self.heard[arrivals] = self._take_arrival

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.open_gate()
        self._arrivals.close()

    def wait_at_gate(self, within_s: float) -> None:
        """Return when every thread stands at its gate. Failed, LaboratoryGone."""
        self.listen(lambda: self._here.count("\n") == len(self._firsts), within_s, "connect")

    def open_gate(self) -> float:
        """Let it go on; the time before that (time.monotonic)."""
        now = time.monotonic()
        if not self._is_open:
            os.close(self._gate)
            self._is_open = True
            del self.heard[self._arrivals.fileno()]
        return now

    def report(self) -> Report:
        """What it printed at its end. Failed where that is no report."""
        found, status = report_in(self._printed), self._process.wait()
        if found is None:
            raise Failed(self.death(status))
        return found

    def _take_arrival(self) -> None:
        self._here += os.read(self._arrivals.fileno(), READ_BYTES).decode("ascii", "replace")


def _gate(firsts: Sequence[int], waiting: int, here: int) -> str:
    """What a script begins with: a gate at which each thread stops once, with all connections made.

    The first client of a thread starts a shell, which says that it is there, and its thread stands still
    until that shell's input ends. From then on each operation looks at one variable, and no more.
    """
    is_first = " or ".join(f":client_id = {client}" for client in firsts)
    stop = f"echo here >/proc/self/fd/{here}; read -r go </proc/self/fd/{waiting}; echo 1"
    lines = (
        r"\if :gate",
        rf"\if {is_first}",
        rf"\setshell gone {stop}",
        r"\endif",
        r"\set gate 0",
        r"\endif",
    )
    return "".join(f"{line}\n" for line in lines)
