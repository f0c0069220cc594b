"""A workload that a user wrote: the contract's words, with the table and the bounds left open."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from tlstax.contract import Digits, Frozen, Offset, OneOf, Protocol

Bound = int | Literal["rows"]
"""A number, or how many rows the table has."""


class UserUniformInt(Frozen):
    """As the contract's, with bounds that may be the table's rows."""

    kind: Literal["uniform_int"] = "uniform_int"
    low: Bound = 1
    high: Bound = "rows"


class UserSequence(Frozen):
    """As the contract's, with bounds that may be the table's rows."""

    kind: Literal["sequence"] = "sequence"
    first: Bound = 1
    last: Bound = "rows"


UserParameter = Annotated[
    UserUniformInt | UserSequence | Offset | Digits | OneOf, Field(discriminator="kind")
]


class UserStatement(Frozen):
    """One statement; `{table}` stands for the table, `{name}` for the parameter of that name."""

    sql: str = Field(min_length=1)
    parameters: dict[str, UserParameter] = {}
    repeat: PositiveInt = 1
    protocol: Protocol | None = None


class UserTransaction(Frozen):
    """Statements that are one operation, drawn by weight; see the contract."""

    weight: PositiveInt = 1
    bracketed: bool = False
    parameters: dict[str, UserParameter] = {}
    statements: tuple[UserStatement, ...] = Field(min_length=1)


class UserWorkload(Frozen):
    """A workload as its file has it.

    `table` is the shape of the table that is filled for it. `prepare` is said once before the first trial,
    `restore` before every trial, by the laboratory, in its schema: for tables of the user's own.
    """

    name: str = Field(min_length=1, pattern=r"^[a-z0-9][a-z0-9._-]*$")
    table: Literal["sbtest", "people"] = "sbtest"
    reconnect: bool = False
    protocol: Protocol = "text"
    on_connect: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    restore: tuple[str, ...] = ()
    transactions: tuple[UserTransaction, ...] = Field(min_length=1)
