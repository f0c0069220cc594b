"""What a table that is filled here looks like: its columns, its index and its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tlstax.mysql.database import TableContent

ROWS_PER_TRANSACTION = 20_000

Row = tuple[int | str, ...]


@dataclass(frozen=True)
class Layout:
    """A shape of table: `definition` is what stands between the parentheses of CREATE TABLE.

    `columns` are in the order of the rows' values; `index` is the name and the column of the only secondary
    index, None where there is none. `chunks` gives the rows from id 1 on, one transaction's worth at a time.
    `padded` are the columns of type CHAR, whose values do not end with blanks.
    """

    definition: str
    columns: tuple[str, ...]
    index: tuple[str, str] | None
    chunks: Callable[[TableContent], Iterator[list[Row]]]
    padded: tuple[str, ...] = ()
