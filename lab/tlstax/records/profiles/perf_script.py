"""What `perf script` prints of samples with their call chains, as folded stacks of the two sides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from tlstax.contract import Frozen
from tlstax.records.profiles.stacks import CUT_OFF, KERNEL, UNKNOWN, Frame, Side, SideProfile, folded

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


FIELDS = "pid,ip,sym,dso"
"""What perf is asked to print (perf-script(1), --fields)."""

_SAMPLE = re.compile(r"\s*([0-9]{1,10})\s*$")
_ADDRESS_AND_SYMBOL = re.compile(r"\s+([0-9a-f]+)\s+(.*)", re.DOTALL)
_LOST = re.compile(r"PERF_RECORD_LOST(?:_SAMPLES)?\s+lost\s+([0-9]{1,18})(?![0-9])")
_FORK = re.compile(
    r"\s*[0-9]{1,10}\s+PERF_RECORD_FORK\(([0-9]{1,10}):[0-9]{1,10}\):\(([0-9]{1,10}):[0-9]{1,10}\)"
)
_BRACKET = re.compile(r"[()]")
_END_OF_STACK = "f" * 16
"""The address that perf's unwinder gives for what lies behind the part of the stack that was kept."""

_KERNEL_HALF = 1 << 63
"""Linux keeps the upper half of the addresses for itself on every architecture with 64 bits."""

_STARTS = frozenset(
    {
        *("_start", "clone", "__clone", "clone3", "__clone3", "start_thread", "thread_start"),
        *("__libc_start_main", "__libc_start_main_impl", "ret_from_fork", "ret_from_fork_asm"),
    }
)
_RUNTIME = re.compile(r"(?:libc|libpthread|ld)[-.]|ld-linux|ld-musl")
"""The libraries that threads start in; distributions strip their names."""

_PERF = re.compile(r"_*perf_")


class Samples(Frozen):
    """Samples by side, and how many perf had to drop; a side that was not asked for is missing."""

    sides: dict[Side, SideProfile]
    lost: int


def parse(lines: Iterable[str], pids: Mapping[int, Side], trees: Collection[Side] = ()) -> Samples:
    """What `perf script --fields pid,ip,sym,dso --show-lost-events` printed, of these processes.

    Of the sides in `trees` also what their processes have started counts, by the events that perf prints with
    `--show-task-events`: one for each process that was there when it began, and that came since.

    A sample is a line with its process id, then a line a frame from the leaf to the root, then an empty
    line. Samples of the kernel's own work for perf are dropped: without perf there would be none.
    """
    stacks: dict[Side, Counter[str]] = {side: Counter() for side in pids.values()}
    started: dict[int, Side] = {}
    lost = 0
    side: Side | None = None
    chain: list[Frame | None] = []
    for line in lines:
        frame = _parts_of_frame(line)
        if frame:
            chain.append(None if frame[0] == _END_OF_STACK else _frame(*frame))
            continue
        _count(stacks, side, chain)
        chain = []
        sample = _SAMPLE.match(line)
        side = _side(int(sample[1]), pids, started) if sample else None
        if dropped := _LOST.search(line):
            lost += int(dropped[1])
        if trees and (fork := _FORK.match(line)):
            started.pop(int(fork[1]), None)  # Another process had this id.
            parent = _side(int(fork[2]), pids, started)
            if parent is not None and parent in trees:
                started[int(fork[1])] = parent
    _count(stacks, side, chain)
    return Samples(sides={side: SideProfile(stacks=dict(found)) for side, found in stacks.items()}, lost=lost)


def _side(pid: int, pids: Mapping[int, Side], started: Mapping[int, Side]) -> Side | None:
    return pids.get(pid) or started.get(pid)


def _parts_of_frame(line: str) -> tuple[str, str, str] | None:
    """Address, symbol and file of a line like `  7f12 f(int) (/usr/lib/libx.so (deleted))`; None for others.

    It is read from its end, where the file stands in the last pair of brackets: symbols have brackets too,
    any number of them, and to try each from the front would take time with its square.
    """
    text = line.rstrip()
    if not text.endswith(")"):
        return None
    depth = 0
    for bracket in _BRACKET.finditer(text[::-1]):
        depth += 1 if bracket[0] == ")" else -1
        if not depth:
            opened = len(text) - 1 - bracket.start()
            break
    else:
        return None
    found = _ADDRESS_AND_SYMBOL.fullmatch(text[: opened - 1]) if text[opened - 1] == " " else None
    return (found[1], found[2], text[opened + 1 : -1]) if found else None


def _count(stacks: dict[Side, Counter[str]], side: Side | None, chain: list[Frame | None]) -> None:
    """Count a chain of frames from the leaf; None stands where the stack that was kept ends."""
    known = [frame for frame in chain if frame is not None]
    if side is None or not known or _is_perf(known):
        return
    stack = folded(known[::-1])
    whole = len(known) == len(chain) and _from_start(known)
    stacks[side][stack if whole else f"{CUT_OFF};{stack}"] += 1


def _is_perf(chain: Iterable[Frame]) -> bool:
    return any(frame.library == KERNEL and _PERF.match(frame.function) for frame in chain)


def _from_start(chain: list[Frame]) -> bool:
    """Whether the chain (from the leaf) reaches the start of its thread.

    Where the C library has no names, its own frames at the root tell: a thread starts with two of them,
    the main thread in the program's `_start` behind them.
    """
    root = chain[-1]
    if root.function in _STARTS:
        return True
    outermost = list(_runtime(chain[:-4:-1]))
    unnamed = root.function == UNKNOWN
    return unnamed and (outermost[:2] == [True, True] or outermost == [False, True, True])


def _runtime(frames: Iterable[Frame]) -> Iterator[bool]:
    return (bool(_RUNTIME.match(frame.library)) for frame in frames)


@lru_cache(maxsize=100_000)
def _frame(address: str, symbol: str, file: str) -> Frame:
    if int(address, 16) >= _KERNEL_HALF:
        return Frame(symbol, KERNEL)
    return Frame(UNKNOWN if symbol == UNKNOWN else readable(symbol), _library(file))


def _library(file: str) -> str:
    """The file's base name; perf puts what is no file in brackets, and `//anon` for code made at run time."""
    name = file.removesuffix(" (deleted)").rpartition("/")[2]
    return UNKNOWN if file == UNKNOWN else name.strip("[]") or UNKNOWN
