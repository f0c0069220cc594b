"""The query file of a mysqlslap: what each of its connections sends in a round."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.clients.adapter import Refusal
from tlstax.clients.mysqlslap.statements import DELIMITER, Written

MOST_LINES = 200_000
"""A longer file would only cost memory; a connection that comes to its end begins again."""


@dataclass(frozen=True)
class QueryFile:
    """What every connection sends, how many `queries` of it, and how many `operations` those are.

    A connection that has come to the file's end begins it again, with the statements of `on_connect`.
    """

    statements: tuple[str, ...]
    queries: int
    operations: int


def query_file(written: Written, operations: int, on_connect: tuple[str, ...]) -> QueryFile:
    """The file with about as many operations as wanted, fewer where a sequence ends before.

    Refusal where none is left, or where a statement has more than one line.
    """
    if any(DELIMITER in text for text in on_connect):
        raise Refusal("mysqlslap takes the end of a line for the end of a statement")
    lines = list(on_connect)
    drawn = 0
    while drawn < operations and len(lines) < MOST_LINES:
        more = written.operations(1)
        if not more:
            break
        lines += more[0]
        drawn += 1
    if not drawn:
        raise Refusal("every value of the workload's sequence was used up before the window")
    times = max(1, operations // drawn) if len(lines) >= MOST_LINES else 1
    return QueryFile(statements=tuple(lines), queries=times * len(lines), operations=times * drawn)
