"""One run of a program that copies a server: held at a gate before it begins, let go, and ended.

The gate is a shell that becomes the program, so that the process which is watched is the program's own. It
connects after that. What it writes goes nowhere: to /dev/null, or into a folder in which each file that it
will write leads there; how much it was the kernel counts (proc(5), /proc/PID/io, wchar).
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tlstax.clients.adapter import Failed, Fault, Laboratory, failure, file_in_memory
from tlstax.clients.child import Child, started
from tlstax.clients.mysqlslap import child as of_mysql
from tlstax.clients.pgbench import child as of_libpq
from tlstax.clients.process import GATE
from tlstax.clients.streams import demand
from tlstax.clients.streams.received import (
    READERS,
    Holds,
    Incomplete,
    Looked,
    bytes_of_files,
    files_of_unpacked_backup,
)
from tlstax.clients.streams.relay import Relay
from tlstax.contract import ErrorEvent, ErrorKind, Job, TcpEndpoint
from tlstax.support.here import text_of

_WRITTEN = re.compile(r"^wchar: ([0-9]{1,20})$", re.MULTILINE)
_NOTICE = re.compile(
    r"^[a-z_]+: (?:error|fatal|Error|Got error)\b:? ?(?P<text>.*)$|^(?P<log>ERROR: .*)$", re.MULTILINE
)
_BY_TEXT: tuple[tuple[str, ErrorKind, Fault], ...] = (
    *of_mysql.BY_TEXT,
    *of_libpq.BY_TEXT,
    ("TLS/SSL error", "tls_handshake", "server"),
)
COPY = "finish its copy"


def failure_in(log: str) -> ErrorEvent | None:
    """The first error that a program complains of, None for none. Notices and warnings are none."""
    found = _NOTICE.search(log)
    if found is None:
        return None
    text = (found["text"] or found["log"] or "").strip()
    kind, fault = next(
        ((kind, fault) for words, kind, fault in _BY_TEXT if words in text), ("server_error", "server")
    )
    return failure(kind, fault, text)


class Copying(Child):
    """A program at its gate; leaving it ends its folder as well."""

    def __init__(  # noqa: PLR0913 (what it is told, by its names)
        self,
        name: str,
        program: Sequence[str],
        job: Job,
        laboratory: Laboratory,
        output: int | None = None,
        *,
        unpacks: bool = False,
    ) -> None:
        self._tool, self._terms = demand.TOOLS[name], job.stream
        has_folder = self._tool.writes_files or unpacks
        self._folder = TemporaryDirectory(prefix="tlstax-copy-") if has_folder else None
        self._keeps = output is not None
        if self._tool.writes_files:
            self._prepare(name)
        secrets = self._tool.secrets(job)
        descriptor = file_in_memory(secrets.text)
        variables, options = secrets.words(f"/proc/self/fd/{descriptor}")
        options_of = self._tool.unpacked if unpacks and self._tool.unpacked else self._tool.arguments
        arguments = options_of(job, self._folder.name if self._folder else "")
        process = started(
            [*GATE, *program, *options, *arguments],
            {**self._tool.environment(job), **variables},
            (descriptor,),
            stdout=subprocess.DEVNULL if output is None else output,
        )
        super().__init__(name, process, laboratory, failure_in)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self._folder is not None:
            self._folder.cleanup()

    def let_go(self) -> float:
        """Open its gate; the time before that (time.monotonic)."""
        now = time.monotonic()
        stdin = self._process.stdin
        if stdin is not None:
            stdin.write(b"go\n")
        return now

    def written_bytes(self) -> int:
        """What it has written, once it has ended. Failed where the kernel does not tell."""
        found = _WRITTEN.search(text_of(Path(f"/proc/{self.pid}/io")))
        if found is None:
            text = f"how much {self._name} has written is not known (/proc/PID/io cannot be read)"
            raise Failed(failure("internal", "client", text))
        return int(found[1])

    def files(self) -> Looked:
        """What came into its folder, if it was to be kept. Raises Incomplete."""
        if self._folder is None or self._terms is None:
            return {}, 0
        return bytes_of_files(Path(self._folder.name), self._terms.names)

    def unpacked_files(self) -> Looked:
        """What it has unpacked into its folder. Raises Incomplete."""
        return files_of_unpacked_backup(Path(self._folder.name if self._folder else ""))

    def _prepare(self, name: str) -> None:
        """What must lie in its folder: where the log begins, and where each of its files leads to."""
        folder = Path(self._folder.name) if self._folder else Path()
        names = self._terms.names if self._terms else ()
        if name == "pg-receivewal":
            # It goes on after the last segment that is whole, which it knows by its length alone.
            with (folder / demand.before(names[0])).open("wb") as segment:
                segment.truncate(demand.SEGMENT_BYTES)
        for each in () if self._keeps else names:
            partial = ".partial" if name == "pg-receivewal" else ""
            (folder / f"{each}{partial}").symlink_to(os.devnull)


class Before(NamedTuple):
    """What was copied before the window, by N runs: what the copy holds, its length, what was written.

    `received_bytes` is what crossed the wire from the server for one copy.
    """

    runs: int
    holds: Holds
    copy_bytes: int
    written: int
    received_bytes: int


def looked_through(name: str, program: Sequence[str], job: Job, laboratory: Laboratory) -> Before:
    """A copy before the window, as those of the window but for the way by which it comes. Failed.

    One that is compressed as it is written is looked through in another run, which unpacks it.
    """
    endpoint = job.endpoint
    if not isinstance(endpoint, TcpEndpoint):
        raise Failed(failure("bad_job", "job", "such a program is sent to its server over TCP alone"))
    unpacks = job.compression != "off" and demand.TOOLS[name].unpacked is not None
    try:
        unpacked = _unpacked(name, program, job, laboratory) if unpacks else None
        relay = Relay(endpoint, job.timeout_s)
        with relay.listening() as entry:
            by_relay = job.model_copy(update={"endpoint": entry})
            looked, written = _written(name, program, by_relay, laboratory, is_read=not unpacks)
    except Incomplete as incomplete:
        raise Failed(failure("rows_differ", "server", f"{name}: {incomplete}")) from None
    holds, length = unpacked or looked
    return Before(1 + unpacks, holds, length, written, relay.received_bytes)


def _unpacked(name: str, program: Sequence[str], job: Job, laboratory: Laboratory) -> Looked:
    with Copying(name, program, job, laboratory, unpacks=True) as copying:
        copying.let_go()
        copying.wait_for_end(job.timeout_s + job.duration_s, COPY)
        return copying.unpacked_files()


def _written(
    name: str, program: Sequence[str], job: Job, laboratory: Laboratory, *, is_read: bool
) -> tuple[Looked, int]:
    """What a run holds, if it is to be read, and how much it has written."""
    with ExitStack() as stack:
        output = stream = None
        if is_read:
            reader, output = os.pipe()
            stream = stack.enter_context(os.fdopen(reader, "rb"))
        try:
            copying = stack.enter_context(Copying(name, program, job, laboratory, output))
        finally:
            if output is not None:
                os.close(output)
        copying.let_go()
        looked = READERS[name](stream) if stream is not None and name in READERS else None
        copying.wait_for_end(job.timeout_s + job.duration_s, COPY)
        return looked or copying.files(), copying.written_bytes()
