"""A workload that a user wrote: the contract's words, with the table and the bounds left open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from tlstax.contract import (
    Digits,
    Frozen,
    Offset,
    OneOf,
    Parameter,
    Protocol,
    Sequence,
    Statement,
    Transaction,
    UniformInt,
    Workload,
)
from tlstax.study.level_names import TABLE_RECONNECT, TABLE_SELECT, WORKLOADS
from tlstax.study.workloads.effects import Shape
from tlstax.study.workloads.sized import Session
from tlstax.support.text import closest

Bound = int | Literal["rows"]
"""A number, or how many rows the table has."""

TABLE = "table"
"""The placeholder that stands for the table's name."""

ID = "id"
"""The parameter that need not be declared: a row's id, drawn evenly, as in sysbench's statements."""

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class UserUniformInt(Frozen):
    """As the contract's, with bounds that may be the table's rows."""

    kind: Literal["uniform_int"] = "uniform_int"
    low: Bound = 1
    high: Bound = "rows"

    @model_validator(mode="after")
    def _goes_up(self) -> Self:
        _check_order(self.low, self.high)
        return self


class UserSequence(Frozen):
    """As the contract's, with bounds that may be the table's rows."""

    kind: Literal["sequence"] = "sequence"
    first: Bound = 1
    last: Bound = "rows"

    @model_validator(mode="after")
    def _goes_up(self) -> Self:
        _check_order(self.first, self.last)
        return self


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

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        for statement in self.statements:
            _check_statement(statement, self.parameters)
        _check_used(
            "of the transaction",
            self.parameters,
            (each.sql for each in self.statements),
            (each.parameters for each in self.statements),
        )
        _check_offsets(self.parameters, {})
        return self


class UserWorkload(Frozen):
    """A workload as its file has it.

    `table` is the shape of the table that is filled for it. `prepare` is said once before the first trial,
    `restore` before every trial, or once for those that take turns, by the laboratory, in its schema: for
    tables of the user's own.
    """

    name: str = Field(min_length=1, pattern=r"^[a-z0-9][a-z0-9._-]*$")
    table: Shape = "sbtest"
    reconnect: bool = False
    protocol: Protocol = "text"
    on_connect: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    restore: tuple[str, ...] = ()
    transactions: tuple[UserTransaction, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.name in WORKLOADS or Session.named(self.name):
            raise ValueError(f"name: {self.name!r} is a built-in workload; give yours another name")
        for field, statements in self.said_by_themselves().items():
            for sql in statements:
                for name in placeholders(sql):
                    if name != TABLE:
                        raise ValueError(
                            f"{field}: {_quoted(sql)} may have {{{TABLE}}} alone, not {{{name}}}"
                        )
        return self

    def said_by_themselves(self) -> dict[str, tuple[str, ...]]:
        """The statements outside operations, by their field."""
        return {"on_connect": self.on_connect, "prepare": self.prepare, "restore": self.restore}


def placeholders(sql: str) -> Iterator[str]:
    """The names in braces, in their order; ValueError for a single brace."""
    for found in _BRACES.finditer(sql):
        if found[0] in {"{", "}"}:
            raise ValueError(f"there is a single brace in {_quoted(sql)}; a literal brace is written twice")
        if found[1] is not None:
            yield found[1]


def as_workload(own: UserWorkload, table: str, rows: int) -> Workload:
    """The contract's workload, over `rows` rows of the table of that name."""
    transactions = tuple(
        Transaction(
            weight=one.weight,
            bracketed=one.bracketed,
            parameters=_bounded(one.parameters, rows),
            statements=tuple(_statement(each, one.parameters, table, rows) for each in one.statements),
        )
        for one in own.transactions
    )
    return Workload(
        reconnect=own.reconnect,
        protocol=own.protocol,
        mix=transactions,
        on_connect=tuple(with_table(sql, table) for sql in own.on_connect),
    )


def names_table(own: UserWorkload) -> bool:
    """Whether any of its statements has to do with the table that is filled for it."""
    said = (sql for statements in own.said_by_themselves().values() for sql in statements)
    operations = (each.sql for one in own.transactions for each in one.statements)
    return any(TABLE in placeholders(sql) for sql in (*said, *operations))


def is_one_sequence(own: UserWorkload) -> bool:
    """Whether each operation is the same statements, in no transaction, with no value that they share."""
    first = own.transactions[0]
    return len(own.transactions) == 1 and not first.bracketed and not first.parameters


def with_table(sql: str, table: str) -> str:
    """A statement without parameters, as the server gets it: the table named, doubled braces single."""
    return with_named_table(sql, table).replace("{{", "{").replace("}}", "}")


def with_named_table(sql: str, table: str) -> str:
    """The statement with the table's name in place of `{table}`; all other braces stay."""
    return _BRACES.sub(lambda found: table if found[1] == TABLE else found[0], sql)


def _statement(own: UserStatement, shared: Mapping[str, UserParameter], table: str, rows: int) -> Statement:
    parameters = _bounded(own.parameters, rows)
    used = {*placeholders(own.sql), *_bases(own.parameters)}
    if ID in used and ID not in {*parameters, *shared}:
        parameters[ID] = UniformInt(low=1, high=rows)
    return Statement(
        sql=with_named_table(own.sql, table), parameters=parameters, repeat=own.repeat, protocol=own.protocol
    )


def _bounded(parameters: Mapping[str, UserParameter], rows: int) -> dict[str, Parameter]:
    return {name: _with_bounds(parameter, rows) for name, parameter in parameters.items()}


def _with_bounds(parameter: UserParameter, rows: int) -> Parameter:
    def number(bound: Bound) -> int:
        return rows if bound == "rows" else bound

    if isinstance(parameter, UserUniformInt):
        return UniformInt(low=number(parameter.low), high=number(parameter.high))
    if isinstance(parameter, UserSequence):
        return Sequence(first=number(parameter.first), last=number(parameter.last))
    return parameter


def _check_order(first: Bound, last: Bound) -> None:
    if isinstance(first, int) and isinstance(last, int) and first > last:
        raise ValueError(f"it begins at {first} and ends at {last}, so there is no value")


def _check_statement(statement: UserStatement, shared: Mapping[str, UserParameter]) -> None:
    known = {*statement.parameters, *shared, TABLE, ID}
    for name in placeholders(statement.sql):
        if name not in known:
            raise ValueError(
                f"{_quoted(statement.sql)} has {{{name}}}, which is not a parameter{closest(name, known)}"
            )
    _check_used(f"of {_quoted(statement.sql)}", statement.parameters, [statement.sql])
    _check_offsets(statement.parameters, shared)


def _check_used(
    whose: str,
    parameters: Mapping[str, UserParameter],
    texts: Iterable[str],
    others: Iterable[Mapping[str, UserParameter]] = (),
) -> None:
    """Every parameter is in a statement, or another one counts from it."""
    used = {name for sql in texts for name in placeholders(sql)}
    for each in (parameters, *others):
        used |= _bases(each)
    for name in parameters:
        if name == TABLE:
            raise ValueError(f"{TABLE} {whose} stands for the table's name; give it another name")
        if name not in used:
            raise ValueError(f"no statement has {{{name}}}, a parameter {whose}")


def _bases(parameters: Mapping[str, UserParameter]) -> set[str]:
    """The parameters that others count from."""
    return {one.of for one in parameters.values() if isinstance(one, Offset)}


def _check_offsets(parameters: Mapping[str, UserParameter], shared: Mapping[str, UserParameter]) -> None:
    known = {**shared, **parameters}
    for name, parameter in parameters.items():
        if not isinstance(parameter, Offset):
            continue
        base = known.get(parameter.of, UserUniformInt() if parameter.of == ID else None)
        if not isinstance(base, UserUniformInt | UserSequence):
            raise ValueError(  # noqa: TRY004 - pydantic takes ValueErrors
                f"{name} counts from {parameter.of!r}, which is not a number in the same statement "
                f"or transaction{closest(parameter.of, known)}"
            )


def _quoted(sql: str) -> str:
    """A statement for a sentence, its beginning alone where it is long."""
    return f"'{sql}'" if len(sql) <= 60 else f"'{sql[:57]}...'"


def reading_keys(table: str, column: str, low: int, high: int) -> dict[str, UserWorkload]:
    """Selects of one key of this range: on connections that are kept, and each on one of its own.

    The key alone is read, so that nothing of a row is kept or shown. The names are quoted.
    """
    key, named = _braced(column), _braced(table)
    sql = f"SELECT {key} FROM {named} WHERE {key} = {{key}}"  # noqa: S608 (quoted)
    drawn: dict[str, Any] = {"kind": "uniform_int", "low": low, "high": high}
    operation = {"transactions": [{"statements": [{"sql": sql, "parameters": {"key": drawn}}]}]}
    return {
        name: UserWorkload.model_validate({"name": name, **how, **operation})
        for name, how in (
            (TABLE_SELECT, {"protocol": "prepared"}),
            (TABLE_RECONNECT, {"reconnect": True}),
        )
    }


def _braced(name: str) -> str:
    """The name where braces stand for something."""
    return name.replace("{", "{{").replace("}", "}}")
