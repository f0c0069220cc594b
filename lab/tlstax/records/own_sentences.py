"""Sentences of ours, as this program's own source has them: what of a text is ours, what was put in. Pure.

A text that is kept of a trial may have a server's words in it, a name or a path. What leaves the machine has
only what is known to be ours: the literal parts of a string in the source. What was put into its braces stays
where it is a number, a public term, or a sentence of ours again; otherwise an ellipsis stands there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

LEFT_OUT = "…"

LEAST_LETTERS = 6
"""Shorter literal parts are no sentence: any text would be one."""

LONGEST_TEXT = 4000
DEEPEST = 3

IsPublic = Callable[[str], bool]
"""Whether a word between blanks, without punctuation around it, may stay."""

Template = tuple[str, ...]
"""A sentence's literal parts, in their order; what is put in stands between two of them."""

_NUMBER = re.compile(
    r"[±+\-−~÷×#]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:%|×|ms|us|µs|ns|s|min|h|[kKMG]i?B|bit)?"
)
_UNIT = frozenset({"%", "ms", "us", "µs", "ns", "s", "min", "h", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB"})
_AROUND = "()[]{},;:.!?'\"`“”"


@cache
def sentences(*rooms: str) -> tuple[Template, ...]:
    """The strings in the source below these folders or in these modules, those with most of ours first."""
    found = {template for room in rooms for template in _of_source(room)}
    return tuple(sorted(found, key=lambda parts: (-sum(map(len, parts)), parts)))


@cache
def constants(*rooms: str) -> frozenset[str]:
    """The strings there into which nothing is put, whole."""
    return frozenset(parts[0] for parts in sentences(*rooms) if len(parts) == 1)


def ours(text: str, rooms: Sequence[str], is_public: IsPublic) -> str | None:
    """What of the text is ours, with an ellipsis for the rest; None where nothing is.

    Of what it returns, it returns the same again.
    """
    said = _ours(text, rooms, is_public, DEEPEST)
    while said is not None and said != text:
        text, said = said, _ours(said, rooms, is_public, DEEPEST)
    return said


def _ours(text: str, rooms: Sequence[str], is_public: IsPublic, depth: int) -> str | None:
    if not text or len(text) > LONGEST_TEXT:
        return None
    for template in sentences(*rooms):
        put_in = _put_in(template, text) if depth == DEEPEST or " " in "".join(template) else None
        if put_in is not None:
            kept = [_kept(value, rooms, is_public, depth) for value in put_in]
            return "".join(part for pair in zip(template, [*kept, ""], strict=True) for part in pair)
    first, separator, rest = text.partition("; ")
    if not separator or not depth:
        return None
    parts = [_ours(part, rooms, is_public, depth - 1) for part in (first, rest)]
    return separator.join(part or LEFT_OUT for part in parts) if any(parts) else None


def is_number(word: str) -> bool:
    """Whether it is one, maybe with a unit. Four numbers with dots are an address, and none."""
    return _NUMBER.fullmatch(word) is not None or word in _UNIT


def _kept(value: str, rooms: Sequence[str], is_public: IsPublic, depth: int) -> str:
    words = [word.strip(_AROUND) for word in value.split()]
    if all(not word or is_number(word) or is_public(word) for word in words):
        return value
    return (_ours(value, rooms, is_public, depth - 1) if depth else None) or LEFT_OUT


def _put_in(template: Template, text: str) -> list[str] | None:
    """What stands between the literal parts, each found as early as it can be; None for another text."""
    first, *rest = template
    if not text.startswith(first) or not text.endswith(template[-1]) or len(text) < sum(map(len, template)):
        return None
    if not rest:
        return [] if text == first else None
    place, found = len(first), []
    for part in rest[:-1]:
        at = text.find(part, place)
        if at < 0:
            return None
        found.append(text[place:at])
        place = at + len(part)
    end = len(text) - len(rest[-1])
    return [*found, text[place:end]] if end >= place else None


def _of_source(room: str) -> Iterator[Template]:
    for text in _texts(room):
        for node in _strings(ast.parse(text)):
            if isinstance(node, ast.Constant):
                yield (str(node.value),)
            else:
                parts = _parts(node)
                if sum(map(str.isalpha, "".join(parts))) >= LEAST_LETTERS:
                    yield parts


def _strings(tree: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The strings below, but those that stand by themselves: these are documents."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip()
        ):
            yield node
        yield from _strings(node)


def _parts(node: ast.JoinedStr) -> Template:
    """What stands around what is put in, empty where that begins or ends it."""
    parts, is_open = [""], False
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts[-1] += str(value.value)
            is_open = False
        elif not is_open:
            parts.append("")
            is_open = True
    return tuple(parts)


def _texts(room: str) -> Iterator[str]:
    """The source of a folder's modules, or of one module."""
    package = resources.files("tlstax")
    module = package.joinpath(f"{room}.py")
    waiting: list[Traversable] = [module if module.is_file() else package.joinpath(room)]
    while waiting:
        place = waiting.pop()
        if place.is_dir():
            waiting += sorted(place.iterdir(), key=lambda entry: entry.name)
        elif place.name.endswith(".py"):
            yield place.read_text(encoding="utf-8")
