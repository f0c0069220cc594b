"""A statement's text as every server reads it, whatever its version and its `sql_mode`, and what it does.

MySQL and MariaDB find the tokens of the same text differently by mode and version: what a backslash or a
double quote means, which comments are executed, which functions may have a space before their bracket. Only
text for which none of that matters gets through here. Source: MySQL's reference manual, "String Literals",
"Comments", "Schema Object Names" and "Function Name Parsing and Resolution"; MariaDB's Knowledge Base,
"Comment Syntax" and "SQL_MODE".
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from tlstax.external import sql_words
from tlstax.mysql.schema import Kind, Thing

NUMBER_VALUE, TEXT_VALUE = "\ue000", "\ue001"
"""Characters that stand for a number and a text of a parameter until the text has been looked at."""

_STAND_INS = {NUMBER_VALUE: "7", TEXT_VALUE: "'x'"}

_TOKEN = re.compile(
    r"""
    (?P<space> [ \t\r\n]+ )
  | (?P<comment> /\*.*?\*/ | --(?=[ \t\r\n]|$)[^\n]* | \#[^\n]* )
  | (?P<text> '(?:[^']|'')*' )
  | (?P<name> `(?:[^`]|``)+` )
  | (?P<number> 0[xX][0-9a-fA-F]+(?![0-9A-Za-z_$]) | (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?
      (?![0-9A-Za-z_$.]) )
  | (?P<word> [A-Za-z_][0-9A-Za-z_]* )
  | (?P<value> [\ue000\ue001] )
  | (?P<mark> := | @@ | <=> | <> | != | >= | <= | << | >> | \|\| | && | ->> | -> | [-+*/%(),.;=<>!~^|&@] )
    """,
    re.VERBOSE | re.DOTALL,
)


class Refused(ValueError):
    """The statement is not known to leave a server as it was found; the text says why, as a clause."""


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
            return self.text[1:-1].replace("``", "`")
        return self.text if self.sort == "word" else None


@dataclass(frozen=True)
class SqlText:
    """A statement without its comments; every position is that of the statement as it was given."""

    plain: str
    tokens: tuple[Token, ...]


def read(statement: str) -> SqlText:
    """The statement's tokens. Raises Refused where another mode or version would find others."""
    tokens: list[Token] = []
    plain: list[str] = []
    position, is_apart = 0, True
    while position < len(statement):
        match = _TOKEN.match(statement, position)
        if match is None:
            raise Refused(_unreadable(statement[position]))
        sort, text = str(match.lastgroup), match[0]
        if sort in {"space", "comment"}:
            _check_comment(sort, text)
            plain.append(" " * len(text))
            is_apart = True
        else:
            _check_token(sort, text)
            if tokens and not is_apart:
                _check_pair(tokens[-1], sort, text)
            tokens.append(Token(sort, text, position, match.end(), is_apart))
            plain.append(text)
            is_apart = False
        position = match.end()
    return SqlText("".join(plain), tuple(tokens))


def with_stand_ins(text: SqlText) -> SqlText:
    """The text with a number or a text for each parameter. Refused where a value could be more than a value.

    By the text protocol the value is put in as it is, so that nothing may touch it: 'x' after a letter is a
    literal of another kind, 7 after one is part of a name.
    """
    if all(token.sort != "value" for token in text.tokens):
        return text
    parts = []
    before: Token | None = None
    for token in text.tokens:
        touches = not token.is_apart and before is not None
        if touches and before is not None and "value" in {token.sort, before.sort}:
            other = before if token.sort == "value" else token
            if other.sort != "mark" or other.text in {"@", "@@", "."}:
                raise Refused("something touches a parameter; put a space between the two")
        before = token
        parts.append((" " if token.is_apart else "") + _STAND_INS.get(token.text, token.text))
    return read("".join(parts))


def without_end(text: SqlText) -> SqlText:
    """The text without a semicolon at its end; Refused where one stands elsewhere."""
    tokens = text.tokens
    if tokens and tokens[-1].text == ";":
        end = tokens[-1].start
        text = SqlText(text.plain[:end] + " " * (len(text.plain) - end), tokens[:-1])
    if any(token.text == ";" for token in text.tokens):
        raise Refused("it has a semicolon; write one statement in each place")
    return text


def _check_comment(sort: str, text: str) -> None:
    if sort == "comment" and text.startswith("/*"):
        if text[2:3] in {"!", "+"} or text[2:4].upper() == "M!":
            raise Refused("it has a comment that a server executes or takes hints from; write it without")
        if "/*" in text[2:]:
            raise Refused("it has a comment within a comment; write it without")
    elif sort == "comment" and "\r" in text.rstrip("\r"):
        raise Refused("a comment has a carriage return in it; write it without")


def _check_token(sort: str, text: str) -> None:
    if sort not in {"text", "name"}:
        return
    if "\\" in text:
        raise Refused(
            "what a backslash means depends on the server's sql_mode; write CHAR(92) in place of one"
        )
    if NUMBER_VALUE in text or TEXT_VALUE in text:
        raise Refused("a parameter stands between quotes; write {name} without them")
    if any(character < " " and character not in "\t\r\n" for character in text) or "\x7f" in text:
        raise Refused("it has a control character between quotes; write it as CHAR(n)")
    if sort == "name" and (text[-2] == " " or not text.isprintable()):
        raise Refused("a name has a space at its end or a character that cannot be printed")


def _check_pair(before: Token, sort: str, text: str) -> None:
    """What touches the token before it and could be one token with it."""
    if before.text + text in {"--", "/*", "*/"}:
        raise Refused(f"what {before.text}{text} means depends on what follows; put a space into it")
    if sort == "number" and text[0] == "." and before.sort != "mark":
        raise Refused(f"{before.text}{text} can be read as a name or as a number")


_UNREADABLE = {
    '"': "what double quotes mean depends on the server's sql_mode; write texts in single quotes, and "
    "names in backquotes",
    "'": "a quote (') is not closed",
    "`": "a backquote is not closed, or there is nothing between two of them",
    "\\": "it has a backslash outside of quotes",
    "?": "it has a question mark; write a {name} for a parameter",
}


def _unreadable(character: str) -> str:
    if character in _UNREADABLE:
        return _UNREADABLE[character]
    if character.isprintable() and not character.isascii():
        return f"it has {character} outside of quotes; write such a name in backquotes"
    return f"it has the character {character!a} where none can be read for sure"


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


def is_character_set(item: Collection[Token]) -> bool:
    """Whether this is a character set, or a collation of it, in which quotes are safe."""
    words = [token.text.strip("'").upper() for token in item]
    known = "|".join(sql_words.CHARACTER_SETS)
    return bool(re.fullmatch(rf"({known})(_[0-9A-Z_]+)?( COLLATE ({known})(_[0-9A-Z_]+)?)?", " ".join(words)))


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
