"""What a laboratory's screen promises to be on disk: trials that were over when it went on to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator

ANNOUNCED = re.compile(r"block (\d+), trial (\d+) of (\d+): (\d+ cases take turns)?")


def takes_turns(shown: str) -> bool:
    """Whether any cases of a run took turns."""
    return any(is_playing for _, is_playing in _announced(shown))


def over(shown: str, *, in_turns: bool) -> int:
    """How many trials were over, by all that was shown.

    A trial by itself is over when the next one is announced. With `in_turns` clients are announced as they
    sit down, and their trials are over together: when one is announced after "N cases take turns". What runs
    by itself in such a run is counted when the next sitting is over.
    """
    over, playing = 0, 0
    for number, is_playing in _announced(shown):
        if is_playing:
            playing = number
        else:
            over = playing if in_turns else number - 1
    return over


def _announced(shown: str) -> Iterator[tuple[int, bool]]:
    """Each announcement: the trial's number in the run, from 1, and whether turns begin with it."""
    for block, place, of, turns in ANNOUNCED.findall(shown):
        yield (int(block) - 1) * int(of) + int(place), bool(turns)
