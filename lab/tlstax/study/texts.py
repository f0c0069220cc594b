"""Files of the user's as text."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tlstax.support.errors import UserMistake
from tlstax.support.plain_words import place_in_toml, reason


def read_text(path: Path) -> str:
    """What the file says. UserMistake where it is not there, or cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as fault:
        raise UserMistake(f"there is no file {path}") from fault
    except (OSError, UnicodeDecodeError) as fault:
        raise UserMistake(f"{path} cannot be read ({reason(fault)})") from fault


def parsed_toml(text: str, where: str) -> dict[str, Any]:
    """The document that a TOML text holds; `where` names it in messages. Raises UserMistake."""
    try:
        document = tomllib.loads(text)
    except ValueError as fault:
        raise UserMistake(f"{where} is not TOML: {place_in_toml(fault)} cannot be read") from fault
    except RecursionError:
        raise UserMistake(f"{where} is nested too deeply") from None
    if not _fits(document):
        raise UserMistake(f"{where} has a whole number of more than 64 bits")
    return document


def _fits(value: object) -> bool:
    """Whether its whole numbers are as TOML has them (toml.io, "Integer"); Python reads longer ones too."""
    if isinstance(value, dict):
        return all(map(_fits, value.values()))
    if isinstance(value, list):
        return all(map(_fits, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63
