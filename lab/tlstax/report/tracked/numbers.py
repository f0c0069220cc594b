"""Numbers and JSON as other tools get them."""

from __future__ import annotations

import json

from tlstax.topics.core.untrusted import escaped_json

DIGITS = 6
"""Significant digits: rounding is then far below the scatter of any run."""


def rounded(number: float) -> float:
    """The number to so many significant digits."""
    return float(f"{number:.{DIGITS}g}")


def as_json(document: object) -> str:
    """One JSON document, indented, with a line break at its end."""
    return escaped_json(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
