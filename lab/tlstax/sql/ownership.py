"""Objects of a schema, the table in which a run records those that it makes, locks, and marks of own tables.

What each product says of its own is in its room (`ownership_table.py`, `session.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

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


class OwnershipTable(ABC):
    """The table of one schema in which a run records what it makes there, and that it is at work there.

    Rows are only added. `external/made.py` says why. `made_by` is the statement that makes it, with a place
    for the comment by which it is known as ours; `{0}` stands in it for the table. `beside` are a column and
    its value that a product has beside the others; `taken` and `missing` the codes by which a server says
    that there is such a table, or none. All methods raise SqlError.
    """

    made_by: ClassVar[str]
    beside: ClassVar[tuple[str, str]] = ("", "")
    taken: ClassVar[frozenset[int] | frozenset[str]]
    missing: ClassVar[frozenset[int] | frozenset[str]]

    def __init__(self, schema: str) -> None:
        self._table = f"{self.quoted(schema)}.{RECORD}"

    @staticmethod
    @abstractmethod
    def quoted(name: str) -> str:
        """The schema's name for a statement."""

    @property
    def _with_values(self) -> str:
        """Its name in a statement with places for values, where a % is doubled."""
        return self._table.replace("%", "%%")

    def create(self, database: Database, comment: str) -> bool:
        """Create it, empty; False where there is one of its name."""
        try:
            answers.carry_out(database, self.made_by.format(self._with_values), comment)
        except SqlError as error:
            if error.code in self.taken:
                return False
            raise
        return True

    def add(self, database: Database, run: str, node: str, entry: Entry) -> None:
        """Add an entry of this run, which is at work on this node from now on."""
        column, value = self.beside
        answers.carry_out(
            database,
            f"INSERT INTO {self._with_values} (run, {', '.join(Entry._fields)}, node{column}) VALUES"  # noqa: S608
            f" (%s, %s, %s, %s, %s, %s, %s{value})",
            run,
            *entry,
            node,
        )

    def has(self, database: Database, run: str) -> bool | None:
        """Whether it has an entry of this run; None where there is no such table."""
        asked = f"SELECT COUNT(*) FROM {self._with_values} WHERE run = %s"  # noqa: S608
        try:
            return answers.number(answers.row(database, asked, run, columns=1)[0]) > 0
        except SqlError as error:
            if error.code in self.missing:
                return None
            raise

    def is_empty(self, database: Database) -> bool:
        """Whether it has no entry at all."""
        asked = f"SELECT COUNT(*) FROM {self._table}"  # noqa: S608
        return answers.number(answers.row(database, asked, columns=1)[0]) == 0

    def busy_elsewhere_s(self, database: Database, node: str) -> int:  # noqa: ARG002
        """How long a run on another node is known to be at work, 0 where none is, or the lock says so."""
        return 0

    def entries(self, database: Database) -> list[Entry]:
        """All entries, of whichever run, in the order in which they were added."""
        asked = f"SELECT {', '.join(Entry._fields)} FROM {self._table} ORDER BY id"  # noqa: S608
        return [
            Entry(*("" if value is None else str(value) for value in row))
            for row in answers.rows(database, asked, columns=len(Entry._fields))
        ]

    def claimed_things(self, database: Database) -> list[tuple[str, str, str]]:
        """Kind, name and sign in each row of a table of this name, whoever made it; it may have none."""
        asked = f"SELECT DISTINCT kind, name, sign FROM {self._table} WHERE kind <> ''"  # noqa: S608
        try:
            found = answers.rows(database, asked, columns=3)
        except SqlError as error:
            if error.is_of_connection:
                raise
            return []
        return [(str(kind), str(name), str(sign)) for kind, name, sign in found]


class Lock(ABC):
    """A lock that a connection has at the server, by its name. All methods raise SqlError.

    `taken_by` is the number of the connection that took it here.
    """

    PATIENCE_S: ClassVar[int] = 10
    """How long a connection of ours that was cut may take to end after it is told to."""

    taken_by: int | None = None

    @abstractmethod
    def take(self, database: Database, wait_s: int = 0) -> bool:
        """Whether it is this connection's now."""

    @abstractmethod
    def is_held(self, database: Database) -> bool:
        """Whether this connection, which took it, has it still."""

    @abstractmethod
    def holder(self, database: Database) -> int | None:
        """The number of the connection that has it, None where none has."""

    @abstractmethod
    def end_holder(self, database: Database) -> None:
        """Have the server end the connection that took the lock here, if it still holds it."""

    def take_again(self, database: Database) -> bool:
        """Take it on a new connection after the one that held it was cut; False where another has it.

        A connection that the server has not noticed the end of holds it still, and is ended.
        """
        holder = self.holder(database)
        if holder is None:
            return self.take(database)
        if holder != self.taken_by:
            return False
        self.end_holder(database)
        return self.take(database, self.PATIENCE_S)


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
