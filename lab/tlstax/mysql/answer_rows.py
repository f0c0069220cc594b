"""The table of answers: of each size that is asked for some rows, each with a value of exactly so many bytes.

The values are random digits, which a compression halves, and are stored as they are sent: making them costs
a statement nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tlstax.mysql.database import TableContent
from tlstax.mysql.layout import Layout, Row
from tlstax.study.workloads.sized import ids_of

CHUNK_BYTES = 400_000
"""Of the values in a statement, unless one is longer: under the smallest max_allowed_packet that servers have
by default (1 MB)."""


def answers_of(sizes: Sequence[int], seed: int) -> TableContent:
    """What the table holds that has answers of these sizes."""
    return TableContent(sum(len(ids_of(size)) for size in sizes), seed, "answers", tuple(sizes))


def chunks(content: TableContent) -> Iterator[list[Row]]:
    """Rows (id, answer) of each size, a statement's worth at a time."""
    for size in content.answer_bytes:
        ids = ids_of(size)
        random = np.random.default_rng([content.seed, size])
        each = max(1, CHUNK_BYTES // size)
        for first in range(0, len(ids), each):
            own = ids[first : first + each]
            yield list(zip(own, _digits(random, len(own), size), strict=True))


def _digits(random: np.random.Generator, count: int, length: int) -> list[str]:
    """`count` strings of `length` random digits."""
    text = random.integers(48, 58, size=count * length, dtype=np.uint8).tobytes().decode("ascii")
    return [text[start : start + length] for start in range(0, count * length, length)]


ANSWERS = Layout(
    definition="id INTEGER NOT NULL, answer MEDIUMBLOB NOT NULL, PRIMARY KEY (id)",
    columns=("id", "answer"),
    index=None,
    chunks=chunks,
)
