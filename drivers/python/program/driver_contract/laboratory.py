"""The other end of standard input and output: lines come in, events go out."""

from __future__ import annotations

import json
import math
import os
import select
import sys
from time import monotonic
from typing import Any

from driver_contract.failure import bad_job

LINE_BYTES = 65536
LONGEST_S = 365.25 * 86400
"""No time is longer than a year (contract/README.md)."""


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

    def next_slice_s(self) -> float | None:
        """How long the next slice is to last; None where there is to be none. Other lines mean nothing.

        Raises LaboratoryGone; Failure (bad_job) for a length that is none.
        """
        while True:
            words = self.line().split()
            if words == ["end"]:
                return None
            if words[:1] == ["go"]:
                return slice_length_s(words[1:])

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


def slice_length_s(words: list[str]) -> float:
    """What stands behind `go`: one number of seconds. Raises Failure (bad_job)."""
    try:
        [word] = words
        length_s = float(word)
    except ValueError:
        length_s = math.nan
    if not 0 < length_s <= LONGEST_S:
        said = " ".join(["go", *words])
        raise bad_job(f"`{said}` has no length of a slice: a number of seconds above 0, a year at most")
    return length_s
