"""The program that measures one library, as a child process: its subjects go in, slices come out."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import TypeAdapter, ValidationError

from tlstax.clients.engine import tool_command
from tlstax.clients.program import LineProgram, ProgramFailure
from tlstax.specimens.certificates import Certificates
from tlstax.support.plain_words import plain
from tlstax.tools.librarybench.records import Error, Order, Ready, Said, Slice
from tlstax.tools.librarybench.subjects import CIPHERS, Subject

_SAID: TypeAdapter[Ready | Slice | Error] = TypeAdapter(Said)

READY_S, SPARE_S, COUNTED_S = 60.0, 30.0, 600.0
"""How long setting up may take, a slice longer than was ordered, and a number of operations under a tool."""

GRACE_S, COUNTED_GRACE_S = 2.0, 30.0
"""How long it may take to end, and under a tool that writes what it counted at its end."""


@dataclass(frozen=True)
class LibraryJob:
    """What is measured of which library; `libssl` is None for the machine's own.

    `lock_page` is where the program is to say for which side it works, where locks are counted.
    """

    libssl: Path | None
    subjects: tuple[Subject, ...]
    certificates: Mapping[str, Certificates]
    lock_page: Path | None = None

    def line(self) -> bytes:
        """In the program's words (engine/crates/library_bench/src/messages.rs)."""
        job = {
            "library": str(self.libssl) if self.libssl is not None else None,
            "subjects": [_asked(subject, self.certificates) for subject in self.subjects],
            "lock_page": str(self.lock_page) if self.lock_page is not None else None,
        }
        return json.dumps(job).encode() + b"\n"


class Bench:
    """One library's program. Use as a context manager; raises ProgramFailure where it does not do its work.

    `cpu` is the processor that it is bound to, None for any. `command` starts the program where that is to
    run under a tool.
    """

    def __init__(self, job: LibraryJob, *, cpu: int | None = None, command: Sequence[str] = ()) -> None:
        self._job = job
        self._grace_s = GRACE_S if not command else COUNTED_GRACE_S
        self._program = LineProgram([*command, *tool_command("library-bench")], "the library's program")
        if cpu is not None:
            os.sched_setaffinity(self._program.pid, {cpu})

    def __enter__(self) -> Self:
        self._program.send(self._job.line())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._program.close(self._grace_s)

    def wait_ready(self) -> Ready:
        """What is loaded, and which subjects it can do."""
        said = self._next(READY_S)
        if not isinstance(said, Ready):
            raise ProgramFailure("the library's program measured before it was ready")
        return said

    def slice(self, order: Order) -> Slice:
        """Have it work, and give back what it did."""
        self._program.send(order.model_dump_json(exclude_none=True).encode() + b"\n")
        said = self._next(COUNTED_S if order.operations is not None else order.length_s + SPARE_S)
        if not isinstance(said, Slice):
            raise ProgramFailure("the library's program was ready twice")
        return said

    def _next(self, within_s: float) -> Ready | Slice:
        line = self._program.next_line(time.monotonic() + within_s)
        try:
            said = _SAID.validate_json(line)
        except ValidationError as error:
            raise ProgramFailure(
                f"the library's program was not understood: {plain(error.errors()[0]['msg'])}"
            ) from None
        if isinstance(said, Error):
            raise ProgramFailure(said.message)
        return said


def _asked(subject: Subject, certificates: Mapping[str, Certificates]) -> dict[str, object]:
    if subject.kind == "exchange":
        return {"kind": "exchange", "group": subject.group}
    files = certificates[subject.certificate or DEFAULT_KEY]
    if subject.kind == "signature":
        return {"kind": "signature", "key_file": str(files.key_file)}
    version = subject.version or "1.3"
    ends = {
        "version": version,
        "cipher": CIPHERS[subject.cipher][version] if subject.cipher else None,
        "group": subject.group or DEFAULT_GROUP,
        "ca_file": str(files.ca_file),
        "certificate_file": str(files.certificate_file),
        "key_file": str(files.key_file),
    }
    if subject.kind == "record":
        return {"kind": "record", "ends": ends, "size_bytes": subject.size_bytes}
    return {
        "kind": "handshake",
        "ends": ends,
        "resumed": subject.resumed,
        "fresh_context": subject.fresh_context,
    }


DEFAULT_KEY, DEFAULT_GROUP = "rsa-2048", "P-256"
"""Of connections that carry records: they make no difference to those."""
