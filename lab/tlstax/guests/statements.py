"""What a statement of the user's creates, read from its beginning; what is not recognised is refused.

Source of the grammar: MySQL's reference manual, "Data Definition Statements", "Schema Object Names" and
"Comments"; MariaDB's Knowledge Base has the same beginnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tlstax.mysql.schema_objects import KINDS, Kind

_TOKEN = re.compile(
    r"""
    (?P<space> \s+ | --(?=[\s\x00-\x1f]|$)[^\n]* | \#[^\n]* | /\*(?!M?!).*?\*/ )
  | (?P<executed> /\*M?! )
  | (?P<word> [0-9A-Za-z_$\x80-\U0010ffff]+ )
  | (?P<quoted> `(?:[^`]|``)*` | "(?:[^"]|"")*" | '(?:[^']|'')*' )
  | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)

_INDEXES = {"UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR"}
_NO_OPTIONS = {"LIKE", "SELECT", "WITH", "VALUES", "TABLE", "("}
"""What begins a query, or another table's name, where a list of columns might stand in brackets."""


class Unrecognised(ValueError):
    """What the statement would create is not known for sure; the text says why, as the end of a sentence."""


@dataclass(frozen=True)
class Creation:
    """An object that a CREATE statement makes; `after_name` is where in the statement the name ends."""

    kind: Kind
    name: str
    if_not_exists: bool
    after_name: int


@dataclass(frozen=True)
class _Token:
    sort: str
    text: str
    end: int

    @property
    def word(self) -> str:
        """In capitals, for keywords; a quoted name is no keyword."""
        return self.text.upper() if self.sort in {"word", "mark"} else ""


def creation_of(statement: str, schema: str) -> Creation | None:
    """What the statement creates in the schema for longer than its connection; None where it creates nothing.

    Raises Unrecognised for what would create something else or elsewhere, or would replace what is there.
    That a procedure which is called, or an ALTER, creates something cannot be seen here.
    """
    tokens = _Tokens(statement)
    first = tokens.take()
    if first.sort == "executed":
        raise Unrecognised("it begins with a comment that the server executes")
    if first.word == "USE":
        raise Unrecognised("it would leave the schema")
    return _creation(tokens, schema) if first.word == "CREATE" else None


def with_comment(statement: str, creation: Creation, comment: str) -> str | None:
    """The same CREATE TABLE with this comment for the table; None where there is no sure place for it.

    Table options stand after the list of columns, or after the name where there is no list. `comment` has no
    quote and no backslash in it.
    """
    if creation.kind != "TABLE" or "\\" in statement or "/*!" in statement or "/*M!" in statement:
        return None
    tokens = _Tokens(statement, creation.after_name)
    after, place = tokens.take(), creation.after_name
    if after.word == "LIKE":
        return None
    if after.word == "(":
        if tokens.peek().word in _NO_OPTIONS:
            return None
        place = tokens.end_of_brackets()
    if not place or re.search(r"\bCOMMENT\b", statement[place:], re.IGNORECASE):
        return None
    return f"{statement[:place]} COMMENT='{comment}'{statement[place:]}"


def _creation(tokens: _Tokens, schema: str) -> Creation | None:
    kind, is_temporary = _kind(tokens)
    if kind is None:
        return None
    if_not_exists = tokens.peek().word == "IF"
    if if_not_exists:
        for expected in ("IF", "NOT", "EXISTS"):
            tokens.expect(expected)
    name, end = tokens.take_name(), tokens.position
    if tokens.peek().word == ".":
        tokens.expect(".")
        if name != schema:
            raise Unrecognised(f"it would create something in the schema {name}")
        name, end = tokens.take_name(), tokens.position
    if kind == "FUNCTION" and re.search(r"\bSONAME\b", tokens.statement[end:], re.IGNORECASE):
        raise Unrecognised("a function from a library belongs to the whole server")
    return None if is_temporary else Creation(kind, name, if_not_exists, end)


def _kind(tokens: _Tokens) -> tuple[Kind | None, bool]:
    """What follows CREATE up to the kind of object, None for an index; and whether it is temporary."""
    is_temporary = False
    while (word := tokens.take().word) not in KINDS:
        if word == "INDEX" or (word in _INDEXES and tokens.take().word == "INDEX"):
            return None, False
        is_temporary = is_temporary or word == "TEMPORARY"
        _pass_modifier(tokens, word)
    return word, is_temporary


def _pass_modifier(tokens: _Tokens, word: str) -> None:
    if word == "OR":
        raise Unrecognised("OR REPLACE could replace what others have created; write CREATE without it")
    if word == "DEFINER":
        tokens.pass_definer()
    elif word in {"ALGORITHM", "SQL"}:
        tokens.expect({"ALGORITHM": "=", "SQL": "SECURITY"}[word])
        tokens.take()
    elif word not in {"AGGREGATE", "TEMPORARY"}:
        raise Unrecognised(f"tlstax does not know how to take back CREATE {word}".rstrip())


class _Tokens:
    """The tokens of a statement, read one after another; comments and spaces are passed over."""

    def __init__(self, statement: str, position: int = 0) -> None:
        self.statement, self.position = statement, position

    def peek(self) -> _Token:
        return next(self._from_here(), _Token("end", "", len(self.statement)))

    def take(self) -> _Token:
        token = self.peek()
        self.position = token.end
        return token

    def expect(self, word: str) -> None:
        if (token := self.take()).word != word:
            raise Unrecognised(f"{token.text or 'its end'} stands where {word} was expected")

    def take_name(self) -> str:
        token = self.take()
        if token.sort == "word":
            return token.text
        if token.sort == "quoted" and token.text[0] != "'" and len(token.text) > 2:
            quote = token.text[0]
            return token.text[1:-1].replace(quote * 2, quote)
        raise Unrecognised("the name of what it creates cannot be read")

    def pass_definer(self) -> None:
        """= user [@ host] or = CURRENT_USER [()]."""
        self.expect("=")
        self.take()
        if self.peek().word == "@":
            self.take()
            self.take()
        elif self.peek().word == "(":
            self.take()
            self.expect(")")

    def end_of_brackets(self) -> int:
        """Where the bracket closes that was just taken; 0 when it does not."""
        depth = 1
        for token in self._from_here():
            depth += {"(": 1, ")": -1}.get(token.word, 0)
            if depth == 0:
                return token.end
        return 0

    def _from_here(self) -> Iterator[_Token]:
        for match in _TOKEN.finditer(self.statement, self.position):
            sort = str(match.lastgroup)
            if sort == "mark" and match[0] in "`\"'":
                raise Unrecognised(f"a quote ({match[0]}) is not closed")
            if sort != "space":
                yield _Token(sort, match[0], match.end())
