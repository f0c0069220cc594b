"""Which statements of a user's an external PostgreSQL is given: those known to leave it as it was found.

It is the narrower sister of `sql_guard`. A statement passes that is of a kind in the list here, has only
words, operators and functions that are listed, names every table with the schema that tlstax works in, parses
to a tree of known nodes (`postgres_tree`), and writes no table but those that the run made. What it does not
understand it refuses. It makes tables and their indexes alone: whatever else a user needs, the user makes
beforehand.

Source: PostgreSQL documentation, "Lexical Structure" (operators, comments, constants), "Functions and
Operators" and "SET"; CVE-2018-1058 for functions and operators that others may put in the way, which the
server is asked for (`postgres.schema.functions_of_others`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise
from typing import Final

from tlstax.external.reading import (
    STAND_INS,
    Creation,
    Lexis,
    Place,
    Reading,
    Refused,
    SqlText,
    Token,
    check_quoted,
    end_of_brackets,
    without_end,
    word_set,
)

ENGINES: Final = frozenset({"HEAP"})
"""The access method that keeps a table's rows in the table, at that server."""

TYPES: Final = word_set(
    "INT INTEGER INT2 INT4 INT8 SMALLINT BIGINT SMALLSERIAL SERIAL BIGSERIAL NUMERIC DECIMAL REAL FLOAT",
    "FLOAT4 FLOAT8 DOUBLE PRECISION CHAR CHARACTER VARCHAR VARYING TEXT BOOLEAN BOOL DATE TIME TIMESTAMP",
    "TIMESTAMPTZ ZONE WITHOUT INTERVAL UUID JSON JSONB BYTEA",
)
"""The words of types that are the server's own, whose values do no more than be values."""

KEYWORDS: Final = TYPES | word_set(
    "SELECT DISTINCT ALL FROM WHERE GROUP BY HAVING ORDER ASC DESC NULLS FIRST LAST LIMIT OFFSET FETCH NEXT",
    "ROW ROWS ONLY UNION EXCEPT INTERSECT JOIN INNER LEFT RIGHT FULL OUTER CROSS NATURAL ON USING AS AND OR",
    "NOT BETWEEN IN LIKE ILIKE IS NULL TRUE FALSE UNKNOWN CASE WHEN THEN ELSE END EXISTS ANY SOME WITH",
    "RECURSIVE FOR UPDATE SHARE OF NOWAIT SKIP LOCKED OVER PARTITION RANGE PRECEDING FOLLOWING UNBOUNDED",
    "CURRENT WINDOW FILTER INSERT INTO VALUES DEFAULT CONFLICT DO NOTHING SET RETURNING DELETE EXCLUDED",
    "YEAR MONTH DAY HOUR MINUTE SECOND EPOCH DOW DOY WEEK QUARTER CAST AT CURRENT_DATE CURRENT_TIME",
    "CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP CURRENT_USER SESSION_USER LEADING TRAILING BOTH",
    "CREATE TABLE UNIQUE INDEX BTREE DROP IF TRUNCATE ANALYZE CONSTRAINT PRIMARY KEY FOREIGN REFERENCES",
    "CHECK CASCADE RESTRICT NO ACTION GENERATED ALWAYS IDENTITY",
)
"""Every other word in a statement must be a name."""

FUNCTIONS: Final = word_set(
    "ABS CEIL CEILING FLOOR ROUND TRUNC SQRT CBRT POWER EXP LN LOG MOD SIGN PI RANDOM WIDTH_BUCKET DIV",
    "GCD LCM SIN COS TAN ASIN ACOS ATAN ATAN2 DEGREES RADIANS GREATEST LEAST COALESCE NULLIF LOWER UPPER",
    "INITCAP LENGTH CHAR_LENGTH CHARACTER_LENGTH OCTET_LENGTH BIT_LENGTH SUBSTR SUBSTRING TRIM LTRIM",
    "RTRIM BTRIM LPAD RPAD LEFT RIGHT REPEAT REPLACE REVERSE POSITION STRPOS SPLIT_PART TRANSLATE CONCAT",
    "CONCAT_WS ASCII CHR MD5 SHA224 SHA256 SHA384 SHA512 ENCODE DECODE TO_HEX TO_CHAR TO_DATE TO_NUMBER",
    "TO_TIMESTAMP REGEXP_REPLACE STARTS_WITH NOW CLOCK_TIMESTAMP STATEMENT_TIMESTAMP",
    "TRANSACTION_TIMESTAMP DATE_TRUNC DATE_PART EXTRACT AGE MAKE_DATE MAKE_INTERVAL COUNT SUM AVG MIN MAX",
    "STRING_AGG ARRAY_AGG STDDEV STDDEV_POP STDDEV_SAMP VARIANCE VAR_POP VAR_SAMP BOOL_AND BOOL_OR EVERY",
    "ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST NTILE LAG LEAD FIRST_VALUE LAST_VALUE NTH_VALUE",
    "TO_JSON TO_JSONB JSON_AGG JSONB_AGG JSON_BUILD_OBJECT JSONB_BUILD_OBJECT JSON_BUILD_ARRAY",
    "JSONB_BUILD_ARRAY JSONB_SET GEN_RANDOM_UUID PG_BACKEND_PID VERSION CURRENT_DATABASE GENERATE_SERIES",
)
"""Functions of PostgreSQL's own that do no more than return a value."""

OPERATORS: Final = frozenset(
    {"+", "-", "*", "/", "%", "<", ">", "=", "<>", "!=", "<=", ">=", "||", "->", "->>", "@>"}
)

_OPERATORS_OF_WORDS: Final = {
    "IN": ("=", "<>"),
    "BETWEEN": (">=", "<=", "<", ">"),
    "LIKE": ("~~", "!~~"),
    "ILIKE": ("~~*", "!~~*"),
    **dict.fromkeys(("CASE", "DISTINCT", "NATURAL", "NULLIF", "USING"), ("=",)),
}
"""What these words are carried out by, an operator of that name ("Operator Type Resolution")."""

SETTINGS: Final = word_set(
    "WORK_MEM MAINTENANCE_WORK_MEM TEMP_BUFFERS JIT PLAN_CACHE_MODE RANDOM_PAGE_COST SEQ_PAGE_COST",
    "EFFECTIVE_CACHE_SIZE EFFECTIVE_IO_CONCURRENCY CPU_TUPLE_COST CPU_INDEX_TUPLE_COST CPU_OPERATOR_COST",
    "DEFAULT_STATISTICS_TARGET ENABLE_SEQSCAN ENABLE_INDEXSCAN ENABLE_INDEXONLYSCAN ENABLE_BITMAPSCAN",
    "ENABLE_HASHJOIN ENABLE_MERGEJOIN ENABLE_NESTLOOP ENABLE_SORT ENABLE_HASHAGG ENABLE_MATERIAL",
    "FROM_COLLAPSE_LIMIT JOIN_COLLAPSE_LIMIT GEQO MAX_PARALLEL_WORKERS_PER_GATHER SYNCHRONOUS_COMMIT",
    "COMMIT_DELAY STATEMENT_TIMEOUT LOCK_TIMEOUT TIMEZONE DATESTYLE INTERVALSTYLE EXTRA_FLOAT_DIGITS",
    "BYTEA_OUTPUT CLIENT_MIN_MESSAGES APPLICATION_NAME",
)
"""Settings whose value for a session concerns that session alone."""

_LEVEL = r"ISOLATION LEVEL (READ UNCOMMITTED|READ COMMITTED|REPEATABLE READ)"
_MODE = rf"({_LEVEL}|READ ONLY|READ WRITE)"
_TRANSACTION_CONTROL = re.compile(
    rf"(BEGIN( WORK| TRANSACTION)?|START TRANSACTION)( {_MODE}( , {_MODE})*)?"
    r"|(COMMIT|END|ROLLBACK)( WORK| TRANSACTION)?"
    r"|(SAVEPOINT|RELEASE( SAVEPOINT)?|ROLLBACK( WORK| TRANSACTION)? TO( SAVEPOINT)?) \w+"
    rf"|SET (SESSION CHARACTERISTICS AS )?TRANSACTION {_MODE}( , {_MODE})*"
)
"""Not SERIALIZABLE, in which others' transactions may be broken off for what this one reads."""

_SET = re.compile(r"SET (SESSION |LOCAL )?(?P<name>\w+) (=|TO) (- )?\S+")

_QUERIES: Final = frozenset({"SELECT", "WITH", "INSERT", "UPDATE", "DELETE"})
_CHANGES: Final = frozenset({"CREATE", "DROP", "TRUNCATE", "ANALYZE"})

_TOKEN = re.compile(
    r"""
    (?P<space> [ \t\r\n]+ )
  | (?P<comment> /\*.*?\*/ | --[^\r\n]* )
  | (?P<text> '(?:[^']|'')*' )
  | (?P<name> "(?:[^"]|"")+" )
  | (?P<number> (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_$.]) )
  | (?P<word> [A-Za-z_][0-9A-Za-z_]* )
  | (?P<value> [\ue000\ue001] )
  | (?P<mark> :: | [(),.;] | [-+*/<>=~!@\#%^&|`?]+ )
    """,
    re.VERBOSE | re.DOTALL,
)

_BEFORE_VALUE: Final = frozenset({"(", ",", "=", "<", ">", "<=", ">=", "<>"})
_AFTER_VALUE: Final = frozenset({")", ",", "::", ";"})
"""What may touch a parameter's value, which may begin with a minus."""

_NO_FUNCTION_BEFORE: Final = KEYWORDS - FUNCTIONS

_NEVER_FUNCTIONS: Final = word_set(
    "SELECT DISTINCT ALL FROM WHERE HAVING UNION EXCEPT INTERSECT ON USING AS AND OR NOT IN ANY SOME CASE",
    "WHEN THEN ELSE LIMIT OFFSET RETURNING CHECK UNIQUE WITH ARRAY EXISTS VALUES ROW",
)
"""Words that call no function, whatever others have made ("SQL Key Words": reserved, or of columns alone)."""


def read(statement: str, place: Place, schema: str, own_functions: Collection[str] = ()) -> Reading:  # noqa: ARG001
    """What the statement does there. Raises Refused unless all of it is known.

    `own_functions` are none: no function is made there.
    """
    text = without_end(_with_stand_ins(_LEXIS.read(statement)))
    if not text.tokens:
        raise Refused("there is no statement in it")
    first = text.tokens[0].word
    if _TRANSACTION_CONTROL.fullmatch(_plain(text.tokens).upper()):
        return Reading()
    if first == "SET":
        return _set(text.tokens)
    if first in _CHANGES:
        if place not in {"prepare", "restore"}:
            raise Refused(f"{first} is let through in prepare and restore alone")
        _check_beginning([token.word for token in text.tokens[:8]])
    elif first not in _QUERIES:
        raise Refused(
            f"{first or text.tokens[0].text} is not among the statements that are let through there"
        )
    called = _called(text.tokens)
    # It takes a third of a second to import, and few have workloads of their own.
    from tlstax.external import postgres_tree  # noqa: PLC0415

    reading = postgres_tree.read(text, schema, _check_words, FUNCTIONS)
    reading = replace(reading, functions=reading.functions | called)
    if reading.creation is not None:
        return replace(reading, creation=replace(reading.creation, after_name=text.tokens[-1].end))
    return reading


def with_comment(statement: str, creation: Creation, named: str, comment: str) -> str:
    """The CREATE TABLE, which was read, and the statement that gives the table this comment: both or neither.

    Several statements at once are one transaction (documentation, "Simple Query"). `comment` has no quote.
    """
    return f"{statement[: creation.after_name]}; COMMENT ON TABLE {named} IS '{comment}'"


def _plain(tokens: Collection[Token]) -> str:
    return " ".join(token.text for token in tokens)


_UNREADABLE: Final = {
    "$": "it has a dollar sign; write texts in single quotes, and {name} for a parameter",
    "'": "a quote (') is not closed",
    '"': "a double quote is not closed, or there is nothing between two of them",
    "\\": "it has a backslash outside of quotes",
    ":": "it has a colon by itself",
    "[": "it has a bracket ([), as arrays do, which tlstax does not read there",
    "]": "it has a bracket (]), as arrays do, which tlstax does not read there",
}


def _check_comment(sort: str, text: str) -> None:
    if sort == "comment" and "/*" in text[2:]:
        raise Refused("it has a comment within a comment; write it without")


def _check_token(sort: str, text: str) -> None:
    if sort == "mark" and text not in OPERATORS | {"::", "(", ")", ",", ".", ";"}:
        raise Refused(f"{text} is not among the operators that are let through, or needs a space in it")
    if sort not in {"text", "name"}:
        return
    check_quoted(text, "settings", "CHR")
    if sort == "name" and not (text.isascii() and text.isprintable()):
        raise Refused("a name has letters other than those of ASCII")


def _check_pair(before: Token, sort: str, text: str) -> None:
    """What touches the token before it and could be one token with it."""
    if sort in {"text", "name"} and before.sort in {"word", "text", "name"}:
        raise Refused(
            f"something touches {text[:12]}, so that it may be of another kind; put a space before it"
        )
    if sort == "number" and text[0] == "." and before.sort != "mark":
        raise Refused(f"{before.text}{text} can be read as a name or as a number")


_LEXIS: Final = Lexis(_TOKEN, _check_comment, _check_token, _check_pair, _UNREADABLE)
"""In which no setting of the server's makes a difference."""


def _with_stand_ins(text: SqlText) -> SqlText:
    """The text with a value for each parameter. Refused where one could be more than a value."""
    if all(token.sort != "value" for token in text.tokens):
        return text
    parts = []
    for before, token in pairwise((None, *text.tokens)):
        assert token is not None  # noqa: S101 (only the first of all is none)
        if before is not None and not token.is_apart:
            fits_before = token.sort != "value" or before.text in _BEFORE_VALUE
            fits_after = before.sort != "value" or token.text in _AFTER_VALUE
            if not (fits_before and fits_after):
                raise Refused("something touches a parameter; put a space between the two")
        parts.append((" " if token.is_apart else "") + STAND_INS.get(token.text, token.text))
    return _LEXIS.read("".join(parts))


def _set(tokens: tuple[Token, ...]) -> Reading:
    """A setting of the session's own, with one plain value."""
    plain = _plain(tokens)
    match = _SET.fullmatch(plain.upper())
    if match is None or tokens[-1].sort not in {"word", "number", "text"}:
        raise Refused("SET is let through as SET name = value alone")
    if match["name"] not in SETTINGS:
        raise Refused(f"{match['name']} is not among the settings of a session that are let through")
    return Reading()


_NOT_TAKEN_BACK: Final = {
    "TEMPORARY": "a temporary table could hide another of its name; write CREATE TABLE, it is dropped",
    "TEMP": "a temporary table could hide another of its name; write CREATE TABLE, it is dropped",
    "OR": "OR REPLACE could replace what others have created; write CREATE without it",
}


def _check_beginning(words: list[str]) -> None:
    """Better words for what the nodes of the tree would be refused for."""
    if words[0] == "CREATE" and len(words) > 1:
        if words[1] in _NOT_TAKEN_BACK:
            raise Refused(_NOT_TAKEN_BACK[words[1]])
        if words[1] not in {"TABLE", "INDEX", "UNIQUE"}:
            raise Refused(f"tlstax does not know how to take back CREATE {words[1]}".rstrip())
        if words[1:5] == ["TABLE", "IF", "NOT", "EXISTS"]:
            raise Refused(
                "IF NOT EXISTS could take a table of others for its own; write CREATE TABLE without it"
            )
    if words[0] == "DROP" and words[1:2] != ["TABLE"]:
        raise Refused(f"DROP {' '.join(words[1:2])} is not let through there".replace("  ", " "))


def _called(tokens: tuple[Token, ...]) -> frozenset[str]:
    """The functions and operators that it has, in capitals. Refused for one that is not known."""
    called = {token.text for token in tokens if token.sort == "mark" and token.text in OPERATORS}
    called |= {name for token in tokens for name in _OPERATORS_OF_WORDS.get(token.word, ())}
    for place, (token, after) in enumerate(pairwise(tokens)):
        if after.text != "(" or token.name is None:
            continue
        before = tokens[place - 1] if place else None
        is_plain = before is None or before.text != "."
        is_known = token.word in _NO_FUNCTION_BEFORE or (is_plain and token.word in FUNCTIONS)
        if not is_known and not _is_named(tokens, place):
            raise Refused(
                f"{token.text} is not one of the functions that are known to return a value and no more"
            )
        if is_plain and token.word not in _NEVER_FUNCTIONS:
            # A keyword such as YEAR, or a name of WITH, is a function where others have made one.
            called.add(token.name.upper())
    return frozenset(called)


def _is_named(tokens: tuple[Token, ...], place: int) -> bool:
    """Whether the bracket after this name begins columns or a query, and no arguments of a function.

    A table of this schema stands with it after INTO, TABLE, ON or REFERENCES, and a name of WITH by itself.
    """
    before = [token.word for token in tokens[max(0, place - 3) : place]]
    begins = tokens[0].word
    if before[-1:] == ["."]:
        keyword = before[0] if len(before) == 3 else ""
        allowed = {"INSERT": {"INTO"}, "CREATE": {"TABLE", "REFERENCES", "ON"}}.get(begins, set())
        return keyword in allowed
    if begins == "WITH":
        inside = end_of_brackets(tokens, place + 1) + 1
        return (
            before[-1:] in ([","], ["WITH"], ["RECURSIVE"])
            and tokens[inside : inside + 1] != ()
            and (tokens[inside].word == "AS")
        )
    return False


def _check_words(tokens: tuple[Token, ...], names: frozenset[str]) -> None:
    """Refused for a word that is neither a known one nor a name that the tree has as such."""
    for token, after in pairwise((*tokens, None)):
        assert token is not None  # noqa: S101 (only the last of all is none)
        if token.sort != "word" or (after is not None and after.text == "("):
            continue
        if token.word not in KEYWORDS and token.text.lower() not in names:
            raise Refused(f"tlstax does not know the word {token.text} there")
