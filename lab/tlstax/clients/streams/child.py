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
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from tlstax.clients.adapter import Failed, Fault, Laboratory, failure, file_in_memory
from tlstax.clients.child import Child
from tlstax.clients.mysqlslap import child as of_mysql
from tlstax.clients.pgbench import child as of_libpq
from tlstax.clients.process import GATE
from tlstax.clients.streams import demand
from tlstax.clients.streams.received import READERS, Holds, Incomplete, Looked, bytes_of_files
from tlstax.contract import ErrorEvent, ErrorKind, Job
from tlstax.observers.process import CpuReading, read_cpu
from tlstax.specimens.processes import mortal

_WRITTEN = re.compile(r"^wchar: ([0-9]{1,20})$", re.MULTILINE)
_NOTICE = re.compile(
    r"^[a-z_]+: (?:error|fatal|Error|Got error)\b:? ?(?P<text>.*)$|^(?P<log>ERROR: .*)$", re.MULTILINE
)
_BY_TEXT: tuple[tuple[str, ErrorKind, Fault], ...] = (
    *of_mysql.BY_TEXT,
    *of_libpq.BY_TEXT,
    ("TLS/SSL error", "tls_handshake", "server"),
)
SETTLES_S = 2.0


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
    """A program at its gate. Use as a context manager; leaving it ends the process and its folder."""

    def __init__(
        self, name: str, program: Sequence[str], job: Job, laboratory: Laboratory, output: int | None = None
    ) -> None:
        self._tool, self._terms = demand.TOOLS[name], job.stream
        self._folder = TemporaryDirectory(prefix="tlstax-copy-") if self._tool.writes_files else None
        self._keeps = output is not None
        if self._folder is not None:
            self._prepare(name)
        secrets = self._tool.secrets(job)
        descriptor = file_in_memory(secrets.text)
        variables, options = secrets.words(f"/proc/self/fd/{descriptor}")
        arguments = self._tool.arguments(job, self._folder.name if self._folder else "")
        try:
            process = subprocess.Popen(
                mortal([*GATE, *program, *options, *arguments]),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL if output is None else output,
                stderr=subprocess.PIPE,
                env={**self._tool.environment(job), **variables},
                pass_fds=(descriptor,),
                bufsize=0,
            )
        finally:
            os.close(descriptor)
        super().__init__(name, process, laboratory, failure_in)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stderr):
            if pipe is not None:
                pipe.close()
        if self._folder is not None:
            self._folder.cleanup()

    def let_go(self) -> float:
        """Open its gate; the time before that (time.monotonic)."""
        now = time.monotonic()
        stdin = self._process.stdin
        if stdin is not None:
            stdin.write(b"go\n")
        return now

    def wait_for_end(self, within_s: float) -> float:
        """Return when it has copied all and ended; its clocks can still be read. The time of its end.

        Failed where it complains, or ends otherwise than well.
        """
        self.listen(lambda: self.is_over, within_s, "finish its copy")
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        now = time.monotonic()
        if ended is None or ended.si_status != 0:
            raise Failed(self.death(self._process.wait()))
        return now

    def cpu(self) -> CpuReading | None:
        """Its CPU time so far, after its end as well."""
        return read_cpu(self.pid)

    def written_bytes(self) -> int:
        """What it has written, once it has ended. Failed where the kernel does not tell."""
        try:
            found = _WRITTEN.search(Path(f"/proc/{self.pid}/io").read_text(encoding="ascii"))
        except OSError:
            found = None
        if found is None:
            text = f"how much {self._name} has written is not known (/proc/PID/io cannot be read)"
            raise Failed(failure("internal", "client", text))
        return int(found[1])

    def files(self) -> Looked:
        """What came into its folder, if it was to be kept. Raises Incomplete."""
        if self._folder is None or self._terms is None:
            return {}, 0
        return bytes_of_files(Path(self._folder.name), self._terms.names)

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


def looked_through(
    name: str, program: Sequence[str], job: Job, laboratory: Laboratory
) -> tuple[Holds, int, int]:
    """A copy before the window: what it holds, its length, and what the program has written. Failed."""
    reader, writer = os.pipe()
    try:
        with os.fdopen(reader, "rb") as stream:
            try:
                copying = Copying(name, program, job, laboratory, writer)
            finally:
                os.close(writer)
            with copying:
                copying.let_go()
                looked = READERS[name](stream) if name in READERS else None
                copying.wait_for_end(job.timeout_s + job.duration_s)
                holds, length = looked or copying.files()
                return holds, length, copying.written_bytes()
    except Incomplete as incomplete:
        raise Failed(failure("rows_differ", "server", f"{name}: {incomplete}")) from None
