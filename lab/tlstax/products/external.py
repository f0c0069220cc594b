"""What a product answers of external servers beside what it answers of private ones.

There tlstax works in a schema of somebody else's server, has a lock on it, and keeps a record of what it
makes. A room is imported when a server of its family is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Literal, Protocol

from tlstax.products.product import Product, product_named
from tlstax.sql.database import Database, GuardedDatabase
from tlstax.sql.facts import Connected
from tlstax.sql.ownership import Kind, Lock, Named, OwnershipTable, Thing
from tlstax.study.product import Family


class Schemas(Protocol):
    """A schema and what is in it. Functions that ask the server raise SqlError."""

    @property
    def KINDS(self) -> tuple[Kind, ...]:  # noqa: N802 (a constant of the module)
        """The kinds of objects that tlstax, or a user's statement, makes."""
        ...

    @property
    def DROPPED_FIRST(self) -> tuple[Kind, ...]:  # noqa: N802
        """Those of them that go before tables."""
        ...

    @property
    def HOLDS_IT(self) -> str:  # noqa: N802
        """Why an object is not dropped that others need, as a clause."""
        ...

    @property
    def INTEGERS(self) -> frozenset[str]:  # noqa: N802
        """Types of whole numbers, as `column_types` calls them."""
        ...

    def own_name(self, database: Database, schema: str) -> str:
        """The schema that the user named, by the server's own name. UserMistake where it cannot be used."""
        ...

    def in_schema(self, schema: str, table: str) -> str:
        """What load clients, and the functions of `table`, call a table of the schema."""
        ...

    def exists(self, database: Database, name: str) -> bool:
        """Whether there is a schema of exactly this name that the account may see."""
        ...

    def comment_of(self, database: Database, name: str) -> str | None:
        """Its comment; None where this server has none."""
        ...

    def create(self, database: Database, name: str, comment: str | None) -> bool:
        """Create it, with a comment unless that is None; False where there is one of this name."""
        ...

    def use(self, database: Database, name: str) -> None:
        """Have the connection's statements work in it from now on."""
        ...

    def drop(self, database: Database, name: str) -> None:
        """Drop it; `why_kept` has been asked."""
        ...

    def drop_statement(self, name: str) -> str:
        """What drops the schema, for a user to paste."""
        ...

    def drop_table_if_there(self, database: Database, name: str, table: str) -> None:
        """Drop a table of the schema, if there are such ones."""
        ...

    def why_kept(self, database: Database, name: str, user: str) -> str:
        """Why dropping it might take something of others with it, as a clause; empty where it cannot."""
        ...

    def table_comments(self, database: Database, schema: str) -> dict[str, str]:
        """The comment of everything that has its name among the schema's tables."""
        ...

    def listed(self, database: Database, schema: str) -> set[str]:
        """All that the account sees in the schema, in words: `the table orders`."""
        ...

    def sign(self, database: Database, schema: str, thing: Thing) -> str | None:
        """What the object is known by; empty where too little is reported, None where it is not there."""
        ...

    def drop_object(self, database: Database, schema: str, thing: Thing) -> bool:
        """Drop it; False where a foreign key or the like of others keeps it, which is then still there."""
        ...

    def untie(self, database: Database, schema: str, tables: Collection[Thing]) -> bool:
        """Drop the foreign keys by which these tables refer to each other; whether there was one."""
        ...

    def object_drop_statements(self, database: Database, schema: str, things: Collection[Thing]) -> list[str]:
        """What a user pastes to drop these objects, in an order that works."""
        ...

    def set_table_comment(self, database: Database, schema: str, table: Thing, comment: str) -> None:
        """Give a table this comment."""
        ...

    def named_tables(self, database: Database, schema: str, names: Collection[str]) -> dict[str, Named]:
        """What the schema has of these names among its tables and their like."""
        ...

    def advances_sequence(self, database: Database, schema: str, table: str) -> bool:
        """Whether a column's default, which a copy of the table takes along, changes a sequence."""
        ...

    def functions_of_others(self, database: Database, schema: str, names: Collection[str]) -> set[str]:
        """Which of these names, in capitals, may stand for a function of others' there."""
        ...

    def reads_otherwise(self, database: Database) -> str:
        """Why the server reads SQL otherwise than it is read here, as a clause; empty where it does not."""
        ...

    def quoted(self, name: str) -> str:
        """A name for a statement."""
        ...

    def quoted_table(self, schema: str, table: str) -> str:
        """A table of the schema that is there, for a statement of load clients."""
        ...

    def column_types(self, database: Database, schema: str, table: str) -> dict[str, str]:
        """The type of each column of a table that is there, by its name in small letters; none without it."""
        ...

    def begins_index(self, database: Database, schema: str, table: str, column: str) -> bool:
        """Whether an index of the table begins with the column."""
        ...

    def key_range(self, database: Database, schema: str, table: str, column: str) -> tuple[int, int] | None:
        """The lowest and the highest value of a column of whole numbers; None of a table without rows."""
        ...


class Sessions(Protocol):
    """What holds for one connection. Functions that ask the server raise SqlError."""

    @property
    def IDLE_S(self) -> int:  # noqa: N802 (a constant of the module)
        """How long a connection of ours may be silent."""
        ...

    @property
    def JUST_ENDED_S(self) -> int:  # noqa: N802
        """How long a server may take to notice that a run has just ended."""
        ...

    def has_pooler(self, database: GuardedDatabase) -> bool:
        """Whether the connection is a pooler's, and statements on it whichever session's it chooses."""
        ...

    def pooler_leg(self, database: GuardedDatabase) -> Literal["TLS", "in the clear", "Unix socket"] | None:
        """How the pooler that is in front came to the server; None where none is, or that is not told."""
        ...

    def hindrance(self, database: Database, *, writes: bool) -> tuple[str, str] | None:
        """What the server sets for all connections that keeps load clients from their work, and what helps.

        The first follows the server's name. `writes` says whether they change data. None where nothing does.
        """
        ...

    def why_nothing_is_made(self, database: Database) -> tuple[str, str] | None:
        """What is known to let nothing be made there, which follows the server's name, and what helps."""
        ...

    def set_patience(self, database: Database, idle_s: int, locked_s: int) -> None:
        """How long it may be silent, and how long a statement of it waits for another's lock."""
        ...

    def heed_foreign_keys(self, database: Database) -> None:
        """Have the server refuse to drop what tables of others refer to, whatever its default is."""
        ...

    def create(self, database: Database, statement: str, *, if_not_exists: bool) -> bool:
        """Carry out a CREATE; whether it is known to have made the object."""
        ...

    def of_account(self, database: Database) -> frozenset[int]:
        """The numbers of this account's connections that the server still has, this one among them."""
        ...

    def NamedLock(self, name: str) -> Lock:  # noqa: N802 (a class of the module)
        """A lock by its name."""
        ...

    def SchemaLock(self, schema: str) -> Lock:  # noqa: N802
        """The lock of one schema, by the server's own name for it."""
        ...


class UseCounters(Protocol):
    """How a server is used. Functions that ask it raise SqlError."""

    @property
    def ASKED(self) -> Literal["statements", "transactions"]:  # noqa: N802 (a constant of the module)
        """What it counts of what clients ask."""
        ...

    @property
    def OWN(self) -> int:  # noqa: N802
        """How many of ours it counts between two readings, with `connected` in between."""
        ...

    @property
    def PERMIT(self) -> str:  # noqa: N802
        """What an account needs that is to see who is connected."""
        ...

    def read(self, database: Database) -> dict[str, int]:
        """Its counters, `connections` and `ASKED` among them where it has them."""
        ...

    def connected(self, database: Database) -> tuple[Connected, ...]:
        """Who is connected now, but for this connection."""
        ...

    def unread(self, counters: dict[str, int], found: Sequence[Connected]) -> tuple[str, ...]:
        """What of it was not told, and what would permit it or why there is none."""
        ...


@dataclass(frozen=True, kw_only=True)
class ExternalProduct(Product):
    """The modules by which external servers of a family are asked; its name is the family's.

    `ownership_table` is that of a schema.
    """

    schema: Schemas
    session: Sessions
    ownership_table: Callable[[str], OwnershipTable]
    use_counters: UseCounters


@cache
def external_product(family: Family) -> ExternalProduct:
    """The family of this name; its room is imported now, if it was not before."""
    private = product_named(family)
    of_both = {one.name: getattr(private, one.name) for one in fields(Product)}
    if family == "postgresql":
        from tlstax.postgres import (  # noqa: PLC0415 (others are not measured)
            ownership_table,
            schema,
            session,
            use_counters,
        )

        return ExternalProduct(
            **of_both,
            schema=schema,
            session=session,
            ownership_table=ownership_table.OwnershipTable,
            use_counters=use_counters,
        )
    from tlstax.mysql import ownership_table as records  # noqa: PLC0415 (the same)
    from tlstax.mysql import schema as schemas  # noqa: PLC0415
    from tlstax.mysql import session as sessions  # noqa: PLC0415
    from tlstax.mysql import use_counters as counters  # noqa: PLC0415

    return ExternalProduct(
        **of_both,
        schema=schemas,
        session=sessions,
        ownership_table=records.OwnershipTable,
        use_counters=counters,
    )
