"""The table into which rows of any size are inserted: an id that the server gives, and so many bytes."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.mysql.database import TableContent
from tlstax.mysql.layout import Layout, Row


def chunks(content: TableContent) -> Iterator[list[Row]]:
    """None: it is empty before every trial, whatever the other tables hold."""
    if content.rows:
        raise ValueError("a table of bodies begins empty")
    yield from ()


BODIES = Layout(
    definition="id BIGINT NOT NULL AUTO_INCREMENT, body MEDIUMBLOB NOT NULL, PRIMARY KEY (id)",
    columns=("id", "body"),
    index=None,
    chunks=chunks,
)
