"""What to say to each driver, and which of them are connected: the lines of two files, one a family. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Literal

from tlstax.contract import Frozen
from tlstax.results.inspection import Program
from tlstax.study.product import Family

Topic = Literal["verify", "groups", "resumption", "direct", "pool"]

TOPICS: dict[Family, dict[Topic, str]] = {
    "mysql": {
        "verify": "to verify the server",
        "groups": "P-256 first",
        "resumption": "to resume sessions",
        "pool": "to keep connections",
    },
    "postgresql": {
        "verify": "to verify the server",
        "groups": "P-256 first",
        "direct": "to begin TLS at once",
        "pool": "to keep connections",
    },
}
"""What there is to say to the drivers of each family."""

FILES: dict[Family, str] = {"mysql": "programs.toml", "postgresql": "postgresql_programs.toml"}


class ProgramLines(Frozen):
    """A kind of program: its drivers, how they name themselves, and what to say for each topic.

    PostgreSQL's resume no sessions, and MySQL's cannot begin TLS at once: that line is empty.
    """

    name: str
    drivers: tuple[str, ...]
    clients: tuple[str, ...]
    verify: str
    groups: str
    pool: str
    resumption: str = ""
    direct: str = ""

    def says(self, topic: Topic) -> str:
        """The line for a topic, behind whose it is."""
        return f"{self.name}: {getattr(self, topic)}"

    def is_of(self, program: Program) -> bool:
        """Whether a connected program names itself so: to PostgreSQL by the application's name alone."""
        named = program.client or program.program
        return any(named.startswith(name) for name in self.clients)


@cache
def all_programs(family: Family = "mysql") -> tuple[ProgramLines, ...]:
    """Every kind of this family, in the order of the file."""
    text = (resources.files("tlstax.stats") / FILES[family]).read_text(encoding="utf-8")
    return tuple(ProgramLines.model_validate(own) for own in tomllib.loads(text)["programs"])


def connected(programs: Iterable[Program], family: Family = "mysql") -> tuple[ProgramLines, ...]:
    """The kinds of this family of which somebody is connected, as far as they name themselves."""
    known = tuple(programs)
    return tuple(own for own in all_programs(family) if any(own.is_of(program) for program in known))
