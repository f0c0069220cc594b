"""What `perf script` prints of samples with their call chains, as folded stacks of the two sides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from tlstax.contract import Frozen
from tlstax.records.profiles.stacks import CUT_OFF, KERNEL, UNKNOWN, Frame, Side, SideProfile, folded
from tlstax.records.profiles.symbol_names import readable

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
