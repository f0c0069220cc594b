"""Files of the user's as text."""

from __future__ import annotations

from pathlib import Path

from tlstax.errors import UserMistake


def read_text(path: Path) -> str:
    """What the file says. UserMistake where it is not there, or cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as fault:
        raise UserMistake(f"there is no file {path}") from fault
    except (OSError, UnicodeDecodeError) as fault:
        raise UserMistake(f"{path} cannot be read: {fault}") from fault
