"""A number together with what it counts, the same wherever words are made. Pure."""

from __future__ import annotations


def counted(number: float | str, thing: str) -> str:
    """A number of things: "1 block", "3 blocks"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
