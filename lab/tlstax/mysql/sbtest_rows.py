"""The table of sysbench 1.0.20, laid out and filled as sysbench does it for MySQL.

Source of the layout: sysbench's oltp_common.lua (create_table). Three things differ. The rows follow from
a seed, so that two servers hold the same data; `id` is given explicitly, so that no server's
auto_increment_increment leaves gaps; and `k` is drawn evenly (sysbench's --rand-type=uniform).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tlstax.mysql.database import TableContent
from tlstax.mysql.layout import ROWS_PER_TRANSACTION, Layout, Row

C_GROUPS, PAD_GROUPS, GROUP_DIGITS = 10, 5, 11
C_LENGTH = C_GROUPS * (GROUP_DIGITS + 1) - 1
PAD_LENGTH = PAD_GROUPS * (GROUP_DIGITS + 1) - 1


def chunks(content: TableContent) -> Iterator[list[Row]]:
    """Rows (id, k, c, pad) from id 1 on, one transaction's worth at a time."""
    for first in range(1, content.rows + 1, ROWS_PER_TRANSACTION):
        count = min(ROWS_PER_TRANSACTION, content.rows + 1 - first)
        random = np.random.default_rng([content.seed, first])
        keys = random.integers(1, content.rows, size=count, endpoint=True).tolist()
        c = _digit_groups(random, count, C_LENGTH)
        pad = _digit_groups(random, count, PAD_LENGTH)
        yield list(zip(range(first, first + count), keys, c, pad, strict=True))


def _digit_groups(random: np.random.Generator, count: int, length: int) -> list[str]:
    """`count` strings of `length` characters: groups of eleven random digits, joined by hyphens."""
    characters: NDArray[np.uint8] = random.integers(48, 58, size=(count, length), dtype=np.uint8)
    characters[:, GROUP_DIGITS :: GROUP_DIGITS + 1] = ord("-")
    text = characters.tobytes().decode("ascii")
    return [text[start : start + length] for start in range(0, count * length, length)]


SBTEST = Layout(
    definition=(
        "id INTEGER NOT NULL AUTO_INCREMENT,"
        " k INTEGER DEFAULT '0' NOT NULL,"
        " c CHAR(120) DEFAULT '' NOT NULL,"
        " pad CHAR(60) DEFAULT '' NOT NULL,"
        " PRIMARY KEY (id)"
    ),
    columns=("id", "k", "c", "pad"),
    index=("k_1", "k"),
    chunks=chunks,
    padded=("c", "pad"),
)
