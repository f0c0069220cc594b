"""Words that are the same wherever sentences are made: numbers of things, durations, lists, hints, names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_NUMBER = re.compile(r"-?[0-9]{1,20}")
"""What a 64-bit integer looks like. int() takes the digits of other scripts as well and fails at thousands of
them, and isdigit() says yes to some of which int() makes nothing, such as a superscript two."""


def integer(text: str) -> int | None:
    """The integer that a text from outside is, in ASCII digits, 20 at the most; None for any other."""
    return int(text) if _NUMBER.fullmatch(text) else None


def natural(text: str) -> int | None:
    """As `integer`, for numbers that are not negative."""
    return integer(text) if text[:1] != "-" else None


def with_commas(*parts: str) -> str:
    """The parts that are not empty, with commas between them."""
    return ", ".join(filter(None, parts))


def counted(number: float | str, thing: str, spec: str = "") -> str:
    """A number of things, written by `spec`: "1 block", "3 copies", and by "," "1,000 blocks"."""
    if number == 1:
        return f"{number:{spec}} {thing}"
    is_copy = thing[-1] == "y" and thing[-2] not in "aeiou"
    return f"{number:{spec}} {thing[:-1]}ies" if is_copy else f"{number:{spec}} {thing}s"


def was(number: float) -> str:
    """The verb behind a number of things: "1 block was", "3 blocks were"."""
    return "was" if number == 1 else "were"


def duration(seconds: float) -> str:
    """A duration for a sentence: "1.9 s", "320 s", "16.9 min", "2.6 h"."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 600:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{round(seconds / 60, 1):g} min"
    return f"{round(seconds / 3600, 1):,.12g} h"


def how_it_ended(status: int, log: str = "") -> str:
    """How a process ended, and the last line of what it wrote: "ended with status 1: out of memory"."""
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return ": ".join([how, *log.strip().splitlines()[-1:]])


def time_left(left_s: float) -> str:
    """A time to wait for, in hours, minutes or seconds."""
    if left_s >= 5400:
        return f"{left_s / 3600:.1f} h"
    return f"{left_s / 60:.0f} min" if left_s >= 120 else f"{max(0, left_s):.0f} s"


def enumerated(names: Iterable[str]) -> str:
    """Names in a row: "a", "a and b", "a, b and c"; empty for none."""
    *most, last = (*names,) or ("",)
    return f"{', '.join(most)} and {last}" if most else last


def shortened(names: Sequence[str], most: int) -> str:
    """Names in a row, the first of many: "a, b, c and 297 more"."""
    left = len(names) - most
    return enumerated([*names[:most], f"{left} more"] if left > 1 else names)


def closest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """A hint at the known word most like this one, or nothing where none is at least so alike (difflib)."""
    near = get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f" (did you mean {near[0]!r}?)" if near else ""


def some_of(texts: Sequence[str], most: int, more: str = "and {} more") -> list[str]:
    """The first `most` of these, and how many more there are."""
    left = len(texts) - most
    return [*texts[:most], *([more.format(left)] if left > 0 else [])]


def as_ranges(numbers: Iterable[int]) -> str:
    """Numbers with runs drawn together, as the kernel writes lists of CPUs (cpuset(7)): "0-2,5"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
