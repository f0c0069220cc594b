"""A block of a bench: every library's program is started anew, and they take turns subject by subject."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError

from tlstax.clients.engine import tool_command
from tlstax.clients.process import LineProgram, ProgramFailure
from tlstax.observers import process
from tlstax.run.block import undisturbed
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.server_build import TlsLibrary
from tlstax.support import interruption
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import plain
from tlstax.tools.librarybench.subjects import (
    CIPHERS,
    SLICE_S,
    Error,
    Library,
    Order,
    Ready,
    Said,
    Sitting,
    Slice,
    Subject,
    Turns,
)

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

    def __exit__(self, *_: object) -> None:
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


@dataclass(frozen=True)
class Contestant:
    """A library by the name that the user knows; None is the machine's own."""

    name: str
    library: TlsLibrary | None

    @property
    def libssl(self) -> Path | None:
        """The file that is loaded."""
        return self.library.libssl if self.library is not None else None

    def again(self) -> Contestant:
        """The same once more, as a control: what differs between the two is chance."""
        return replace(self, name=f"{self.name} again")


@dataclass(frozen=True)
class Workplace:
    """What is measured with what, on which processor (None: any)."""

    contestants: tuple[Contestant, ...]
    subjects: tuple[Subject, ...]
    certificates: Mapping[str, Certificates]
    cpu: int | None

    def start(self, contestant: Contestant) -> Bench:
        """The contestant's program, with all subjects."""
        job = LibraryJob(contestant.libssl, self.subjects, self.certificates)
        return Bench(job, cpu=self.cpu)


def loadable(place: Workplace, warn: Callable[[str], None]) -> tuple[Contestant, ...]:
    """The contestants that can be loaded here; `warn` hears of each other. MachineFault where none can be."""
    found, why = [], ""
    for contestant in place.contestants:
        interruption.check()
        try:
            with place.start(contestant) as bench:
                bench.wait_ready()
        except ProgramFailure as failure:
            why = why or f"{contestant.name}: {failure}"
            warn(f"{contestant.name} is left out, since it cannot be loaded here: {failure}")
        else:
            found.append(contestant)
    if not found:
        raise MachineFault(f"no library can be loaded here ({why})", remedy="name others with --library")
    return tuple(found)


def described(place: Workplace) -> tuple[Library, ...]:
    """Every library as it proves to be once it is loaded. MachineFault where one cannot be measured."""
    found = []
    for contestant in place.contestants:
        interruption.check()
        try:
            with place.start(contestant) as bench:
                library = _shown(contestant, bench.wait_ready())
                _check_claim(contestant, library)
                found.append(library)
        except ProgramFailure as failure:
            raise MachineFault(f"{contestant.name} cannot be measured: {failure}") from None
    return tuple(found)


def measure(
    block: Sequence[Sitting],
    place: Workplace,
    libraries: Sequence[Library],
    begins: Callable[[Sitting], None],
) -> Iterator[Turns]:
    """The turns of a block, sitting after sitting: each is whole in itself, whatever becomes of the next.

    MachineFault where a program fails, or has another library.
    """
    with ExitStack() as stack:
        benches = []
        try:
            for contestant, library in zip(place.contestants, libraries, strict=True):
                bench = stack.enter_context(place.start(contestant))
                if _shown(contestant, bench.wait_ready()) != library:
                    raise MachineFault(
                        f"{contestant.name} is not the library any more that it was at the start"
                    )
                benches.append(bench)
            for sitting in block:
                yield _take_turns(sitting, benches, libraries, begins)
        except ProgramFailure as failure:
            raise MachineFault(f"a library's program failed: {failure}") from None


def _take_turns(
    sitting: Sitting,
    benches: Sequence[Bench],
    libraries: Sequence[Library],
    begins: Callable[[Sitting], None],
) -> Turns:
    begins(sitting)
    order = Order(subject=sitting.subject, length_s=SLICE_S)
    slices: list[list[Slice]] = [[] for _ in benches]
    with undisturbed():
        for places in sitting.rounds:
            interruption.check()
            for place in places:
                if libraries[place].subjects[sitting.subject] is not None:
                    slices[place].append(benches[place].slice(order))
    return Turns(sitting=sitting, slices=tuple(map(tuple, slices)))


def _shown(contestant: Contestant, ready: Ready) -> Library:
    """The library as its process shows it, where the files must be mapped that were asked for."""
    sums = {mapped.path: mapped.sha256 for mapped in process.mapped_tls_libraries(ready.pid)}
    if set(sums) != {ready.libssl, ready.libcrypto}:
        raise MachineFault(
            f"{contestant.name}: {', '.join(sorted(sums)) or 'no library'} is mapped, and not "
            f"{ready.libssl} and {ready.libcrypto}"
        )
    found = sums[ready.libssl], sums[ready.libcrypto]
    return Library(
        name=contestant.name,
        version=ready.version,
        libssl_sha256=found[0],
        libcrypto_sha256=found[1],
        subjects=tuple(prepared.ready for prepared in ready.subjects),
        refused=tuple(prepared.refused for prepared in ready.subjects),
    )


def _check_claim(contestant: Contestant, library: Library) -> None:
    """MachineFault where what is mapped is not the specimen. Blocks are held against what was found here."""
    if contestant.library is None:
        return
    claim = contestant.library.claim()
    if (library.libssl_sha256, library.libcrypto_sha256) != (claim.libssl_sha256, claim.libcrypto_sha256):
        raise MachineFault(f"{contestant.name}: the files that are mapped are not the specimen's")
