"""The tree that sqlglot makes of a statement of a user's, whichever product's SQL it is written in.

It takes a third of a second to import, and few have workloads of their own: whoever reads a statement imports
it then.
"""

from __future__ import annotations

import logging
from typing import Literal

import sqlglot
from sqlglot.expressions import Expr

from tlstax.external.reading import Refused, SqlText

Range = tuple[int, int]
"""Where a token begins and ends."""


def parsed(
    text: SqlText, dialect: Literal["mysql", "postgres"], prefixed: frozenset[Range] = frozenset()
) -> Expr:
    """The statement's tree; every quoted text and name is where sqlglot sees one. Raises Refused.

    Those in `prefixed` sqlglot may take for another kind of token.
    """
    logging.getLogger("sqlglot").disabled = True
    try:
        quoted = {
            (one.start, one.end + 1)
            for one in sqlglot.tokenize(text.plain, dialect=dialect)
            if one.token_type.name in {"STRING", "IDENTIFIER"}
        }
        trees = sqlglot.parse(text.plain, dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE)
    except Exception as error:  # whatever it makes of a text that is no SQL
        raise Refused("tlstax cannot read it to its end") from error
    expected = {(one.start, one.end) for one in text.tokens if one.sort in {"text", "name"}}
    if not expected - prefixed <= quoted <= expected or len(trees) != 1 or trees[0] is None:
        raise Refused("tlstax cannot read it for sure")
    return trees[0]
