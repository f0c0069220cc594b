"""In which order libraries take turns: blocks, subjects, rounds. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from pydantic import NonNegativeInt

from tlstax.contract import Frozen
from tlstax.plan.order import shuffled
from tlstax.tools.librarybench.subjects import Subject

SLICE_S = 0.01
"""How long a slice lasts: a few handshakes, or thousands of records."""

ROUNDS = 8
"""How many slices each library has of a subject in a block. What differs from block to block, the place of
code and data in memory, is not told by more of them."""


class Sitting(Frozen):
    """A subject in one block: `rounds` has the libraries, by their place, in the order of their slices."""

    block: NonNegativeInt
    number: NonNegativeInt
    subject: NonNegativeInt
    rounds: tuple[tuple[int, ...], ...]


def blocks(subjects: Sequence[Subject], libraries: int, seed: int) -> Iterator[tuple[Sitting, ...]]:
    """Blocks without end: in each the subjects in random order, and the rounds of each in random order."""
    generator = Random(seed)  # noqa: S311 (an order, not a secret)
    places = range(libraries)
    block = 0
    while True:
        order = enumerate(shuffled(range(len(subjects)), generator))
        yield tuple(
            Sitting(
                block=block,
                number=number,
                subject=subject,
                rounds=tuple(tuple(shuffled(places, generator)) for _ in range(ROUNDS)),
            )
            for number, subject in order
        )
        block += 1
