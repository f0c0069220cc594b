"""What to say to each driver, and which of them are connected: the lines of `programs.toml`. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Literal

from tlstax.contract import Frozen
from tlstax.results.inspection import Program

Topic = Literal["verify", "groups", "resumption", "pool"]

TOPICS: dict[Topic, str] = {
    "verify": "to verify the server",
    "groups": "P-256 first",
    "resumption": "to resume sessions",
    "pool": "to keep connections",
}


class ProgramLines(Frozen):
    """A kind of program: its drivers, how they name themselves, and what to say for each topic."""

    name: str
    drivers: tuple[str, ...]
    clients: tuple[str, ...]
    verify: str
    groups: str
    resumption: str
    pool: str

    def says(self, topic: Topic) -> str:
        """The line for a topic, behind whose it is."""
        return f"{self.name}: {getattr(self, topic)}"

    def is_of(self, program: Program) -> bool:
        """Whether a connected program names itself so."""
        return any(program.client.startswith(name) for name in self.clients)


@cache
def all_programs() -> tuple[ProgramLines, ...]:
    """Every kind, in the order of the file."""
    text = (resources.files("tlstax.stats") / "programs.toml").read_text(encoding="utf-8")
    return tuple(ProgramLines.model_validate(own) for own in tomllib.loads(text)["programs"])


def connected(programs: Iterable[Program]) -> tuple[ProgramLines, ...]:
    """The kinds of which somebody is connected, as far as they name themselves."""
    known = tuple(programs)
    return tuple(own for own in all_programs() if any(own.is_of(program) for program in known))
