"""The table of words of the published study of Connector/J: an id that the server gives, and a word.

The study names the table and its column; its answer contains the id, which is therefore the server's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.mysql.database import TableContent
from tlstax.mysql.layout import ROWS_PER_TRANSACTION, Layout, Row

WORD = "123"
"""What every published row holds."""


def chunks(content: TableContent) -> Iterator[list[Row]]:
    """Rows from id 1 on, one transaction's worth at a time; they are alike whatever the seed."""
    for first in range(1, content.rows + 1, ROWS_PER_TRANSACTION):
        last = min(content.rows, first + ROWS_PER_TRANSACTION - 1)
        yield [(number, WORD) for number in range(first, last + 1)]


WORDS = Layout(
    definition="id BIGINT NOT NULL AUTO_INCREMENT, word VARCHAR(255), PRIMARY KEY (id)",
    columns=("id", "word"),
    index=None,
    chunks=chunks,
)
