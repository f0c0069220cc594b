"""Words that are the same wherever sentences are made: a number of things, an enumeration, a hint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def counted(number: float | str, thing: str) -> str:
    """A number of things: "1 block", "3 blocks"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def enumerated(names: Iterable[str]) -> str:
    """Names in a row: "a", "a and b", "a, b and c"; empty for none."""
    *most, last = (*names,) or ("",)
    return f"{', '.join(most)} and {last}" if most else last


def closest(word: str, known: Iterable[str]) -> str:
    """A hint at the known word most like this one, or nothing."""
    near = get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def some_of(texts: Sequence[str], most: int, more: str = "and {} more") -> list[str]:
    """The first `most` of these, and how many more there are."""
    left = len(texts) - most
    return [*texts[:most], *([more.format(left)] if left > 0 else [])]
