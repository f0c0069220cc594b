"""Objects of a schema, the table in which a run records those that it makes, and the mark of its own tables.

Each product's `ownership_table` makes that table and adds to it; what is asked of it in the same words is
here, and `table` is its name, quoted. What asks raises SqlError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.support.errors import UserMistake

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

    `proof` shows that the entry is ours (`external/made.py`).
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


def is_empty(database: Database, table: str) -> bool:
    """Whether it has no entry at all."""
    return answers.number(answers.row(database, f"SELECT COUNT(*) FROM {table}", columns=1)[0]) == 0  # noqa: S608


def entries(database: Database, table: str) -> list[Entry]:
    """All entries, of whichever run, in the order in which they were added."""
    asked = f"SELECT {', '.join(Entry._fields)} FROM {table} ORDER BY id"  # noqa: S608
    return [
        Entry(*("" if value is None else str(value) for value in row))
        for row in answers.rows(database, asked, columns=len(Entry._fields))
    ]


def claimed_things(database: Database, table: str) -> list[tuple[str, str, str]]:
    """Kind, name and sign in each row of a table of this name, whoever made it; none where it has none."""
    asked = f"SELECT DISTINCT kind, name, sign FROM {table} WHERE kind <> ''"  # noqa: S608
    try:
        return [
            (str(kind), str(name), str(sign)) for kind, name, sign in answers.rows(database, asked, columns=3)
        ]
    except SqlError as error:
        if error.is_of_connection:
            raise
        return []


COMMENT = "tlstax"
"""The comment of the tables of a private server, where there are no others."""


@dataclass(frozen=True)
class Mark:
    """By which comment a table is known: that of a new one, and whether one that is there is ours."""

    comment: str
    is_ours: Callable[[str], bool]


PRIVATE = Mark(COMMENT, lambda comment: comment == COMMENT)


def not_ours(name: str) -> UserMistake:
    """The table is there, and tlstax did not make it."""
    return UserMistake(
        f"the schema already has a table {name} that tlstax did not make",
        remedy="rename or drop that table, or name another schema in the server's URL",
    )
