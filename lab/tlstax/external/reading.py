"""What a statement of a user's does at an external server, whichever product's SQL it is written in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from tlstax.sql.schema_objects import Kind, Thing


class Refused(ValueError):
    """The statement is not known to leave a server as it was found; the text says why, as a clause."""


Place = Literal["prepare", "restore", "on_connect", "transactions"]

RESERVED_PREFIX = "tlstax"

NUMBER_VALUE, TEXT_VALUE = "\ue000", "\ue001"
"""Characters that stand for a number and a text of a parameter until a statement has been looked at."""


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


@dataclass(frozen=True)
class Token:
    """A token, where it begins and ends, and whether something stands between it and the one before."""

    sort: str
    text: str
    start: int
    end: int
    is_apart: bool

    @property
    def word(self) -> str:
        """A word or mark in capitals; empty for what is quoted, and for numbers."""
        return self.text.upper() if self.sort in {"word", "mark"} else ""

    @property
    def name(self) -> str | None:
        """The name that it is, where it can be one."""
        if self.sort == "name":
            quote = self.text[0]
            return self.text[1:-1].replace(quote * 2, quote)
        return self.text if self.sort == "word" else None


@dataclass(frozen=True)
class SqlText:
    """A statement without its comments; every position is that of the statement as it was given."""

    plain: str
    tokens: tuple[Token, ...]


def word_set(*texts: str) -> frozenset[str]:
    """The words of these texts."""
    return frozenset(word for text in texts for word in text.split())


def without_end(text: SqlText) -> SqlText:
    """The text without a semicolon at its end; Refused where one stands elsewhere."""
    tokens = text.tokens
    if tokens and tokens[-1].text == ";":
        end = tokens[-1].start
        text = SqlText(text.plain[:end] + " " * (len(text.plain) - end), tokens[:-1])
    if any(token.text == ";" for token in text.tokens):
        raise Refused("it has a semicolon; write one statement in each place")
    return text


def split(tokens: Collection[Token], mark: str) -> list[list[Token]]:
    """The parts between marks that stand in no brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.text == mark and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def end_of_brackets(tokens: Collection[Token], begin: int) -> int:
    """The place of the bracket that closes the one at this place. Raises Refused."""
    depth = 0
    for place, token in enumerate(tokens):
        if place >= begin:
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if depth == 0:
                return place
    raise Refused("a bracket is not closed")
