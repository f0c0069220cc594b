"""That somebody wants the end is not forgotten, though Python drops exceptions; and what goes on meanwhile.

A signal's handler runs between any two steps of the program, in finalizers and callbacks too, from which no
exception comes out (Python's documentation, signal, "Note on Signal Handlers and Exceptions"), or another one
in its place: pydantic makes an error of its own of whatever is raised while it serializes.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from tlstax.support.errors import Interrupted

_raised: list[weakref.ref[Interrupted]] = []
"""The last one that was raised, for as long as anybody still has it; nothing where nobody wanted the end."""


def forget() -> None:
    """Nobody has asked for the end, or what was to end has: what fails from here on has a reason of its own.

    To be called before what was measured is shown, or its fault would be taken for the interruption.
    """
    _raised.clear()


def interrupt() -> NoReturn:
    """Raise Interrupted, and remember it."""
    error = Interrupted()
    _raised[:] = [weakref.ref(error)]
    try:
        raise error
    finally:
        # This function's frame hangs on the exception, which would hang on itself.
        del error


def check() -> None:
    """Interrupted where the end was asked for, and what was raised came to nobody.

    For the loop that is to end: where the exception is being handled, it may be gone and have done its work.
    """
    if _raised:
        # It hangs on the frames that it passed, and they may hang on it.
        gc.collect()
    if any(reference() is None for reference in _raised):
        interrupt()


@contextmanager
def restored() -> Iterator[None]:
    """Within, Interrupted stays what it is where a library has made another error of it."""
    try:
        yield
    except Exception:
        check()
        raise


_leaving_steps: list[str] = []


@contextmanager
def leaving(words: str) -> Iterator[None]:
    """In this block something is put in order: `words` say what, as the end of "tlstax is still"."""
    _leaving_steps.append(words)
    try:
        yield
    finally:
        _leaving_steps.pop()


def leaving_step() -> str:
    """What is being put in order at this moment; empty when nothing is."""
    return _leaving_steps[-1] if _leaving_steps else ""
