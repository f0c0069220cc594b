"""A server's error log: its end, and the line that says why a start failed."""

from __future__ import annotations

import re
from pathlib import Path

TAIL_BYTES = 64 * 1024

ERROR = re.compile(r"\[ERROR\]|error while loading|: (error|fatal):", re.IGNORECASE)
HOLLOW = re.compile(r"Aborting|Data Dictionary initialization failed|designated data directory|For more help")
"""Error lines that only follow from an earlier one."""

DECORATION = re.compile(r"^\S+[ T]+\S*Z? +\d+ (?=\[)|\[(ERROR|Server|InnoDB|MY-\d+)\] ?")
"""Time stamp, thread and labels that both products put in front of a message."""


def tail(path: Path, lines: int) -> str:
    """The last lines of a log; empty when there is none."""
    return "\n".join(_text(path).splitlines()[-lines:])


def reason(path: Path, offset: int = 0) -> str:
    """The last line after `offset` bytes that reports an error in its own right, without decoration."""
    lines = [line.strip() for line in _text(path, offset).splitlines() if line.strip()]
    errors = [line for line in lines if ERROR.search(line)]
    meaningful = [line for line in errors if not HOLLOW.search(line)] or errors or lines
    return DECORATION.sub("", meaningful[-1])[:300] if meaningful else "no message in its error log"


def size(path: Path) -> int:
    """How long the log is by now, in bytes."""
    return path.stat().st_size if path.exists() else 0


def _text(path: Path, offset: int = 0) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(offset, size(path) - TAIL_BYTES))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
