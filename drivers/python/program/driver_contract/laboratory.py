"""The other end of standard input and output: lines come in, events go out."""

from __future__ import annotations

import json
import os
import select
import sys
from time import monotonic
from typing import Any

LINE_BYTES = 65536


class LaboratoryGone(Exception):
    """Standard input has ended: stop at once."""


class Laboratory:
    """Standard input, read without a thread of its own, and standard output."""

    def __init__(self) -> None:
        self._unread = b""

    def line(self) -> str:
        """The next line. Raises LaboratoryGone."""
        while b"\n" not in self._unread:
            self._read()
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(errors="replace").strip()

    def wait(self, other: int, within_s: float) -> bool:
        """Wait until this other file can be read, so long at most; whether it can. Raises LaboratoryGone."""
        deadline_s = monotonic() + within_s
        while True:
            left_s = deadline_s - monotonic()
            readable, _, _ = select.select([0, other], [], [], max(left_s, 0))
            if other in readable:
                return True
            if 0 in readable:
                self._read()
            if left_s <= 0:
                return False

    def wait_for_end(self) -> None:
        """Return when standard input has ended."""
        try:
            while True:
                self._read()
        except LaboratoryGone:
            return

    def say(self, event: dict[str, Any]) -> None:
        """Write an event. Raises LaboratoryGone where nobody reads it."""
        try:
            sys.stdout.write(json.dumps(event) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            raise LaboratoryGone from None

    def _read(self) -> None:
        part = os.read(0, LINE_BYTES)
        if not part:
            raise LaboratoryGone
        self._unread += part
