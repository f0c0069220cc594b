"""Who is kept informed of a small experiment."""

from __future__ import annotations

from typing import Protocol


class Watcher(Protocol):
    """Hears what goes on."""

    def step(self, text: str) -> None:
        """Something begins that may take a while."""
        ...

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        ...

    def now(self, words: str, *, share: float | None = None, left_s: float | None = None) -> None:
        """What is tried now, which share of all is done, and how long the rest may take."""
        ...
