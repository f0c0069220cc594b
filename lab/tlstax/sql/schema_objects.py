"""Objects of a schema, by what they are and their names, and what a name is found to stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["TABLE", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"]
"""The kinds that tlstax, or a statement of a user's that it carries out, makes at some product's server."""


@dataclass(frozen=True, order=True)
class Thing:
    """An object of a schema, by what it is and its name as the server has it."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"the {self.kind.lower()} {self.name}"


class Named(NamedTuple):
    """What a name stands for among tables and their like, in capitals, and how its rows are kept.

    The first is `BASE TABLE`, `VIEW` or what else the product has; the second is a storage engine or an
    access method.
    """

    type: str
    engine: str


RECORD = "tlstax_made"
"""The table in which a run records what it makes at an external server, and that it is at work there."""


class Entry(NamedTuple):
    """A step with an object of the schema, as the record has it: its kind, its name, and its sign.

    `proof` shows that the entry is ours (`external/ownership.py`).
    """

    step: str
    kind: str
    name: str
    sign: str
    proof: str = ""


NAMED_AT_MOST = 5


def several(things: Sequence[str]) -> str:
    """As many of them as a sentence holds."""
    more = len(things) - NAMED_AT_MOST
    return ", ".join(things[:NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")
