"""What is still being done when a command ends, for whoever presses Ctrl-C meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_steps: list[str] = []


@contextmanager
def leaving(words: str) -> Iterator[None]:
    """In this block something is put in order: `words` say what, as the end of "tlstax is still"."""
    _steps.append(words)
    try:
        yield
    finally:
        _steps.pop()


def step() -> str:
    """What is being put in order at this moment; empty when nothing is."""
    return _steps[-1] if _steps else ""
