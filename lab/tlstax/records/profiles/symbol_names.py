"""A function's name as people read it: no template arguments, parameters, or what compilers append."""

from __future__ import annotations

import re

_APPENDED = re.compile(
    r"(?:@@?[\w.]+"  # the version of a dynamic symbol: @@GLIBC_2.34
    r"|\.(?:part|isra|constprop|cold|lto_priv|llvm|localalias|clone)(?:\.\d+)*"  # copies that compilers make
    r"|\s*\[clone [^\]]*\]|\s*\[abi:[^\]]*\])$"
)
_OPERATOR = re.compile(r"operator\s*(?:\(\)|\[\]|<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|<|>|[^\w\s(<]+)")
_PATH = re.compile(r"[\w:]+")
_QUALIFIERS = ("const", "volatile", "noexcept", "&")
_ANONYMOUS = "(anonymous namespace)"
LONGEST_NAME = 10_000
"""Nobody reads the rest of a longer name, and the work on it grows with the square of its length."""

_MOST_APPENDED = 10
"""Compilers append a few words."""

_DEEPEST = 20
"""How far types within types are gone into."""

_OPENING, _CLOSING = {"(": ")", "<": ">", "{": "}"}, frozenset(")>}")


def readable(symbol: str) -> str:
    """The name of a C, C++ or Rust function as perf prints it, cut to what tells it from others.

    `<…>` and `(…)` go, but not in `operator<` and `operator()`, nor `(anonymous namespace)`; lambdas keep
    their number: `f()::{lambda(int)#1}::operator()(int) const` becomes `f::{lambda#1}::operator()`. A type
    that a Rust name begins with stays: `<alloc::vec::Vec<T> as Extend>::extend`. Rust's newer names (v0, RFC
    2603) have a type's own functions as `<Type>::function`, older ones as `Type::function`: that is what both
    become.
    """
    name = _without_appended(symbol.strip()[:LONGEST_NAME])
    if not re.search(r"[<(].", name):
        return name or symbol[:LONGEST_NAME]
    if name.startswith("<"):
        end = _end(name, 0)
        type_, rest = _cut(name[1 : end - 1], types=_DEEPEST), _cut(name[end:])
        return f"{type_}{rest}" if _PATH.fullmatch(type_) else f"<{type_}>{rest}"
    return _without_return_type(_cut(_without_qualifiers(name))) or name


def _without_appended(name: str) -> str:
    for _ in range(_MOST_APPENDED):
        match = _APPENDED.search(name)
        if not match or not match.start():
            break
        name = name[: match.start()]
    return name


def _without_qualifiers(name: str) -> str:
    """The name without what stands behind a member function's parameters: `const`, `&&` and so on."""
    kept = name
    while (left := kept.rstrip()).endswith(_QUALIFIERS):
        ending = next(word for word in _QUALIFIERS if left.endswith(word))
        kept = left.removesuffix(ending).rstrip()
    return kept


def _cut(name: str, *, types: int = 0) -> str:
    """The name without what stands in `<…>` and `(…)`; a type in brackets of its own stays, `types` deep."""
    kept, place = "", 0
    while place < len(name):
        operator = _OPERATOR.match(name, place)
        if operator and not (kept[-1:].isalnum() or kept.endswith("_")):
            kept += operator[0]
            place = operator.end()
        elif name.startswith(_ANONYMOUS, place):
            kept += _ANONYMOUS
            place += len(_ANONYMOUS)
        elif types and name[place] == "<" and kept[-1:] in {"", " "}:
            end = _end(name, place)
            kept += _cut(name[place + 1 : end - 1], types=types - 1)
            place = end
        elif name[place] in "<(":
            place = _end(name, place)
        else:
            kept += name[place]
            place += 1
    return re.sub(r"::(?=::|$)", "", kept).strip()


def _end(name: str, place: int) -> int:
    """Where the bracket that opens at `place` is closed; the end of the name where it is not."""
    depth = 0
    for at in range(place, len(name)):
        if name[at] in _OPENING:
            depth += 1
        elif name[at] in _CLOSING and name[at - 1] != "-":
            depth -= 1
            if not depth:
                return at + 1
    return len(name)


def _without_return_type(name: str) -> str:
    """Demanglers print the return type of a template before its name."""
    protected = name.replace(_ANONYMOUS, _ANONYMOUS.replace(" ", "\0"))
    before, space, last = protected.rpartition(" ")
    if space and ("operator" in before.split("::")[-1] or " for " in protected or "thunk to" in protected):
        return name
    return last.replace("\0", " ")
