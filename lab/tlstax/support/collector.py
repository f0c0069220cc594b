"""Python's search for garbage in cycles, put off while very many objects are made that are no garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def put_off() -> Iterator[None]:
    """No search meanwhile. What is made must have no cycles, or few: those stay for good.

    The search begins after every so many new objects and goes over all that there are, which takes several
    times as long as making a hundred thousand records does (CPython, `gc.set_threshold`).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            # Later searches pass over what there is now, for it stays.
            gc.freeze()
            gc.enable()
