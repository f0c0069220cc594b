"""By which mark a table is known as the laboratory's own, in any product's server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tlstax.support.errors import UserMistake

COMMENT = "tlstax"
"""The comment of the tables of a private server, where there are no others."""


@dataclass(frozen=True)
class Mark:
    """By which comment a table is known: that of a new one, and whether one that is there is ours."""

    comment: str
    is_ours: Callable[[str], bool]


PRIVATE = Mark(COMMENT, lambda comment: comment == COMMENT)


def not_ours(name: str) -> UserMistake:
    """The table is there, and tlstax did not make it."""
    return UserMistake(
        f"the schema already has a table {name} that tlstax did not make",
        remedy="rename or drop that table, or name another schema in the server's URL",
    )
