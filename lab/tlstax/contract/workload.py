"""What one operation is, as a job tells it: statements and their parameters, transactions, a storm."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, PositiveInt, model_validator

from tlstax.contract.frozen import Frozen


class UniformInt(Frozen):
    """An integer drawn evenly from low to high, both included."""

    kind: Literal["uniform_int"] = "uniform_int"
    low: int
    high: int


class Sequence(Frozen):
    """The next integer from first to last, over all connections; when it is used up, the window ends."""

    kind: Literal["sequence"] = "sequence"
    first: int
    last: int


class Offset(Frozen):
    """The value of another parameter of the same statement or transaction, and this much more."""

    kind: Literal["offset"] = "offset"
    of: str
    by: int


class Digits(Frozen):
    """Text in which each `#` of the template is a random digit, as sysbench fills its columns."""

    kind: Literal["digits"] = "digits"
    template: Annotated[str, Field(min_length=1)]


class OneOf(Frozen):
    """One of these texts, drawn evenly."""

    kind: Literal["one_of"] = "one_of"
    values: Annotated[tuple[str, ...], Field(min_length=1)]


Parameter = Annotated[UniformInt | Sequence | Offset | Digits | OneOf, Field(discriminator="kind")]

Protocol = Literal["text", "prepared"]


class Statement(Frozen):
    """One SQL statement; `{name}` in `sql` stands for the parameter of that name, `{{` for a brace.

    It is run `repeat` times, with values drawn anew each time. `protocol` None is the workload's. Text is
    put in as a quoted literal, or bound as a string.
    """

    sql: str
    parameters: dict[str, Parameter] = {}
    repeat: PositiveInt = 1
    protocol: Protocol | None = None


class Transaction(Frozen):
    """Statements that are one operation, drawn among others by its weight.

    `parameters` are drawn once for all its statements, which may use them beside their own. `bracketed`,
    it begins with BEGIN and ends with COMMIT, as text.
    """

    weight: PositiveInt = 1
    bracketed: bool = False
    parameters: dict[str, Parameter] = {}
    statements: Annotated[tuple[Statement, ...], Field(min_length=1)]


class Workload(Frozen):
    """What one operation is; with `reconnect`, on a connection of its own.

    Either `statements`, all of them once, in order; or a `mix`, of which each operation is one
    transaction; or a `storm`, of which an operation is a connection opened and logged in. A storm's
    round opens all of the job's connections as fast as it can and closes them when the last is open; the
    closing is not timed. In an open loop each is opened when it is due, and closed when it is open.
    `on_connect` is said once on every connection, as text, before its first operation.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"properties": {"statements": {"minItems": 1}}},
                {"properties": {"mix": {"minItems": 1}}},
                {"properties": {"storm": {"const": True}}},
            ]
        }
    )
    reconnect: bool = False
    protocol: Protocol = "text"
    statements: tuple[Statement, ...] = ()
    mix: tuple[Transaction, ...] = ()
    storm: bool = False
    on_connect: tuple[str, ...] = ()

    @property
    def transactions(self) -> tuple[Transaction, ...]:
        """The mix; statements alone are one transaction without brackets, and a storm has none."""
        if self.mix or not self.statements:
            return self.mix
        return (Transaction(statements=self.statements),)

    @property
    def all_statements(self) -> tuple[Statement, ...]:
        """The statements of all its transactions."""
        return tuple(one for each in self.transactions for one in each.statements)

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """What is drawn for its transactions and for each of their statements."""
        return tuple(
            value
            for each in self.transactions
            for drawn in (each.parameters, *(one.parameters for one in each.statements))
            for value in drawn.values()
        )

    @property
    def protocols(self) -> frozenset[Protocol]:
        """How its statements are sent."""
        return frozenset(one.protocol or self.protocol for one in self.all_statements)

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        if (bool(self.statements), bool(self.mix), self.storm).count(True) != 1:
            raise ValueError("a workload has either statements or a mix of transactions, or is a storm")
        return self
