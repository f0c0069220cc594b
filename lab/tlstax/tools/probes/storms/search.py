"""The highest load that still does, found by steps and by halving; each is tried for a verdict. Pure.

A try is one storm, or some seconds at one rate; it either does (99 % of its connections were up in time) or
does not. A load does when more than half of all tries of it would. Tries are independent, connections of one
try are not, so tries are what is counted, by the binomial test of a half. It is looked at after each try, and
every look may be wrong: with `LOOK` for each, the probability that a load which does half of the time gets a
verdict "does" in any of at most `MOST_TRIES` looks is 4.8 % (an enumeration of all outcomes, in the tests),
and so is that of "does not". Five of five are enough, or eight of nine, or ten of twelve. A load that can get
neither verdict any more is left: it lies at the limit itself, and counts as too high.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, log, log2
from typing import Literal, NamedTuple

CONFIDENCE = 0.95
LOOK = 0.032
MOST_TRIES = 12

FINE = 1.06
"""Loads between the highest that does and the lowest that does not are halved until they differ by 6 %."""

FIRST_STEP, LARGEST_STEP = 1.25, 4.0
"""From the first load to the next, either way. A guess that was far off is left behind soon: each further
step is the square of the one before."""

FEWEST_TRIES = 5
"""No load gets a verdict of fewer."""

USUAL_TRIES = 7
"""How many tries a load takes that is near the limit, for the time that is left."""


Verdict = Literal["does", "does not", "undecided"]


class Tried(NamedTuple):
    """A load that was tried: of `tries` times its connections were up in time `did` times.

    The verdict is "undecided" as well where the search ended before there was another.
    """

    load: int
    tries: int
    did: int
    verdict: Verdict


class Search:
    """The search for one kind of connection: `next_load` says what to try, `note` what came of it.

    What is known grows with each try, so that it can be ended at any time.
    """

    def __init__(self, lowest: int, most: int, guess: int) -> None:
        """`lowest` and `most` are the loads that may be tried, `guess` is about where the limit is.

        The first try is a step below it: a load at the limit itself takes the most tries.
        """
        self._lowest, self._most = lowest, most
        self._start = min(most, max(lowest, round(guess / FIRST_STEP)))
        self._did: dict[int, list[bool]] = {}

    @property
    def tried(self) -> tuple[Tried, ...]:
        """What was tried, in its order."""
        return tuple(
            Tried(load=load, tries=len(did), did=sum(did), verdict=verdict_of(sum(did), len(did)))
            for load, did in self._did.items()
        )

    @property
    def highest(self) -> int | None:
        """The highest load that does; None where none did yet."""
        return max((own.load for own in self.tried if own.verdict == "does"), default=None)

    @property
    def too_high(self) -> int | None:
        """The lowest load that does not, or that was left undecided; None where there was none yet."""
        return min((own.load for own in self.tried if _is_too_high(own)), default=None)

    def note(self, load: int, *, did: bool) -> None:
        """What came of a try of that load."""
        self._did.setdefault(load, []).append(did)

    def next_load(self) -> int | None:
        """What to try next; None when the search has come to its end."""
        tried = self.tried
        if not tried:
            return self._start
        last = tried[-1]
        if last.verdict == "undecided" and not _is_left(last):
            return last.load
        does, over = self.highest, self.too_high
        if does is not None and over is not None:
            between = round((does * over) ** 0.5)
            return None if over <= does * FINE or between in {does, over} else between
        step = min(LARGEST_STEP, FIRST_STEP ** (2 ** (len(tried) - 1)))
        if does is not None:
            return None if does == self._most else min(self._most, max(does + 1, round(does * step)))
        assert over is not None  # noqa: S101 (of what was tried the last load is one or the other)
        return None if over == self._lowest else max(self._lowest, min(over - 1, round(over / step)))

    def tries_left(self) -> int:
        """About how many tries are still to come."""
        if self.next_load() is None:
            return 0
        does, over = self.highest, self.too_high
        ratio = over / does if does is not None and over is not None else FIRST_STEP**2
        loads = max(1, round(log2(max(2.0, log(ratio) / log(FINE)))))
        return USUAL_TRIES * (loads + (does is None) + (over is None))


def verdict_of(did: int, tries: int) -> Verdict:
    """Whether `did` of `tries` show that more than half would do, or that fewer would."""
    if _at_least(did, tries) <= LOOK:
        return "does"
    if _at_least(tries - did, tries) <= LOOK:
        return "does not"
    return "undecided"


@lru_cache
def _at_least(did: int, tries: int) -> float:
    """The probability of that many of `tries`, or more, where each does half of the time."""
    return float(sum(comb(tries, number) for number in range(did, tries + 1)) / 2**tries)


@lru_cache
def _can_be_decided(did: int, tries: int) -> bool:
    """Whether any outcome of the tries that are left would give a verdict."""
    if verdict_of(did, tries) != "undecided":
        return True
    return tries < MOST_TRIES and any(_can_be_decided(did + more, tries + 1) for more in (0, 1))


def _is_left(own: Tried) -> bool:
    return own.verdict == "undecided" and not _can_be_decided(own.did, own.tries)


def _is_too_high(own: Tried) -> bool:
    return own.verdict == "does not" or _is_left(own)
