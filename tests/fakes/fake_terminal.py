"""A terminal's screen: what it shows of what is written to it, at a width that may change (ECMA-48)."""

from __future__ import annotations

import os
import re
from io import StringIO

_PIECES = re.compile(r"\x1b\[(?P<number>\d*)(?P<final>[A-Za-z])|(?P<style>\x1b\[[\d;]*m)|(?P<one>[\s\S])")


class FakeTerminal(StringIO):
    """Knows what the progress writes: text, line ends, cursor up, erase below, styles; breaks long lines.

    Like most terminals of today it joins what it broke, and breaks it anew, when its width changes.
    `widest` is the longest line that was ever written, in characters.
    """

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        super().__init__()
        self.columns, self.lines = columns, lines
        self.rows: list[list[str]] = [[]]
        """Lines as they were ended; the terminal shows each in as many rows as it takes."""
        self.row, self.column = 0, 0
        self.widest = 0

    def isatty(self) -> bool:
        return True

    def size(self) -> os.terminal_size:
        return os.terminal_size((self.columns, self.lines))

    def write(self, text: str) -> int:
        for piece in _PIECES.finditer(text):
            if piece["one"]:
                self._put(piece["one"])
            elif piece["final"] == "A":
                self._up(int(piece["number"] or 1))
            elif piece["final"] == "J":
                self._erase_below()
            else:
                assert piece["final"] in {None, "m"}, f"unknown: {piece[0]!r}"
        return super().write(text)

    def shown(self) -> list[str]:
        """The rows that are shown, without blanks at their ends."""
        return [
            "".join(row[start : start + self.columns]).rstrip()
            for row in self.rows
            for start in range(0, max(1, len(row)), self.columns)
        ]

    def _put(self, character: str) -> None:
        if character == "\n":
            self.row, self.column = self.row + 1, 0
            if self.row == len(self.rows):
                self.rows.append([])
        elif character == "\r":
            self.column -= self.column % self.columns or self.columns
            self.column = max(0, self.column)
        else:
            row = self.rows[self.row]
            row[self.column : self.column + 1] = [character]
            self.column += 1
            self.widest = max(self.widest, len(row))

    def _up(self, count: int) -> None:
        for _ in range(count):
            if self.column >= self.columns:
                self.column -= self.columns
            elif self.row > 0:
                self.row -= 1
                broken = max(0, len(self.rows[self.row]) - 1) // self.columns
                self.column += broken * self.columns

    def _erase_below(self) -> None:
        del self.rows[self.row + 1 :]
        del self.rows[self.row][self.column :]
