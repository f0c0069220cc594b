"""What the page shows at this moment, and the browsers that wait to hear of something new."""

from __future__ import annotations

import contextlib
import json
import os
import select
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """The parts of the page as HTML, by name; `version` counts from 1, and after the last none comes."""

    version: int
    parts: Mapping[str, str]
    is_last: bool = False

    def event(self, seen: Mapping[str, str]) -> bytes:
        """The parts that differ from those `seen`, as a server-sent event (HTML standard, 9.2)."""
        changed = {name: html for name, html in self.parts.items() if seen.get(name) != html}
        said = json.dumps({"parts": changed, "last": self.is_last})
        return f"data: {said}\n\n".encode()


class Audience:
    """Hands what is new to those who wait, each in a thread of its own: the slow keep nobody waiting."""

    def __init__(self, first: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._shown = Shown(1, first)
        self._waiting: set[int] = set()
        self._is_over = False

    @property
    def shown(self) -> Shown:
        """What the page shows now."""
        return self._shown

    def show(self, parts: Mapping[str, str], *, is_last: bool = False) -> None:
        """From now on the page shows this, and those who wait are woken."""
        with self._lock:
            self._shown = Shown(self._shown.version + 1, parts, is_last)
        self._wake()

    def close(self) -> None:
        """Let all who wait go; nothing more will come."""
        self._is_over = True
        self._wake()

    def new_after(self, version: int, connection: int) -> Iterator[Shown]:
        """What is shown after this version, each when it is new, until the last or until nobody listens.

        `connection` is the listener's socket, which can be read once its other end has gone.
        """
        with self._seat() as woken:
            while True:
                shown = self._shown
                if shown.version > version:
                    version = shown.version
                    yield shown
                if shown.is_last or self._is_over:
                    return
                readable, _, _ = select.select([woken, connection], [], [])
                if connection in readable:
                    return
                os.eventfd_read(woken)

    def _wake(self) -> None:
        with self._lock:
            for descriptor in self._waiting:
                os.eventfd_write(descriptor, 1)

    @contextlib.contextmanager
    def _seat(self) -> Iterator[int]:
        woken = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            with self._lock:
                self._waiting.add(woken)
            yield woken
        finally:
            with self._lock:
                self._waiting.discard(woken)
            os.close(woken)
