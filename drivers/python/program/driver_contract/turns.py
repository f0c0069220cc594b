"""What all connections share: how many operations are left, and how many have failed in a row."""

from __future__ import annotations

import threading

from driver_contract.failure import Failure

FAILURES_IN_A_ROW = 100
"""So many, over all connections, end the job (contract/README.md)."""


class Turns:
    """Operations are taken from here by all threads; no more are given once it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: int | None = None
        self._ended = False
        self._failures = 0
        self.fatal: Failure | None = None

    def begin(self, operations: int | None) -> None:
        """So many are to be started from now on; None for as many as the time allows."""
        self._left = operations
        self._ended = self.fatal is not None

    @property
    def ended(self) -> bool:
        """Whether a sequence has run out, or the job has failed."""
        return self._ended

    def take(self, wanted: int) -> int:
        """So many may be started now, 0 when there are no more."""
        if self._ended:
            return 0
        if self._left is None:
            return wanted
        with self._lock:
            taken = min(wanted, self._left)
            self._left -= taken
            return taken

    def end(self) -> None:
        """No further operation is to be started."""
        self._ended = True

    def succeeded(self) -> None:
        """An operation went well."""
        self._failures = 0

    def failed(self, failure: Failure) -> bool:
        """An operation failed; whether that was the last straw, which `fatal` then tells."""
        with self._lock:
            self._failures += 1
            if failure.kind in {"bad_job", "internal"} or self._failures >= FAILURES_IN_A_ROW:
                self.fatal = self.fatal or failure
                self._ended = True
            return self._ended
