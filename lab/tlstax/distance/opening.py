"""Makes the distance of a study: two places and what delays the packets between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tlstax.errors import MachineFault
from tlstax.specimens.sessions import Session
from tlstax.travel import Span


@contextmanager
def open_span(session: Session, say: Callable[[str], None]) -> Iterator[Span]:
    """Both places and their link, gone with the block. MachineFault says what the machine lacks."""
    say(f"making a distance in {session.path}")
    raise MachineFault("a distance cannot be made yet")
    yield
