"""What may leave the machine: a document in which only texts of fields known to be public stay. Pure.

A type's fields are classified by name, each with a rule that says what stays of its text. Numbers, truth
values and words of a closed list (`Literal`) stay of any field. Whatever is not classified is left out.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar

from tlstax.contract import Frozen

Rule = Callable[[str], str | None]
"""What stays of a text: itself, another one, or None for nothing."""

Kept = TypeVar("Kept", bound=Frozen)


@dataclass(frozen=True)
class Texts:
    """The rules of a table: one for its keys, one for what they lead to."""

    keys: Rule
    values: Rule = lambda _: None


Fields = Mapping[type[Frozen], Mapping[str, Rule | Texts]]
"""A rule for each field in which any text may stand, by the type that it belongs to."""


def out(_: str) -> None:
    """Nothing stays."""


def always(word: str) -> Rule:
    """The same word, whatever stood there."""
    return lambda text: word if text else text


def form(pattern: str, otherwise: str | None = None) -> Rule:
    """What has this form; `otherwise` in the place of any other text."""
    wanted = re.compile(pattern)
    return lambda text: text if not text or wanted.fullmatch(text) else otherwise


class Public:
    """Documents as they may leave the machine; `without` are types of which no value may."""

    def __init__(self, fields: Fields, without: tuple[type[Frozen], ...] = ()) -> None:
        self.fields, self.without = fields, without
        self._known: dict[type[Frozen], Mapping[str, Rule | Texts]] = {}

    def of(self, value: Kept) -> Kept:
        """The same document with what is public."""
        kind = type(value)
        kept = {name: self.field(kind, name, getattr(value, name)) for name in kind.model_fields}
        return kind.model_validate(kept, by_name=True)

    def field(self, kind: type[Frozen], name: str, value: Any) -> Any:
        """What of a field's value is public."""
        rule = self._rules(kind).get(name, out) if name in open_fields(kind) else None
        return _or_nothing(kind, name, self._public(value, rule))

    def unclassified(self, root: type[Frozen]) -> list[str]:
        """Fields below this type that any text may stand in, and for which there is no rule."""
        return [
            f"{kind.__name__}.{name}"
            for kind in types_below(root)
            if kind not in self.without
            for name in sorted(open_fields(kind) - self._rules(kind).keys())
        ]

    def _rules(self, kind: type[Frozen]) -> Mapping[str, Rule | Texts]:
        """Those of the type and of the types that it is made from."""
        if kind not in self._known:
            bases = (self.fields.get(base, {}) for base in reversed(kind.__mro__))
            self._known[kind] = {name: rule for rules in bases for name, rule in rules.items()}
        return self._known[kind]

    def _public(self, value: Any, rule: Rule | Texts | None) -> Any:
        if isinstance(value, Frozen):
            return self.of(value)
        if isinstance(value, Mapping):
            return self._table(value, rule)
        if isinstance(value, tuple | list):
            kept = ((own, self._public(own, rule)) for own in value if not isinstance(own, self.without))
            return tuple(public for own, public in kept if public is not None or own is None)
        if not isinstance(value, str) or rule is None:
            return value
        return (rule.values if isinstance(rule, Texts) else rule)(value)

    def _table(self, value: Mapping[Any, Any], rule: Rule | Texts | None) -> dict[Any, Any]:
        """What keys lead to that have become the same is added up, where it is numbers."""
        kept: dict[Any, Any] = {}
        for key, own in value.items():
            public_key, public = self._key(key, rule), self._public(own, rule)
            if public_key is not None and public is not None:
                both = public_key in kept and isinstance(public, int)
                kept[public_key] = kept[public_key] + public if both else public
        return kept

    @staticmethod
    def _key(key: Any, rule: Rule | Texts | None) -> Any:
        if not isinstance(key, str) or rule is None:
            return key
        return (rule.keys if isinstance(rule, Texts) else rule)(key)


def _or_nothing(kind: type[Frozen], name: str, value: Any) -> Any:
    """A text that is left out is None where there may be none, and empty elsewhere."""
    return "" if value is None and not _takes_none(kind, name) else value


@cache
def _takes_none(kind: type[Frozen], name: str) -> bool:
    return type(None) in _leaves(kind.model_fields[name].annotation)


@cache
def open_fields(kind: type[Frozen]) -> frozenset[str]:
    """The type's fields in which any text may stand, itself or within a table or list."""
    return frozenset(
        name for name, field in kind.model_fields.items() if str in set(_leaves(field.annotation))
    )


def types_below(root: type[Frozen]) -> Iterator[type[Frozen]]:
    """The type and all types that its fields may have, each once."""
    seen: dict[type[Frozen], None] = {}
    waiting = [root]
    while waiting:
        kind = waiting.pop()
        if kind not in seen:
            seen[kind] = None
            fields = kind.model_fields.values()
            waiting += [
                leaf
                for field in fields
                for leaf in _leaves(field.annotation)
                if isinstance(leaf, type) and issubclass(leaf, Frozen)
            ]
    return iter(seen)


_CLOSED = (Frozen, int, float, type(None))
"""Types in which no text stands but in fields of their own; in any other, such as a case, some may."""


def _leaves(annotation: Any) -> Iterator[Any]:
    """What an annotation is made of in the end; the words of a `Literal` are no text."""
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return
    arguments = typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from _leaves(arguments[0])
    elif origin is typing.Union or isinstance(annotation, UnionType) or arguments:
        for inner in arguments:
            yield from _leaves(inner)
    elif isinstance(annotation, type) and issubclass(annotation, _CLOSED):
        yield annotation
    elif annotation is not Ellipsis:
        yield str
