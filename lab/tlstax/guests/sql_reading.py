"""What a statement of the user's does at an external server, as far as it was read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tlstax.guests.sql_text import Refused
from tlstax.mysql.schema_objects import Kind, Thing

Place = Literal["prepare", "restore", "on_connect", "transactions"]

RESERVED_PREFIX = "tlstax"


@dataclass(frozen=True)
class Creation:
    """An object that a CREATE statement makes; `after_name` is where in the statement the name ends."""

    kind: Kind
    name: str
    if_not_exists: bool
    after_name: int


@dataclass(frozen=True)
class Reading:
    """What a statement does.

    The tables in `writes`, and what it `calls`, must be this run's; so must those in `reads` where
    `reads_ours` alone, and else they may be base tables of others, from which it `copies` definitions.
    Names in `common` are those of its WITH, and need not be there. What it `drops` must be this run's, or
    may be missing if it `drops_if_there`. No stored function may have the name of one of `functions`.
    """

    creation: Creation | None = None
    writes: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()
    calls: frozenset[Thing] = frozenset()
    functions: frozenset[str] = frozenset()
    drops: frozenset[Thing] = frozenset()
    drops_if_there: bool = False
    reads_ours: bool = False
    copies: bool = False

    def joined(self, other: Reading) -> Reading:
        """What both do, as parts of one statement."""
        return replace(
            self,
            writes=self.writes | other.writes,
            reads=self.reads | other.reads,
            common=self.common | other.common,
            calls=self.calls | other.calls,
            functions=self.functions | other.functions,
            reads_ours=self.reads_ours or other.reads_ours,
        )


def new_name(name: str) -> str:
    """The name of what is created or dropped. Raises Refused."""
    if name.lower().startswith(RESERVED_PREFIX):
        raise Refused(f"names that begin with {RESERVED_PREFIX} are tlstax's own")
    return checked_name(name)


def checked_name(name: str) -> str:
    """The name of a table or routine; Refused for letters that some servers take for equal to others."""
    if not name.isascii():
        raise Refused(f"{name} has letters other than a to z, of which servers take different ones for equal")
    return name
