"""Which component a stack belongs to: the rules of `components.toml`, checked when they are read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import cache
from importlib import resources

from pydantic import Field, ValidationError, model_validator

from tlstax.contract import Frozen
from tlstax.records.profiles.stacks import Frame, frames
from tlstax.support.plain_words import first_mistake

UNATTRIBUTED = "unattributed"
"""What no rule decides. It is a name beside the components', and none of them."""


class Rule(Frozen):
    """Which frames a rule knows, as `components.toml` explains; `libraries` are names of its table."""

    libraries: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    unless_under: tuple[str, ...] = ()
    fallback: bool = False


class Component(Frozen):
    """A kind of work, by the name that users read, and the rules that know it."""

    name: str = Field(min_length=1)
    rules: tuple[Rule, ...] = Field(min_length=1)


class Rules(Frozen):
    """All components in their order, and the files that `libraries` of their rules stand for."""

    libraries: dict[str, tuple[str, ...]]
    components: tuple[Component, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_whole(self) -> Rules:
        names = [component.name for component in self.components]
        if len(set(names)) < len(names) or UNATTRIBUTED in names:
            raise ValueError("each component needs a name of its own")
        for component in self.components:
            for rule in component.rules:
                if not rule.libraries and not rule.functions:
                    raise ValueError(f"{component.name}: a rule must name a library or a function")
                if unknown := set(rule.libraries) - set(self.libraries):
                    raise ValueError(f"{component.name}: no libraries are called {', '.join(unknown)}")
        return self


class Classifier:
    """The rules made ready: what component a stack belongs to. Every frame is matched once and remembered."""

    def __init__(self, rules: Rules) -> None:
        self._rules = [
            (
                component.name,
                rule,
                _library_pattern(rule, rules),
                _pattern(rule.functions),
                _pattern(rule.unless_under),
            )
            for component in rules.components
            for rule in component.rules
        ]
        self._known: dict[Frame, tuple[int, ...]] = {}
        self._decided: dict[str, str] = {}

    def component(self, stack: str) -> str:
        """The component of a stack (folded text), or UNATTRIBUTED."""
        if stack not in self._decided:
            self._decided[stack] = self._decide(frames(stack))
        return self._decided[stack]

    def _decide(self, from_root: Sequence[Frame]) -> str:
        for fallback in (False, True):
            for place in range(len(from_root) - 1, -1, -1):
                for number in self._rules_of(from_root[place]):
                    name, rule, _, _, unless = self._rules[number]
                    if rule.fallback == fallback and not _any(unless, from_root[:place]):
                        return name
        return UNATTRIBUTED

    def _rules_of(self, frame: Frame) -> tuple[int, ...]:
        if frame not in self._known:
            self._known[frame] = tuple(
                number
                for number, (_, _, library, function, _) in enumerate(self._rules)
                if (library is None or library.match(frame.library))
                and (function is None or function.match(frame.function))
            )
        return self._known[frame]


@cache
def rules() -> Rules:
    """The built-in rules. Raises ValueError where the file is not what it must be."""
    return read_rules(
        (resources.files("tlstax.records.profiles") / "components.toml").read_text(encoding="utf-8")
    )


@cache
def classifier() -> Classifier:
    """The built-in rules, ready."""
    return Classifier(rules())


def read_rules(text: str) -> Rules:
    """Rules from TOML. Raises ValueError with what is wrong."""
    try:
        return Rules.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise ValueError(f"components.toml: {first_mistake(error)}") from None


def component_order() -> tuple[str, ...]:
    """The components' names in the order of the rules, what is unattributed last."""
    return (*(component.name for component in rules().components), UNATTRIBUTED)


def _library_pattern(rule: Rule, rules: Rules) -> re.Pattern[str] | None:
    return _pattern([pattern for name in rule.libraries for pattern in rules.libraries[name]])


def _pattern(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """One expression for all the shell patterns; None for none of them."""
    texts = [translate(pattern) for pattern in patterns]
    return re.compile("|".join(texts)) if texts else None


def _any(pattern: re.Pattern[str] | None, found: Sequence[Frame]) -> bool:
    return pattern is not None and any(pattern.match(frame.function) for frame in found)
