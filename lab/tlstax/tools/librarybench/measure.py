"""A block: every library's program is started anew, and they take turns subject by subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tlstax.clients.program import ProgramFailure
from tlstax.observers import process
from tlstax.run.interleaved import undisturbed
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.tls_library import TlsLibrary
from tlstax.support import interruption
from tlstax.support.errors import MachineFault
from tlstax.tools.librarybench.order import SLICE_S, Sitting
from tlstax.tools.librarybench.program import Bench, LibraryJob
from tlstax.tools.librarybench.records import Library, Order, Ready, Slice, Turns
from tlstax.tools.librarybench.subjects import Subject


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


def able(place: Workplace, libraries: Sequence[Library]) -> Iterator[tuple[int, int, Contestant]]:
    """Every subject with every library that can do it, both by their places, without the control."""
    for number in range(len(place.subjects)):
        for which, contestant in enumerate(place.contestants[:-1]):
            if libraries[which].subjects[number] is not None:
                yield number, which, contestant


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
