"""Statements with placeholders, filled in with values that are drawn for each run."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from driver_contract.failure import bad_job
from driver_contract.fields import Fields

Value = int | str
Draw = Callable[[random.Random, dict[str, Value]], Value]
PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Exhausted(Exception):
    """A sequence has given its last number: the window ends, and that is no error."""


class Sequence:
    """Numbers from first to last, each once, over all connections of the job."""

    def __init__(self, first: int, last: int) -> None:
        self._next, self._last = first, last
        self._lock = threading.Lock()

    def __call__(self, rng: random.Random, drawn: dict[str, Value]) -> int:  # noqa: ARG002
        """The next number. Raises Exhausted."""
        with self._lock:
            if self._next > self._last:
                raise Exhausted
            self._next += 1
            return self._next - 1


@dataclass(frozen=True)
class Statement:
    """One statement: texts and the names of values in turn, how values are drawn, and how it is sent."""

    texts: tuple[str, ...]
    names: tuple[str, ...]
    draws: Mapping[str, Draw]
    repeat: int
    prepared: bool

    @property
    def is_select(self) -> bool:
        """Whether it only reads."""
        return self.texts[0].lstrip()[:6].upper() == "SELECT"

    def draw(self, rng: random.Random) -> tuple[Value, ...]:
        """Values for one run, in the order of the placeholders. Raises Exhausted."""
        drawn: dict[str, Value] = {}
        for name, draw in self.draws.items():
            drawn[name] = draw(rng, drawn)
        return tuple(drawn[name] for name in self.names)

    def literal(self, values: tuple[Value, ...]) -> str:
        """The statement as text, with the values put in."""
        parts = [self.texts[0]]
        for value, text in zip(values, self.texts[1:], strict=True):
            parts += (literal(value), text)
        return "".join(parts)

    def marked(self, percent: str) -> str:
        """The statement with `%s` for each value, and for a percent sign what the driver wants there."""
        return "%s".join(text.replace("%", percent) for text in self.texts)


def literal(value: Value) -> str:
    """A value as it stands in a statement, whatever the session's sql_mode says of backslashes."""
    if isinstance(value, int):
        return str(value)
    if "\\" in value:
        return f"_utf8mb4 0x{value.encode().hex()}"
    return "'" + value.replace("'", "''") + "'"


def statement_of(document: object, protocol: str) -> Statement:
    """A statement of the job. Raises Failure (bad_job)."""
    fields = Fields(document, "statement")
    sql = fields.take("sql", str)
    parameters = fields.take("parameters", dict, {})
    own = fields.maybe("protocol", str) or protocol
    repeat = fields.take("repeat", int, 1)
    fields.end()
    if own not in {"text", "prepared"}:
        raise bad_job(f"protocol is neither text nor prepared: {own}")
    texts, names = _pieces(sql, parameters)
    return Statement(texts, names, _draws(parameters), repeat, own == "prepared")


def _pieces(sql: str, parameters: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    texts, names, end = [""], [], 0
    for match in PIECE.finditer(sql):
        texts[-1] += sql[end : match.start()]
        end = match.end()
        if match[0] in {"{{", "}}"}:
            texts[-1] += match[0][0]
        elif match[1] is None:
            raise bad_job(f"a brace stands alone (write it twice) in: {sql}")
        elif match[1] not in parameters:
            raise bad_job(f"placeholder {{{match[1]}}} has no parameter of that name")
        else:
            names.append(match[1])
            texts.append("")
    texts[-1] += sql[end:]
    return tuple(texts), tuple(names)


def _draws(parameters: Mapping[str, Any]) -> dict[str, Draw]:
    """How each value is drawn, so ordered that what an offset counts from comes before it."""
    made = {name: _draw_of(name, each, parameters) for name, each in parameters.items()}

    def depth(name: str, seen: tuple[str, ...] = ()) -> int:
        if name in seen:
            raise bad_job(f"parameter {name} is an offset of itself")
        of = parameters[name].get("of")
        return 0 if of is None else 1 + depth(of, (*seen, name))

    return {name: made[name] for name in sorted(made, key=depth)}


def _draw_of(name: str, document: object, parameters: Mapping[str, Any]) -> Draw:
    fields = Fields(document, f"parameter {name}")
    kind = fields.take("kind", str)
    if kind == "uniform_int":
        draw = _uniform(fields.take("low", int), fields.take("high", int))
    elif kind == "sequence":
        draw = Sequence(fields.take("first", int), fields.take("last", int))
    elif kind == "offset":
        of = fields.take("of", str)
        if of not in parameters:
            raise bad_job(f"parameter {name} is an offset of {of}, which is none")
        draw = _offset(of, fields.take("by", int))
    elif kind == "digits":
        draw = _digits(fields.take("template", str))
    elif kind == "one_of":
        draw = _one_of(tuple(fields.take("values", list)))
    else:
        raise bad_job(f"parameter {name} is of a kind that this client does not know: {kind}")
    fields.end()
    return draw


def _uniform(low: int, high: int) -> Draw:
    if low > high:
        raise bad_job(f"uniform_int has nothing between {low} and {high}")
    return lambda rng, _drawn: rng.randint(low, high)


def _offset(of: str, by: int) -> Draw:
    return lambda _rng, drawn: int(drawn[of]) + by


def _digits(template: str) -> Draw:
    count = template.count("#")
    pattern = template.replace("%", "%%").replace("#", "%s")
    return lambda rng, _drawn: pattern % tuple(f"{rng.randrange(10**count):0{count}d}") if count else template


def _one_of(values: tuple[str, ...]) -> Draw:
    if not values:
        raise bad_job("one_of has no values")
    return lambda rng, _drawn: rng.choice(values)
