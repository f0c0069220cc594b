"""The statements of a job as mysqlslap has them, in the files that it reads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from tlstax.clients.adapter import Refusal
from tlstax.contract import Digits, Offset, OneOf, Parameter, Sequence, Statement, Transaction, Workload

DELIMITER = "\n"
"""What ends a statement of a query file (mysqlslap's --delimiter, where none is given)."""

_PLACE = re.compile(r"\{\{|\{(\w+)\}")

Values = Mapping[str, int | str]


class UsedUp(Exception):
    """A sequence has no further value."""


class Written:
    """Draws operations one after another; all sequences go on where the last operation left them."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self._workload = workload
        self._transactions = workload.transactions
        self._weights = [transaction.weight for transaction in self._transactions]
        self._random = Random(seed)  # noqa: S311 (statements, not secrets)
        self._next: dict[int, int] = {}

    def operation(self) -> list[str]:
        """The statements of one operation. UsedUp when a sequence has ended."""
        (transaction,) = self._random.choices(self._transactions, self._weights)
        return list(self._statements(transaction))

    def operations(self, most: int) -> list[list[str]]:
        """That many operations, or fewer where a sequence ends."""
        drawn: list[list[str]] = []
        try:
            while len(drawn) < most:
                drawn.append(self.operation())
        except UsedUp:
            pass
        return drawn

    def left(self) -> float:
        """How many values the sequence that ends first still has; infinite without one."""
        sequences = [
            parameter for parameter in _parameters(self._workload) if isinstance(parameter, Sequence)
        ]
        return min((one.last - self._next.get(id(one), one.first) + 1 for one in sequences), default=math.inf)

    def _statements(self, transaction: Transaction) -> Iterator[str]:
        shared = self._drawn(transaction.parameters, {})
        if transaction.bracketed:
            yield "BEGIN"
        for statement in transaction.statements:
            for _ in range(statement.repeat):
                yield self._text(statement, shared)
        if transaction.bracketed:
            yield "COMMIT"

    def _text(self, statement: Statement, shared: Values) -> str:
        values = {**shared, **self._drawn(statement.parameters, shared)}
        text = _PLACE.sub(lambda place: _put(values, place[1]), statement.sql)
        if DELIMITER in text:
            raise Refusal("mysqlslap takes the end of a line for the end of a statement")
        return text

    def _drawn(self, parameters: Mapping[str, Parameter], known: Values) -> dict[str, int | str]:
        values = {
            name: self._value(parameter)
            for name, parameter in parameters.items()
            if not isinstance(parameter, Offset)
        }
        for name, parameter in parameters.items():
            if isinstance(parameter, Offset):
                values[name] = int({**known, **values}[parameter.of]) + parameter.by
        return values

    def _value(self, parameter: Parameter) -> int | str:
        match parameter:
            case Sequence():
                value = self._next.get(id(parameter), parameter.first)
                if value > parameter.last:
                    raise UsedUp
                self._next[id(parameter)] = value + 1
                return value
            case Digits():
                return re.sub("#", lambda _: str(self._random.randrange(10)), parameter.template)
            case OneOf():
                return self._random.choice(parameter.values)
            case Offset():
                raise AssertionError("an offset is worked out from the value that it is of")
            case _:
                return self._random.randint(parameter.low, parameter.high)


def has_sequence(workload: Workload) -> bool:
    """Whether values are drawn that are to be used once, over all connections."""
    return any(isinstance(parameter, Sequence) for parameter in _parameters(workload))


def only_reads(workload: Workload) -> bool:
    """Whether every statement is a SELECT, so that running one more often changes nothing."""
    return _all_are("SELECT", workload)


def only_adds(workload: Workload) -> bool:
    """Whether every statement is an INSERT: run again, it adds again, or the server refuses the key."""
    return _all_are("INSERT", workload)


def _all_are(verb: str, workload: Workload) -> bool:
    return all(
        statement.sql.lstrip().upper().startswith(verb)
        for transaction in workload.transactions
        for statement in transaction.statements
    )


def _parameters(workload: Workload) -> Iterator[Parameter]:
    for transaction in workload.transactions:
        yield from transaction.parameters.values()
        for statement in transaction.statements:
            yield from statement.parameters.values()


def _put(values: Values, name: str | None) -> str:
    """What stands in the place of `{name}`, or of `{{`."""
    if name is None:
        return "{"
    if name not in values:
        raise Refusal(f"a statement of the job has a place for no parameter {name!r}")
    return _literal(values[name])


def _literal(value: int | str) -> str:
    """The value as MySQL reads it in a statement (reference manual, "String Literals")."""
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


MOST_LINES = 200_000
"""A longer file would only cost memory; a connection that comes to its end begins again."""


@dataclass(frozen=True)
class QueryFile:
    """What every connection sends, how many `queries` of it, and how many `operations` those are.

    A connection that has come to the file's end begins it again, with the statements of `on_connect`.
    """

    statements: tuple[str, ...]
    queries: int
    operations: int


def query_file(written: Written, operations: int, on_connect: tuple[str, ...]) -> QueryFile:
    """The file with about as many operations as wanted, fewer where a sequence ends before.

    Refusal where none is left, or where a statement has more than one line.
    """
    if any(DELIMITER in text for text in on_connect):
        raise Refusal("mysqlslap takes the end of a line for the end of a statement")
    lines = list(on_connect)
    drawn = 0
    while drawn < operations and len(lines) < MOST_LINES:
        more = written.operations(1)
        if not more:
            break
        lines += more[0]
        drawn += 1
    if not drawn:
        raise Refusal("every value of the workload's sequence was used up before the window")
    times = max(1, operations // drawn) if len(lines) >= MOST_LINES else 1
    return QueryFile(statements=tuple(lines), queries=times * len(lines), operations=times * drawn)
