"""A bench of libraries, readable in one function: libraries → certificates → blocks → instructions."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tlstax import __version__
from tlstax.observers.turn import turn
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.results.document import RunDocument
from tlstax.run.pilot import machine_of
from tlstax.specimens import certificates
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.fault import Fault
from tlstax.specimens.sessions import open_session
from tlstax.support.errors import Interrupted, MachineFault
from tlstax.tools.librarybench import counting
from tlstax.tools.librarybench.measure import Contestant, Workplace, described, loadable, measure
from tlstax.tools.librarybench.order import Sitting, blocks
from tlstax.tools.librarybench.program import DEFAULT_KEY
from tlstax.tools.librarybench.records import Instructions, Locks, Run, Status, Turns
from tlstax.tools.librarybench.subjects import Subject
from tlstax.tools.probes.watcher import Watcher


@dataclass(frozen=True)
class Request:
    """What is to be compared, for how long. All libraries are compared with the first, itself among them.

    `seed` is None for a random one. With `instructions` those of every operation are counted as well, and
    with a `lock_counter` its locks, after the budget. `beside` is the run that they are set beside.
    """

    contestants: tuple[Contestant, ...]
    subjects: tuple[Subject, ...]
    budget_s: float
    seed: int | None = None
    instructions: bool = False
    lock_counter: Fault | None = None
    beside: RunDocument | None = None
    cpus: AskedCpus = field(default_factory=AskedCpus)
    beside_others: bool = False


def run(request: Request, watcher: Watcher) -> Run:
    """Compare the libraries, and give back what was measured. MachineFault where nothing could be.

    Ctrl-C ends it in order, and so does a failure: a subject that all libraries have had turns at is kept.
    """
    counter = counting.valgrind() if request.instructions else ""
    machine = machine_of(request.cpus)
    with open_session() as session, turn(watcher.warn, beside_others=request.beside_others) as mine:
        watcher.step("making certificates")
        place = Workplace(
            contestants=request.contestants,
            subjects=request.subjects,
            certificates=_certificates(session.new_directory(), request.subjects),
            cpu=machine.client_cpus[0] if machine.client_cpus else None,
        )
        there = loadable(place, watcher.warn)
        place = replace(place, contestants=(*there, there[0].again()))
        libraries = described(place)
        begun = Run(
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            tlstax_version=__version__,
            seed=secrets.randbelow(2**32) if request.seed is None else request.seed,
            budget_s=request.budget_s,
            machine=machine.model_copy(update={"server_cpus": (), "client_cpus": ()}),
            cpu=place.cpu,
            subjects=request.subjects,
            libraries=libraries,
            specimens=tuple(each.library.specimen for each in there if each.library is not None),
            beside=request.beside,
            counted_by=counter,
        )
        found = _Found()
        status, why = _to_its_end(request, begun, place, found, watcher)
        return begun.model_copy(
            update={
                "turns": tuple(found.turns),
                "instructions": tuple(found.instructions),
                "locks": tuple(found.locks),
                "status": status,
                "why": why,
                "beside_another": mine.others(),
            }
        )


@dataclass(frozen=True)
class _Found:
    """What has been measured so far."""

    turns: list[Turns] = field(default_factory=list)
    instructions: list[Instructions] = field(default_factory=list)
    locks: list[Locks] = field(default_factory=list)


def _to_its_end(
    request: Request, begun: Run, place: Workplace, found: _Found, watcher: Watcher
) -> tuple[Status, str]:
    """Fills what is found, and says how it ended. MachineFault where not one block was complete."""
    try:
        _measure(begun, place, found.turns, watcher)
        if request.lock_counter is not None:
            found.locks.extend(
                counting.count_locks(place, begun.libraries, request.lock_counter, watcher.step)
            )
        if begun.counted_by:
            found.instructions.extend(counting.count_instructions(place, begun.libraries, watcher.step))
    except Interrupted:
        return "interrupted", "Ctrl-C or a signal ended it"
    except MachineFault as fault:
        if not found.turns:
            raise
        return "failed", fault.message
    return "complete", ""


def _measure(begun: Run, place: Workplace, turns: list[Turns], watcher: Watcher) -> None:
    """Block after block, as long as one more is likely to fit the budget, and at least one."""
    started_s = time.monotonic()

    def begins(sitting: Sitting) -> None:
        spent_s = time.monotonic() - started_s
        left_s = max(0.0, begun.budget_s - spent_s)
        label = begun.subjects[sitting.subject].label
        share = spent_s / (spent_s + left_s)
        watcher.now(f"block {sitting.block + 1}: {label}", share=share, left_s=left_s)

    for number, block in enumerate(blocks(begun.subjects, len(begun.libraries), begun.seed), start=1):
        turns.extend(measure(block, place, begun.libraries, begins))
        spent_s = time.monotonic() - started_s
        if spent_s + spent_s / number > begun.budget_s:
            return


def _certificates(directory: Path, subjects: Sequence[Subject]) -> dict[str, Certificates]:
    """A certificate of every kind that is used, each with its authority."""
    kinds = {subject.certificate for subject in subjects if subject.certificate} | {DEFAULT_KEY}
    found = {}
    for kind in sorted(kinds):
        of_kind = directory / kind
        of_kind.mkdir(mode=0o700)
        found[kind] = certificates.issue(of_kind, certificates.requested(kind))
    return found
