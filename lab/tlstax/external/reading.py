"""What a statement of a user's does at an external server, whichever product's SQL it is written in."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from tlstax.sql.ownership import Kind, Thing


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


@dataclass(frozen=True)
class Lexis:
    """How one product's text is cut into tokens: `pattern` has a group for each sort of token.

    `check_comment` and `check_token` are given the sort and the text, `check_pair` also the token that a text
    touches; they raise Refused where another server, or another setting of it, would read something else.
    `unreadable` says what is wrong with a character that begins no token, `hint` what to do about letters.
    """

    pattern: re.Pattern[str]
    check_comment: Callable[[str, str], None]
    check_token: Callable[[str, str], None]
    check_pair: Callable[[Token, str, str], None]
    unreadable: Mapping[str, str]
    hint: str = ""

    def read(self, statement: str) -> SqlText:
        """The statement's tokens. Raises Refused."""
        tokens: list[Token] = []
        plain: list[str] = []
        position, is_apart = 0, True
        while position < len(statement):
            match = self.pattern.match(statement, position)
            if match is None:
                raise Refused(self._why_not(statement[position]))
            sort, text = str(match.lastgroup), match[0]
            if sort in {"space", "comment"}:
                self.check_comment(sort, text)
                plain.append(" " * len(text))
                is_apart = True
            else:
                self.check_token(sort, text)
                if tokens and not is_apart:
                    self.check_pair(tokens[-1], sort, text)
                tokens.append(Token(sort, text, position, match.end(), is_apart))
                plain.append(text)
                is_apart = False
            position = match.end()
        return SqlText("".join(plain), tuple(tokens))

    def _why_not(self, character: str) -> str:
        if character in self.unreadable:
            return self.unreadable[character]
        if character.isprintable() and not character.isascii():
            return f"it has {character} outside of quotes{self.hint}"
        return f"it has the character {character!a} where none can be read for sure"


def check_quoted(text: str, settings: str, function: str) -> None:
    """Refused for what could be read otherwise between quotes.

    What a backslash means depends on the `settings` named; `function` makes a character of its number.
    """
    if "\\" in text:
        raise Refused(
            f"what a backslash means depends on the server's {settings}; write {function}(92) in place of one"
        )
    if NUMBER_VALUE in text or TEXT_VALUE in text:
        raise Refused("a parameter stands between quotes; write {name} without them")
    if any(character < " " and character not in "\t\r\n" for character in text) or "\x7f" in text:
        raise Refused(f"it has a control character between quotes; write it as {function}(n)")


STAND_INS: Final = {NUMBER_VALUE: "7", TEXT_VALUE: "'x'"}
"""What stands for a parameter's value once it is known that it can be no more than a value."""


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
