"""What is reported while a specimen is fetched: its steps, and how far each is with the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[str], None]

QUIET_EVERY_S = 10.0
"""How often a listener that cannot rewrite a line gets the state of a step."""


@dataclass(frozen=True)
class Reporter:
    """`step` gets what begins, `now` the state of that step, each in place of the one before."""

    step: Progress
    now: Progress


def reporter(progress: Progress | Reporter) -> Reporter:
    """A reporter for a plain listener, which gets the state of a step every ten seconds."""
    return progress if isinstance(progress, Reporter) else Reporter(progress, _Seldom(progress))


class _Seldom:
    def __init__(self, listener: Progress) -> None:
        self._listener = listener
        self._last_at = time.monotonic()

    def __call__(self, text: str) -> None:
        if time.monotonic() - self._last_at >= QUIET_EVERY_S:
            self._last_at = time.monotonic()
            self._listener(text)


class Meter:
    """How far a work has come, in words: an amount, of how much, and the time left at the pace so far."""

    def __init__(self, what: str, total: float, unit: str, scale: float = 1.0) -> None:
        self._what, self._total, self._unit, self._scale = what, total, unit, scale
        self._begun: tuple[float, float] | None = None
        self._last = 0.0

    def words(self, amount: float) -> str:
        """`amount` and the total are in the same unit; a total of 0 is one that is not known.

        A smaller amount than before is a work that starts anew.
        """
        now = time.monotonic()
        if self._begun is None or amount < self._last:
            self._begun = (now, amount)
        self._last = amount
        shown = f"{amount / self._scale:,.0f}"
        if not self._total:
            return f"{self._what}: {shown} {self._unit}"
        text = f"{self._what}: {shown} of {self._total / self._scale:,.0f} {self._unit}"
        since_s, done = now - self._begun[0], amount - self._begun[1]
        if since_s < 1 or done <= 0 or amount >= self._total:
            return text
        return f"{text} · {_span(since_s * (self._total - amount) / done)} left"


def megabytes(what: str, total: float) -> Meter:
    """A meter of bytes."""
    return Meter(what, total, "MB", 1e6)


def _span(left_s: float) -> str:
    return f"{left_s / 60:.0f} min" if left_s >= 120 else f"{left_s:.0f} s"
