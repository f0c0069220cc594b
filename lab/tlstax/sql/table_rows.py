"""What a table holds that is filled here: the names of its columns, its index and the rows of each shape.

Rows follow from a seed, so that two servers hold the same data, whichever products they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from mimesis import Generic
from mimesis.locales import Locale
from numpy.typing import NDArray

from tlstax.study.workloads import Shape
from tlstax.study.workloads.sized import ids_of

ROWS_PER_TRANSACTION = 20_000

Row = tuple[int | str, ...]


@dataclass(frozen=True)
class TableContent:
    """What a table is to hold: how many rows of which shape, drawn from which seed.

    `answer_bytes` are the sizes of a table of answers, whose rows follow from them.
    """

    rows: int
    seed: int
    shape: Shape = "sbtest"
    answer_bytes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Layout:
    """A shape of table, whichever product's.

    `columns` are in the order of the rows' values; `index` is the name and the column of the only secondary
    index, None where there is none. `chunks` gives the rows from id 1 on, one transaction's worth at a time.
    `padded` are the columns of type CHAR, whose values do not end with blanks.
    """

    columns: tuple[str, ...]
    index: tuple[str, str] | None
    chunks: Callable[[TableContent], Iterator[list[Row]]]
    padded: tuple[str, ...] = ()


def _spans(content: TableContent) -> Iterator[range]:
    """The rows' ids, one transaction's worth at a time."""
    for first in range(1, content.rows + 1, ROWS_PER_TRANSACTION):
        yield range(first, min(content.rows + 1, first + ROWS_PER_TRANSACTION))


C_GROUPS, PAD_GROUPS, GROUP_DIGITS = 10, 5, 11
C_LENGTH = C_GROUPS * (GROUP_DIGITS + 1) - 1
PAD_LENGTH = PAD_GROUPS * (GROUP_DIGITS + 1) - 1


def _sbtest_chunks(content: TableContent) -> Iterator[list[Row]]:
    for ids in _spans(content):
        random = np.random.default_rng([content.seed, ids.start])
        keys = random.integers(1, content.rows, size=len(ids), endpoint=True).tolist()
        c = _digit_groups(random, len(ids), C_LENGTH)
        pad = _digit_groups(random, len(ids), PAD_LENGTH)
        yield list(zip(ids, keys, c, pad, strict=True))


def _digit_groups(random: np.random.Generator, count: int, length: int) -> list[str]:
    """`count` strings of `length` characters: groups of eleven random digits, joined by hyphens."""
    characters: NDArray[np.uint8] = random.integers(48, 58, size=(count, length), dtype=np.uint8)
    characters[:, GROUP_DIGITS :: GROUP_DIGITS + 1] = ord("-")
    text = characters.tobytes().decode("ascii")
    return [text[start : start + length] for start in range(0, count * length, length)]


SBTEST = Layout(
    columns=("id", "k", "c", "pad"),
    index=("k_1", "k"),
    chunks=_sbtest_chunks,
    padded=("c", "pad"),
)
"""The table of sysbench 1.0.20, laid out and filled as sysbench does it for MySQL.

Source of the layout: sysbench's oltp_common.lua (create_table). Two things differ: `id` is given explicitly,
so that no server's auto_increment_increment leaves gaps; and `k` is drawn evenly (sysbench's
--rand-type=uniform).
"""

DOMAINS = ("example.com", "example.net", "example.org")
"""Nobody's addresses (RFC 2606)."""


def _people_chunks(content: TableContent) -> Iterator[list[Row]]:
    fake = Generic(locale=Locale.EN, seed=content.seed)
    for ids in _spans(content):
        yield [_person(fake, number) for number in ids]


def _person(fake: Generic, number: int) -> Row:
    person = fake.person
    return (
        number,
        person.first_name(),
        person.last_name(),
        person.email(domains=DOMAINS),
        person.gender(),
        fake.internet.ip_v4(),
    )


PEOPLE = Layout(
    columns=("id", "first_name", "last_name", "email", "gender", "ip_address"),
    index=None,
    chunks=_people_chunks,
)
"""The table of people of the published study: columns as a generator of dummy data gives them, no index.

The study (Haikal et al., on MySQL 8.0.33) took 10,000 rows from Mockaroo, whose default schema these columns
are. Ours are made by mimesis from the seed; the same version of it, which our lock holds fixed, makes the
same people.
"""

WORD = "123"
"""What every published row holds."""


def _word_chunks(content: TableContent) -> Iterator[list[Row]]:
    for ids in _spans(content):
        yield [(number, WORD) for number in ids]


WORDS = Layout(
    columns=("id", "word"),
    index=None,
    chunks=_word_chunks,
)
"""The table of words of the published study of Connector/J; its rows are alike whatever the seed.

The study names the table and its column; its answer contains the id, which is therefore the server's own.
"""


def _body_chunks(content: TableContent) -> Iterator[list[Row]]:
    """None: it is empty before every trial, whatever the other tables hold."""
    if content.rows:
        raise ValueError("a table of bodies begins empty")
    yield from ()


BODIES = Layout(
    columns=("id", "body"),
    index=None,
    chunks=_body_chunks,
)
"""The table into which rows of any size are inserted: an id that the server gives, and N bytes."""

CHUNK_BYTES = 400_000
"""Of the values in a statement, unless one is longer: under the smallest max_allowed_packet that servers have
by default (1 MB)."""


def answers_of(sizes: Sequence[int], seed: int) -> TableContent:
    """What the table holds that has answers of these sizes."""
    return TableContent(sum(len(ids_of(size)) for size in sizes), seed, "answers", tuple(sizes))


def _answer_chunks(content: TableContent) -> Iterator[list[Row]]:
    """Rows (id, answer) of each size, a statement's worth at a time."""
    for size in content.answer_bytes:
        ids = ids_of(size)
        random = np.random.default_rng([content.seed, size])
        each = max(1, CHUNK_BYTES // size)
        for first in range(0, len(ids), each):
            own = ids[first : first + each]
            yield list(zip(own, _digit_strings(random, len(own), size), strict=True))


def _digit_strings(random: np.random.Generator, count: int, length: int) -> list[str]:
    """`count` strings of `length` random digits."""
    text = random.integers(48, 58, size=count * length, dtype=np.uint8).tobytes().decode("ascii")
    return [text[start : start + length] for start in range(0, count * length, length)]


ANSWERS = Layout(
    columns=("id", "answer"),
    index=None,
    chunks=_answer_chunks,
)
"""The table of answers: of each size that is asked for some rows, each with a value of exactly N bytes.

The values are random digits, which a compression halves, and are stored as they are sent: making them costs
a statement nothing.
"""


LAYOUTS: dict[Shape, Layout] = {
    "sbtest": SBTEST,
    "people": PEOPLE,
    "words": WORDS,
    "bodies": BODIES,
    "answers": ANSWERS,
}
