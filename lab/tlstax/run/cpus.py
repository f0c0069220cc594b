"""Which CPUs a run begins with: as asked for, as they were in the run that is resumed, or by default."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from pathlib import Path

from tlstax.observers.machine import ROOT, available_cpus, describe_machine, split_as_asked
from tlstax.plan.cpu_shares import AskedCpus, Split
from tlstax.records.trial import Machine, RunHeader, StoredRun
from tlstax.run.resume import ANEW
from tlstax.support.errors import UserMistake
from tlstax.support.text import as_ranges


def machine_of(
    asked: AskedCpus,
    resumed: StoredRun | None = None,
    available: AbstractSet[int] | None = None,
    root: Path = ROOT,
) -> Machine:
    """The machine with its CPUs shared out; where a run is resumed that had a pilot, as they were then.

    UserMistake where CPUs were asked for that cannot be had so, and where those of then cannot be had.
    """
    cpus = available_cpus() if available is None else available
    header = resumed.header if resumed is not None else None
    if header is not None and header.machine.pilot is not None and not asked.is_any:
        described = describe_machine(cpus, root, _of_then(header, cpus))
        return described.model_copy(update={"pilot": header.machine.pilot})
    described = describe_machine(cpus, root, split_as_asked(asked, cpus, root))
    return described.model_copy(update={"cpus_asked_for": asked.is_any})


def _of_then(header: RunHeader, cpus: AbstractSet[int]) -> Split:
    split = Split(header.machine.server_cpus, header.machine.client_cpus)
    lacking = {*split.server_cpus, *split.client_cpus} - cpus
    if lacking:
        raise UserMistake(
            f"run {header.run} was begun with {split.words()} and is now without CPU {as_ranges(lacking)}",
            remedy=f"let it have them, or {ANEW}",
        )
    return split
