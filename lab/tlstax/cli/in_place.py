"""The last lines of a terminal, rewritten in place: no thread, no hidden cursor, nothing to be undone later.

Rich's own live display keeps the shape of what it drew before the terminal was resized, and hides the cursor,
which a killed process cannot show again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.text import Text

USUAL_SIZE = os.terminal_size((80, 24))

Size = Callable[[], os.terminal_size]


class InPlace:
    """Lines at the end of what a terminal shows; the cursor stays at the end of the last one."""

    def __init__(self, stream: TextIO, size: Size | None = None) -> None:
        self._stream = stream
        self._read_size = size or (lambda: os.get_terminal_size(stream.fileno()))
        self._shown_columns: list[int] = []

    def size(self) -> os.terminal_size:
        """How large the terminal is now; the usual size where it does not say."""
        try:
            columns, lines = self._read_size()
        except (OSError, ValueError):
            return USUAL_SIZE
        return os.terminal_size((columns or USUAL_SIZE.columns, lines or USUAL_SIZE.lines))

    def show(self, lines: Sequence[str], above: str = "") -> None:
        """Put these lines, each narrower than the terminal, in the place of those before.

        `above` is text, its lines ended, that stays above them.
        """
        text = self._erasing() + above + "\n".join(lines)
        self._shown_columns = [Text.from_ansi(line).cell_len for line in lines]
        self._stream.write(text)
        self._stream.flush()

    def erase(self) -> None:
        """Leave nothing of the lines, and the cursor where they began."""
        if self._shown_columns:
            self.show(())

    def _erasing(self) -> str:
        """From the cursor back to the first line's beginning, and erase what follows (ECMA-48: CUU, ED).

        A terminal that has become narrower since has broken the lines, each into as many rows as it takes.
        """
        if not self._shown_columns:
            return ""
        columns = self.size().columns
        rows = sum(max(1, -(-shown // columns)) for shown in self._shown_columns)
        return f"\r\x1b[{rows - 1}A\x1b[J" if rows > 1 else "\r\x1b[J"
