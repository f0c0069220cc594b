"""A connection to a server, and what a table there is to hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from pymysql.connections import Connection
from pymysql.err import MySQLError

from tlstax.study.workloads import Shape

Database: TypeAlias = "Connection[Any]"
"""A connection of the laboratory's own, for statements that are not measured."""

SqlError = MySQLError
"""What a login or a statement raises where the server refuses it or the connection fails.

Its first argument is the number of the error, its last what the server says of it.
"""


@dataclass(frozen=True)
class TableContent:
    """What a table is to hold: how many rows of which shape, drawn from which seed.

    `answer_bytes` are the sizes of a table of answers, whose rows follow from them.
    """

    rows: int
    seed: int
    shape: Shape = "sbtest"
    answer_bytes: tuple[int, ...] = ()
