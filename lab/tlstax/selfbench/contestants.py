"""Which contestants are available on this machine, and how each is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tlstax.clients.engine import engine_command, engine_specimen
from tlstax.clients.floor import floor_command, floor_specimen
from tlstax.clients.sysbench import sysbench_command, sysbench_specimen
from tlstax.records.trial import Specimen
from tlstax.selfbench.plan import Contestant
from tlstax.selfbench.records import Absence
from tlstax.support.errors import MachineFault

Say = Callable[[str], None]

Source = tuple[Callable[[Say], list[str]], Callable[[Say], Specimen]]
"""Gives the command of a contestant, which is fetched if it must be, and what it is; raises MachineFault."""

RIVALS: dict[Contestant, Source] = {
    "sysbench": (sysbench_command, sysbench_specimen),
    "floor": (lambda _: floor_command(), lambda _: floor_specimen()),
}


@dataclass(frozen=True)
class Contestants:
    """The command of each contestant that is available, what they are, and who is missing."""

    commands: dict[Contestant, list[str]]
    specimens: tuple[Specimen, ...]
    absent: tuple[Absence, ...]


def find(say: Say, rivals: Mapping[Contestant, Source] = RIVALS) -> Contestants:
    """Look for all of them; who is missing is named once, with the reason.

    MachineFault when the engine has not been built: without it there is nothing to compare.
    """
    commands: dict[Contestant, list[str]] = {"engine": engine_command()}
    specimens = [engine_specimen()]
    absent = []
    for name, (command, specimen) in rivals.items():
        try:
            commands[name] = command(say)
            specimens.append(specimen(say))
        except MachineFault as fault:
            commands.pop(name, None)
            absent.append(Absence(contestant=name, why=fault.message))
            say(f"no {name} to compare with: {fault.sentence()}")
    return Contestants(commands, tuple(specimens), tuple(absent))
