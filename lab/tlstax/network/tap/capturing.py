"""Around a captured trial: the client is sent to a tap, and what the tap has seen is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tlstax.contract import Job, TcpEndpoint
from tlstax.records.capture import Capture
from tlstax.support.errors import MachineFault

if TYPE_CHECKING:
    from tlstax.network.tap.opening import Tap


@dataclass
class Captured:
    """What the client is told, and what the tap saw; without a tap nothing is captured."""

    job: Job
    tap: Tap | None = None
    capture: Capture | None = None

    def begin_window(self) -> None:
        """The client is about to work."""
        if self.tap is not None:
            self.tap.begin_window()

    def end_window(self, operations: int) -> None:
        """The client has done N operations."""
        if self.tap is not None:
            self.tap.end_window(operations)


@contextmanager
def capturing(captured: Captured) -> Iterator[None]:
    """A tap between the job's client and its server while the block runs. MachineFault where none can be.

    Clients on one machine reach the tap from any of its addresses, so none is prescribed.
    """
    from tlstax.network.tap.opening import open_tap  # noqa: PLC0415 (for captured trials alone)

    endpoint = captured.job.endpoint
    if not isinstance(endpoint, TcpEndpoint):
        raise MachineFault("a tap cannot be put before a Unix socket")
    with open_tap(endpoint) as tap:
        captured.tap = tap
        captured.job = captured.job.model_copy(update={"endpoint": tap.entry, "source_addresses": ()})
        try:
            yield
        finally:
            captured.capture, captured.tap = tap.capture(), None
