"""The laboratory's side of the conversation: lines on standard input, events on standard output."""

from __future__ import annotations

import os

from pydantic import BaseModel

STANDARD_INPUT, STANDARD_OUTPUT = 0, 1
LONGEST_LINE = 16 * 1024 * 1024


class LaboratoryGone(Exception):
    """Standard input has ended or nobody reads: nobody wants the result any more."""


class Laboratory:
    """Reads what the laboratory writes, line by line, and says events to it."""

    def __init__(self) -> None:
        self._buffer = b""

    def job_line(self) -> bytes:
        """The first line, once it is there; LaboratoryGone without one."""
        while b"\n" not in self._buffer:
            self.read_some()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def read_some(self) -> None:
        """Take in what has arrived, or wait for something; LaboratoryGone at the end."""
        data = os.read(STANDARD_INPUT, 1 << 16)
        if not data or len(self._buffer) > LONGEST_LINE:
            raise LaboratoryGone
        self.take(data)

    def take(self, data: bytes) -> None:
        """Take in what has been read."""
        self._buffer += data

    def order(self) -> list[str] | None:
        """The words of the next `go` or `end`, once it has arrived; other lines are ignored."""
        while b"\n" in self._buffer:
            line, _, self._buffer = self._buffer.partition(b"\n")
            words = line.decode(errors="replace").split()
            if words[:1] == ["go"] or words == ["end"]:
                return words
        return None

    def say(self, event: BaseModel) -> None:
        """Write an event as a line; LaboratoryGone when nobody reads."""
        left = event.model_dump_json().encode() + b"\n"
        try:
            while left:
                left = left[os.write(STANDARD_OUTPUT, left) :]
        except BrokenPipeError:
            raise LaboratoryGone from None
