"""Instructions of an operation, counted by callgrind: the same on every run, to a fraction of a per cent.

The program runs on a simulated processor, and callgrind counts within the one function that does the work:
loading and setting up are no part of it. Valgrind's processor has AES-NI and AVX2 and no AVX-512, so that
libraries take the way that they take on such a one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tlstax.clients.program import ProgramFailure
from tlstax.librarybench.measure import Contestant, Workplace
from tlstax.librarybench.messages import Order
from tlstax.librarybench.program import Bench, LibraryJob
from tlstax.librarybench.records import Instructions, Library
from tlstax.support import interruption
from tlstax.support.errors import MachineFault, UserMistake

OPERATIONS = 64
"""How many are done: random numbers make one handshake longer than another."""

WITHIN = "tlstax_library_bench::slice"
"""The program's function that does what is ordered (engine/crates/library_bench/src/main.rs)."""

_TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def tool() -> str:
    """The counter's name and version, such as "valgrind-3.24.0". UserMistake where there is none."""
    program = shutil.which("valgrind")
    if program is None:
        raise UserMistake(
            "--instructions: valgrind is not on the PATH",
            remedy="install valgrind, or leave --instructions out",
        )
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "valgrind"


def count(
    place: Workplace, libraries: Sequence[Library], say: Callable[[str], None]
) -> Iterator[Instructions]:
    """Those of every subject that each library can do. MachineFault where a program fails."""
    for number, subject in enumerate(place.subjects):
        # The last is the first again, whose instructions are the same.
        for which, contestant in enumerate(place.contestants[:-1]):
            if libraries[which].subjects[number] is None:
                continue
            interruption.check()
            say(f"counting the instructions of {contestant.name}: {subject.label}")
            yield Instructions(
                subject=number, library=which, per_operation=_per_operation(place, contestant, number)
            )


def _per_operation(place: Workplace, contestant: Contestant, number: int) -> float:
    """Instructions of one operation, both sides together."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind.out"
        command = (
            "valgrind",
            "--tool=callgrind",
            f"--toggle-collect={WITHIN}",
            f"--callgrind-out-file={out}",
            "--quiet",
        )
        job = LibraryJob(contestant.libssl, (place.subjects[number],), place.certificates)
        try:
            with Bench(job, command=command) as bench:
                bench.wait_ready()
                done = bench.slice(Order(subject=0, operations=OPERATIONS))
        except ProgramFailure as failure:
            raise MachineFault(f"{contestant.name} under valgrind: {failure}") from None
        found = _TOTAL.search(out.read_text(encoding="utf-8", errors="replace")) if out.is_file() else None
    if found is None or not int(found[1]):
        raise MachineFault(f"valgrind counted nothing of {contestant.name}")
    return int(found[1]) / done.operations
