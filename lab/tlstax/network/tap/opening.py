"""A tap, opened before a server of ours for one trial."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tlstax.contract import Job, TcpEndpoint
from tlstax.network.tap.listening import MOST_FRAMES, Growing, Listening, Tally
from tlstax.network.tap.relay import Hearer, Relay
from tlstax.records.capture import Capture, Sender, Traffic
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason

MOST_BEFORE = 8
"""How many connections that began before the window are kept."""

MOST_CONVERSATIONS = 16
"""How many connections are kept in all."""

_AT_REST_WITHIN_S = 5.0


class Tap:
    """A relay to which clients connect, and what is heard of the connections that pass through it."""

    def __init__(self, server: TcpEndpoint, *, at: str | None = None) -> None:
        self._server_port = server.port
        self._total = Tally()
        self._connections = self._ended_encrypted = 0
        self._kept: list[Listening] = []
        self._others: set[Listening] = set()
        self._before: Tally | None = None
        self._connections_before = self._window_connections = self._operations = 0
        self._window: Traffic | None = None
        self._window_frames: list[Growing] = []
        self._relay = Relay(server, self._on_connect, at=at)

    @property
    def entry(self) -> TcpEndpoint:
        """Where clients connect to."""
        return self._relay.entry

    def begin_window(self) -> None:
        """The client stands still and is about to work: from now on it is the window."""
        self._relay.at_rest(self._begin, _AT_REST_WITHIN_S)

    def end_window(self, operations: int) -> None:
        """The client has done N operations and stands still again."""
        self._relay.at_rest(lambda: self._end(operations), _AT_REST_WITHIN_S)

    def capture(self) -> Capture:
        """What it has seen since it was opened."""
        seen: list[Capture] = []
        self._relay.at_rest(lambda: seen.append(self._capture()), _AT_REST_WITHIN_S)
        return seen[0] if seen else self._capture()

    def close(self) -> None:
        """Close what is still open."""
        self._relay.close()

    @property
    def _in_window(self) -> bool:
        return self._before is not None and self._window is None

    def _begin(self) -> None:
        self._before, self._window = replace(self._total), None
        self._connections_before = self._connections
        self._window_frames = []

    def _end(self, operations: int) -> None:
        if self._before is not None:
            self._window = self._total.since(self._before)
            self._window_connections = self._connections - self._connections_before
            self._operations = operations

    def _capture(self) -> Capture:
        heard = [*self._kept, *self._others]
        return Capture(
            entry_port=self.entry.port,
            server_port=self._server_port,
            connections=self._connections,
            encrypted=self._ended_encrypted + sum(one.is_encrypted for one in heard),
            conversations=tuple(one.conversation() for one in self._kept),
            window=self._window,
            window_frames=tuple(frame.frame() for frame in self._window_frames),
            operations=self._operations,
            window_connections=self._window_connections,
        )

    def _on_connect(self) -> Hearer:
        self._connections += 1
        listening = Listening(self._total, self._frame, in_window=self._in_window)
        most = MOST_CONVERSATIONS if self._in_window else MOST_BEFORE
        if len(self._kept) < most:
            self._kept.append(listening)
        else:
            self._others.add(listening)

        def ended(by: Sender | None) -> None:
            listening.ended_by = listening.ended_by or by
            if listening in self._others:
                self._others.remove(listening)
                self._ended_encrypted += listening.is_encrypted

        return Hearer(listening.hear, ended)

    def _frame(self, frame: Growing) -> None:
        if self._in_window and len(self._window_frames) < MOST_FRAMES:
            self._window_frames.append(frame)


@contextmanager
def open_tap(server: TcpEndpoint, *, at: str | None = None) -> Iterator[Tap]:
    """A tap in front of this server, closed at the end. MachineFault where no port is available.

    `at` is the address where clients find it; left out, it is the server's own.
    """
    try:
        tap = Tap(server, at=at)
    except OSError as error:
        raise MachineFault(f"a tap before {server.host} cannot listen ({reason(error)})") from error
    try:
        yield tap
    finally:
        tap.close()


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
