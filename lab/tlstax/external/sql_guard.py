"""Which statements of a user's an external server is given: those that are known to leave it as it was found.

A statement passes that is of a kind in the list here, has only words and functions of `sql_text`, parses to
a tree of known nodes (`sql_tree`), and writes no table but those that the run made. Which these are, only the
server knows: `read` says which names a statement writes, reads and calls, and `workload_guard` asks for them.
Source: MySQL's reference manual, "SQL Statements"; MariaDB's Knowledge Base has the same beginnings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import pairwise

from tlstax.external import sql_text
from tlstax.external.reading import (
    Creation,
    Place,
    Reading,
    Refused,
    SqlText,
    Token,
    checked_name,
    end_of_brackets,
    new_name,
    split,
    without_end,
)
from tlstax.external.sql_text import is_character_set
from tlstax.sql.ownership import Thing

ENGINES = sql_text.ENGINES

_CHANGES_SCHEMA = frozenset({"CREATE", "ALTER", "DROP", "TRUNCATE", "ANALYZE"})
_QUERIES = frozenset({"SELECT", "WITH", "(", "INSERT", "REPLACE", "UPDATE", "DELETE"})

_QUERY_KINDS = frozenset({"Select", "Union", "Except", "Intersect", "Subquery", "Insert", "Update", "Delete"})
_CHANGE_KINDS = frozenset({"Create", "Alter", "Drop", "TruncateTable", "Analyze"})
"""As sqlglot names them."""

_TAKES_NAME = frozenset(
    {"TABLE", "EXISTS", "INTO", "INDEX", "KEY", "REFERENCES", "VIEW", "UNIQUE", "WITH", "RECURSIVE", "AS"}
)
"""What stands between one of these and a bracket is a name, and no function."""


def read(statement: str, place: Place, schema: str, own_functions: Collection[str] = ()) -> Reading:
    """What the statement does there. Raises Refused unless all of it is known.

    `own_functions` are stored functions of this run, in small letters. Characters of `sql_text` stand for
    parameters.
    """
    text = sql_text.with_stand_ins(sql_text.read(statement))
    return _Reader(place, schema, frozenset(own_functions)).statement(text)


def with_comment(statement: str, creation: Creation, named: str, comment: str) -> str | None:  # noqa: ARG001
    """The CREATE TABLE, which was read, with this comment for the table; None where it has no place for it.

    Table options stand after the list of columns, or after the name where there is no list. `comment` has no
    quote and no backslash in it.
    """
    if creation.kind != "TABLE":
        return None
    rest = [token for token in sql_text.read(statement).tokens if token.start >= creation.after_name]
    words = [token.word for token in rest[:2]]
    place = creation.after_name
    if words[:1] == ["LIKE"]:
        return None
    if words[:1] == ["("]:
        if words[1:] in (["LIKE"], ["SELECT"], ["WITH"], ["("]):
            return None
        place = rest[end_of_brackets(rest, 0)].end
    if any(token.word == "COMMENT" and token.start >= place for token in rest):
        return None
    return f"{statement[:place]} COMMENT='{comment}'{statement[place:]}"


@dataclass(frozen=True)
class _Reader:
    """Reads statements of one place; `is_body` for those within a routine or trigger."""

    place: Place
    schema: str
    own_functions: frozenset[str]
    is_body: bool = False

    def statement(self, text: SqlText) -> Reading:
        """Any statement."""
        words = [token.word for token in text.tokens[:12]]
        if words[:1] == ["CREATE"] and not self.is_body:
            kind = next((word for word in words if word in {"PROCEDURE", "FUNCTION", "TRIGGER", "TABLE"}), "")
            if kind not in {"", "TABLE"}:
                self._check_place("CREATE")
                return _Stored(self, text).reading()
        text = without_end(text)
        if not text.tokens:
            raise Refused("there is no statement in it")
        first = text.tokens[0].word
        if first in _CHANGES_SCHEMA and not self.is_body:
            self._check_place(first)
            _check_beginning([one.word for one in text.tokens[:4]])
            return self._parsed(text, _CHANGE_KINDS)[1]
        if not self.is_body and _is_transaction_control(text.tokens):
            return Reading()
        others: dict[str, Callable[[SqlText], Reading]] = {
            "SET": self._set,
            "CALL": self._call,
            "DO": lambda given: self.expressions(given, 1),
        }
        if first in others or first in _QUERIES:
            return others.get(first, self.query)(text)
        raise Refused(
            f"{first or text.tokens[0].text} is not among the statements that are let through there"
        )

    def expressions(self, text: SqlText, begin: int) -> Reading:
        """Expressions with commas between them, from that token on."""
        if begin >= len(text.tokens):
            raise Refused("it ends too early")
        return self.query(sql_text.read("SELECT " + text.plain[text.tokens[begin].start :]))

    def _check_place(self, first: str) -> None:
        if self.place not in {"prepare", "restore"}:
            raise Refused(f"{first} is let through in prepare and restore alone")

    def _set(self, text: SqlText) -> Reading:
        reading = Reading()
        for item in split(text.tokens[1:], ","):
            reading = reading.joined(self._set_one(text, item))
        return reading

    def _set_one(self, text: SqlText, item: list[Token]) -> Reading:
        plain = " ".join(token.text for token in item)
        words = [token.word for token in item]
        if words[:1] == ["NAMES"] or words[:2] == ["CHARACTER", "SET"]:
            if is_character_set(item[1 if words[0] == "NAMES" else 2 :]):
                return Reading()
            raise Refused(
                "only utf8mb4, utf8mb3, utf8, latin1, ascii and binary are let through as characters"
            )
        isolation = re.fullmatch(r"(SESSION |LOCAL )?TRANSACTION (.*)", plain.upper())
        if isolation:
            level = isolation[2].removeprefix("ISOLATION LEVEL ").replace(" ", "-")
            if level in sql_text.ISOLATION_LEVELS | {"READ-ONLY", "READ-WRITE"}:
                return Reading()
            raise Refused(f"SET TRANSACTION {isolation[2]} could keep others from writing what is read")
        mark = next((place for place, word in enumerate(words) if word in {"=", ":="}), 0)
        if mark == 0 or mark + 1 >= len(item):
            raise Refused(f"SET {plain} is not let through there")
        value = SqlText(text.plain[: item[-1].end], tuple(item))
        if words[0] == "@" and mark == 2 and not item[1].is_apart:
            return self.expressions(value, mark + 1)
        if self.is_body and mark == 3 and words[:2] == ["NEW", "."]:
            return self.expressions(value, mark + 1)
        variable = " ".join(words[:mark]).replace("@@ ", "@@").replace(" . ", ".")
        _check_setting(
            variable, item[mark + 1 :], can_end_autocommit=self.place not in {"prepare", "restore"}
        )
        return Reading()

    def _call(self, text: SqlText) -> Reading:
        tokens = text.tokens
        name = tokens[1].name if len(tokens) > 1 else None
        if name is None or (len(tokens) > 2 and tokens[2].text != "("):
            raise Refused("CALL is let through as CALL name(values) alone")
        called = Reading(calls=frozenset({Thing("PROCEDURE", checked_name(name))}))
        if len(tokens) <= 4:
            return called
        if end_of_brackets(tokens, 2) != len(tokens) - 1:
            raise Refused("something follows the values of CALL")
        inside = SqlText(text.plain[: tokens[-1].start], tokens[:-1])
        return called.joined(self.expressions(inside, 3))

    def query(self, text: SqlText) -> Reading:
        """A SELECT, INSERT, REPLACE, UPDATE or DELETE."""
        if text.tokens[0].word == "REPLACE":
            start = text.tokens[0].start
            text = sql_text.read(text.plain[:start] + "INSERT " + text.plain[start + len("REPLACE") :])
        kind, reading = self._parsed(text, _QUERY_KINDS)
        writes = kind in {"Insert", "Update", "Delete"}
        is_measured = self.place in {"on_connect", "transactions"}
        reads_ours = reading.reads_ours or self.is_body or (writes and is_measured)
        return replace(reading, reads_ours=reads_ours)

    def _parsed(self, text: SqlText, kinds: frozenset[str]) -> tuple[str, Reading]:
        """The kind of statement, and all that it does. sqlglot is imported for those who need it alone."""
        called, functions = self._functions(text.tokens)
        from tlstax.external import sql_tree  # noqa: PLC0415 - takes a third of a second

        kind, reading = sql_tree.read(text, self.schema)
        if kind not in kinds:
            raise Refused(f"it is read as {kind}, which is not let through there")
        return kind, replace(reading, calls=called, functions=functions)

    def _functions(self, tokens: tuple[Token, ...]) -> tuple[frozenset[Thing], frozenset[str]]:
        """Stored functions of ours that are called, and functions that only later servers have themselves."""
        called, later = set(), set()
        for place, (token, after) in enumerate(pairwise(tokens)):
            if after.text != "(" or token.name is None or _is_no_function(tokens, place):
                continue
            word = token.word
            if word in sql_text.FUNCTIONS | sql_text.LATER_FUNCTIONS:
                if after.is_apart and word not in sql_text.SPACE_BEFORE_BRACKET:
                    raise Refused(
                        f"there is a space after {token.text}, so that a stored function may be meant"
                    )
                later |= {word} & sql_text.LATER_FUNCTIONS
            elif token.name.lower() in self.own_functions:
                called.add(Thing("FUNCTION", token.name))
            elif not (word == "SLEEP" and _is_short_sleep(tokens, place)):
                raise Refused(
                    f"{token.text} is not one of the functions that are known to return a value and no more"
                )
        return frozenset(called), frozenset(later)


@dataclass(frozen=True)
class _Stored:
    """A CREATE of a procedure, function or trigger, whose statements all are read.

    Their grammar is sqlglot's only in part; the head is so simple that its tokens are enough.
    """

    reader: _Reader
    text: SqlText

    def reading(self) -> Reading:
        """What it makes and does. Raises Refused."""
        tokens = self.text.tokens
        place = 1
        if tokens[1].word == "DEFINER":
            place = 4 if [one.word for one in tokens[2:4]] == ["=", "CURRENT_USER"] else 0
            place = place + 2 if [one.word for one in tokens[place : place + 2]] == ["(", ")"] else place
        kind = tokens[place].word
        if place == 0 or kind not in {"PROCEDURE", "FUNCTION", "TRIGGER"}:
            raise Refused("what stands between CREATE and the kind of object is not let through there")
        place += 1
        exists = [one.word for one in tokens[place : place + 3]] == ["IF", "NOT", "EXISTS"]
        place += 3 if exists else 0
        name = tokens[place].name if place < len(tokens) else None
        if name is None:
            raise Refused("the name of what it creates cannot be read")
        creation = Creation(kind, new_name(name), exists, tokens[place].end)  # type: ignore[arg-type]
        place += 1
        writes: frozenset[str] = frozenset()
        if kind == "TRIGGER":
            place, table = self._trigger_head(place)
            writes = frozenset({table})
        else:
            place = self._routine_head(place, returns=kind == "FUNCTION")
        body = self._body(place)
        return replace(body, creation=creation, writes=body.writes | writes)

    def _trigger_head(self, place: int) -> tuple[int, str]:
        """Where the body begins, and the table that the trigger is of."""
        words = [one.word for one in self.text.tokens[place : place + 7]]
        table = self.text.tokens[place + 3].name if len(words) == 7 else None
        shape = words[:3] + words[4:]
        if (
            table is None
            or shape[0] not in {"BEFORE", "AFTER"}
            or shape[1] not in {"INSERT", "UPDATE", "DELETE"}
            or shape[2:] != ["ON", "FOR", "EACH", "ROW"]
        ):
            raise Refused(
                "a trigger is let through as CREATE TRIGGER name BEFORE INSERT ON table FOR EACH ROW"
            )
        return place + 7, checked_name(table)

    def _routine_head(self, place: int, *, returns: bool) -> int:
        """Where the body begins, behind parameters, the type that is returned and what SQL it has."""
        tokens = self.text.tokens
        if place >= len(tokens) or tokens[place].text != "(":
            raise Refused("there are no brackets after the name")
        end = end_of_brackets(tokens, place)
        for token in tokens[place:end]:
            if token.sort not in {"word", "number"} and token.text not in "(),":
                raise Refused(f"a parameter of it has {token.text}")
        place = end + 1
        begins = {"BEGIN", "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "SET", "RETURN", "DO"}
        head = []
        while place < len(tokens) and tokens[place].word not in begins:
            head.append(tokens[place].text.upper())
            place += 1
        shape = _FUNCTION_HEAD if returns else _ROUTINE_HEAD
        if not shape.fullmatch("".join(f"{one} " for one in head)):
            raise Refused(f"{' '.join(head) or 'nothing'} stands before what it does")
        return place

    def _body(self, place: int) -> Reading:
        tokens = list(self.text.tokens[place:])
        if tokens and tokens[-1].text == ";":
            tokens.pop()
        if tokens and tokens[0].word == "BEGIN":
            if tokens[-1].word != "END":
                raise Refused("its BEGIN has no END")
            tokens = tokens[1:-1]
        inside = replace(self.reader, is_body=True)
        reading = Reading(reads_ours=True)
        statements = [part for part in split(tokens, ";") if part]
        if not statements:
            raise Refused("it does nothing")
        for part in statements:
            one = SqlText(self.text.plain[: part[-1].end], tuple(part))
            alone = sql_text.read(one.plain[part[0].start :])
            reading = reading.joined(
                inside.expressions(alone, 1) if part[0].word == "RETURN" else inside.statement(alone)
            )
        return reading


_CHARACTERISTICS = (
    r"(?:LANGUAGE SQL |(?:NOT )?DETERMINISTIC |CONTAINS SQL |NO SQL |(?:READS|MODIFIES) SQL DATA "
    r"|SQL SECURITY (?:DEFINER|INVOKER) )*"
)
_ROUTINE_HEAD = re.compile(_CHARACTERISTICS)
_FUNCTION_HEAD = re.compile(
    rf"RETURNS (?:(?:{'|'.join(sql_text.TYPES | sql_text.NUMBERS_AND_TEXTS)}) )+"
    rf"(?:\( [0-9]+ (?:, [0-9]+ )?\) )?(?:UNSIGNED )?{_CHARACTERISTICS}"
)

_NOT_TAKEN_BACK = {
    "OR": "OR REPLACE could replace what others have created; write CREATE without it",
    "TEMPORARY": "a temporary table could hide another of its name; write CREATE TABLE, it is dropped",
    "DEFINER": "it would act as somebody else; leave DEFINER out",
}


def _check_beginning(words: list[str]) -> None:
    """Better words for what the nodes of the tree would be refused for."""
    if words[0] != "CREATE" or len(words) == 1:
        return
    if words[1] in _NOT_TAKEN_BACK:
        raise Refused(_NOT_TAKEN_BACK[words[1]])
    if words[1] not in {"TABLE", "VIEW", "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "ALGORITHM", "SQL"}:
        raise Refused(f"tlstax does not know how to take back CREATE {words[1]}".rstrip())


def _is_transaction_control(tokens: tuple[Token, ...]) -> bool:
    words = " ".join(token.word or "X" for token in tokens)
    return all(token.name is not None for token in tokens) and bool(
        re.fullmatch(sql_text.TRANSACTION_CONTROL, words)
    )


def _is_no_function(tokens: tuple[Token, ...], place: int) -> bool:
    """Whether the bracket after this token begins no arguments of a function."""
    token, before = tokens[place], tokens[place - 1].word if place else ""
    begins, within = tokens[0].word, tokens[place + 2].word if place + 2 < len(tokens) else ""
    is_definition = begins in {"CREATE", "ALTER"}
    if before == "." and place >= 3:
        before = tokens[place - 3].word
    after_name = place > 0 and tokens[place - 1].name is not None and before not in sql_text.KEYWORDS
    of_index = is_definition and before == "ON" and "INDEX" in {one.word for one in tokens[:4]}
    return (
        before in _TAKES_NAME
        or of_index
        or (place == 1 and begins in {"INSERT", "REPLACE"})
        or token.word in sql_text.BEFORE_BRACKETS
        or (token.word in {"ANY", "SOME", "EXCEPT", "INTERSECT"} and within in {"SELECT", "("})
        or (token.word in {"AGAINST", "OVER"} and before == ")")
        or (token.word in sql_text.TYPES and after_name)
        or (token.word == "DEFAULT" and is_definition)
        or (is_definition and _is_key_part(tokens, place))
    )


def _is_key_part(tokens: tuple[Token, ...], place: int) -> bool:
    """Whether it is a column and how much of it an index has, as in name(10); no query can be meant."""
    rest = tokens[place + 2 : place + 5]
    return (
        [one.sort for one in rest] == ["number", "mark", "mark"]
        and rest[1].text == ")"
        and rest[2].text in {",", ")"}
        and "SELECT" not in {one.word for one in tokens}
    )


def _is_short_sleep(tokens: tuple[Token, ...], place: int) -> bool:
    words = {token.word for token in tokens}
    arguments = tokens[place + 2 : place + 4]
    return (
        not words & {"FROM", "JOIN", "WITH", "UNION"}
        and [one.sort for one in arguments] == ["number", "mark"]
        and arguments[1].text == ")"
        and re.fullmatch(r"[0-9](\.[0-9]+)?", arguments[0].text) is not None
    )


def _check_setting(name: str, value: list[Token], *, can_end_autocommit: bool) -> None:
    """Refused unless this is a variable of the session's own, and a plain value for it.

    A transaction that prepare or restore leaves open would keep others from changing tables that it read.
    """
    name = re.sub(r"^((SESSION|LOCAL) (?=\w+$)|@@(SESSION\.|LOCAL\.)?(?=\w+$))", "", name)
    if name not in sql_text.SETTINGS:
        raise Refused(f"{name} is not among the variables of a session that are let through")
    words = " ".join(token.text for token in value).upper().strip("'")
    if name == "SQL_MODE":
        modes = {one.strip() for one in words.split(",")} - {""}
        fits = modes <= sql_text.SQL_MODES and value[0].sort == "text"
    elif name in {"TRANSACTION_ISOLATION", "TX_ISOLATION"}:
        fits = words in sql_text.ISOLATION_LEVELS
    elif name == "AUTOCOMMIT":
        fits = words in {"1", "ON", "TRUE"} or (can_end_autocommit and words in {"0", "OFF", "FALSE"})
    elif name.startswith(("CHARACTER_SET", "COLLATION")):
        fits = is_character_set(value)
    else:
        fits = len(value) == 1 and value[0].sort in {"text", "number", "word"}
        fits = fits or [one.sort for one in value] == ["mark", "number"]
    if not fits:
        raise Refused(f"{words or 'nothing'} is not a value of {name} that is let through")
