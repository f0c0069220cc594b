"""A tap, opened before a server of ours for one trial: a relay on loopback.

It passes bytes between clients and one server, and holds answers back a little.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tlstax.contract import Job, TcpEndpoint
from tlstax.network.tap.listening import MOST_FRAMES, Growing, Listening, Tally
from tlstax.records.capture import Capture, Sender, Traffic
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason

HOLD_S = 0.005
"""So long is an answer held back after its first byte and after the client's last: what a client sends
without waiting for the answer comes before it then."""

LONGEST_HOLD_S = 0.1
"""An answer is held back no longer than this, however much the client goes on to send."""

MOST_HELD_BYTES = 1 << 18
"""More than this is passed on at once."""

MOST_WAITING_BYTES = 1 << 20
"""Of a side that does not read, no more than this is kept: nothing is read for it until it does."""

_CHUNK_BYTES = 1 << 16
_CONNECT_WITHIN_S = 5.0
_BACKLOG = 1024


class Hearer(NamedTuple):
    """Who hears what passes on one connection, in the order in which it is passed on."""

    hear: Callable[[Sender, bytes], None]
    ended: Callable[[Sender | None], None]


@dataclass
class _Side:
    """One side's socket, and what waits to be written to it; `over` when it will send no more."""

    name: Sender
    socket: socket.socket
    waiting: bytearray = field(default_factory=bytearray)
    over: bool = False
    shut: bool = False


class _Link:
    """A client's connection and the one to the server that belongs to it."""

    def __init__(self, client: socket.socket, server: socket.socket, hearer: Hearer) -> None:
        self.client, self.server = _Side("client", client), _Side("server", server)
        self.hearer = hearer
        self.held = bytearray()
        self._asked = False
        self._held_from = self._last_asked = 0.0

    def other(self, side: _Side) -> _Side:
        """The side opposite."""
        return self.server if side is self.client else self.client

    def took(self, side: _Side, data: bytes, now: float) -> None:
        """Take what this side has sent: the client's goes on at once, the server's may be held."""
        if side is self.client:
            self._asked, self._last_asked = True, now
            self.hearer.hear("client", data)
            self.server.waiting += data
            return
        if not self.held:
            self._held_from = now
        self.held += data
        if not self._asked:
            self.release()

    def due(self) -> float | None:
        """When what is held is to be passed on; None where nothing is."""
        if not self.held:
            return None
        if len(self.held) > MOST_HELD_BYTES or self.server.over or self.client.over:
            return 0.0
        quiet = max(self._held_from, self._last_asked) + HOLD_S
        return min(quiet, self._held_from + LONGEST_HOLD_S)

    def release(self) -> None:
        """Pass on what is held."""
        data, self._asked = bytes(self.held), False
        self.held.clear()
        self.hearer.hear("server", data)
        self.client.waiting += data


class Relay:
    """Takes clients' connections and leads each to the server, in a thread of its own.

    `on_connect` is called in that thread for each connection, and gives who hears it. It listens at the
    address `at`, or at the server's own. Close it in the end. OSError where it cannot listen.
    """

    def __init__(
        self, server: TcpEndpoint, on_connect: Callable[[], Hearer], *, at: str | None = None
    ) -> None:
        self._server, self._on_connect, self._host = server, on_connect, at or server.host
        family = socket.getaddrinfo(self._host, server.port, type=socket.SOCK_STREAM)[0][0]
        self._listener = socket.create_server((self._host, 0), family=family, backlog=_BACKLOG)
        self._listener.setblocking(False)
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_in.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake_in, selectors.EVENT_READ)
        self._links: dict[socket.socket, tuple[_Link, _Side]] = {}
        self._at_rest: deque[tuple[Callable[[], None], threading.Event]] = deque()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="tap", daemon=True)
        self._thread.start()

    @property
    def entry(self) -> TcpEndpoint:
        """Where clients connect to."""
        return TcpEndpoint(host=self._host, port=int(self._listener.getsockname()[1]))

    def at_rest(self, action: Callable[[], None], within_s: float) -> None:
        """Carry this out in the relay's thread when all that has come so far has been passed on.

        Returns when it is done, after `within_s` in any case.
        """
        if not self._thread.is_alive():
            action()
            return
        over = threading.Event()
        self._at_rest.append((action, over))
        self._wake_out.send(b".")
        over.wait(within_s)

    def close(self) -> None:
        """Close every connection, the listener and the thread."""
        self._closing = True
        self._wake_out.send(b".")
        self._thread.join()
        for link in {id(link): link for link, _ in self._links.values()}.values():
            self._end(link, None)
        self._selector.close()
        for one in (self._listener, self._wake_in, self._wake_out):
            one.close()

    def _work(self) -> None:
        while not self._closing:
            now = time.monotonic()
            due = self._pass_on(now)
            timeout = 0.0 if self._at_rest else None
            if due is not None:
                timeout = max(0.0, due - now)
            events = self._selector.select(timeout)
            for key, mask in events:
                self._happened(key.fileobj, mask)
            if not events and due is None:
                self._rest()

    def _rest(self) -> None:
        while self._at_rest:
            action, over = self._at_rest.popleft()
            action()
            over.set()

    def _pass_on(self, now: float) -> float | None:
        """Pass on what has been held long enough; when the next is due, None where nothing is held."""
        next_due: float | None = None
        for link in {id(link): link for link, _ in self._links.values()}.values():
            due = link.due()
            if due is not None and due <= now:
                link.release()
                self._write(link, link.client)
            elif due is not None:
                next_due = due if next_due is None else min(next_due, due)
        return next_due

    def _happened(self, source: object, mask: int) -> None:
        if source is self._listener:
            self._accept()
        elif source is self._wake_in:
            self._wake_in.recv(_CHUNK_BYTES)
        elif isinstance(source, socket.socket) and source in self._links:
            link, side = self._links[source]
            if mask & selectors.EVENT_WRITE:
                self._write(link, side)
            if mask & selectors.EVENT_READ and source in self._links:
                self._read(link, side)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        try:
            address = (self._server.host, self._server.port)
            server = socket.create_connection(address, timeout=_CONNECT_WITHIN_S)
        except OSError:
            # The client sees that it is hung up on: nothing stands behind the tap.
            client.close()
            return
        link = _Link(client, server, self._on_connect())
        for side in (link.client, link.server):
            side.socket.setblocking(False)
            side.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._links[side.socket] = (link, side)
            self._selector.register(side.socket, selectors.EVENT_READ)

    def _read(self, link: _Link, side: _Side) -> None:
        try:
            data = side.socket.recv(_CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            self._end(link, side.name)
            return
        if data:
            link.took(side, data, time.monotonic())
        else:
            side.over = True
            link.hearer.ended(side.name)
            if link.held:
                link.release()
        self._write(link, link.client)
        self._write(link, link.server)

    def _write(self, link: _Link, side: _Side) -> None:
        """Write to this side what waits for it, hang up where the other side has, and see what is next."""
        if side.socket not in self._links:
            return
        try:
            if side.waiting:
                del side.waiting[: side.socket.send(side.waiting)]
            if link.other(side).over and not side.waiting and not side.shut:
                side.shut = True
                side.socket.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            pass
        except OSError:
            self._end(link, side.name)
            return
        if link.client.over and link.server.over and not link.client.waiting and not link.server.waiting:
            self._end(link, None)
            return
        self._watch(link.client, link.server)
        self._watch(link.server, link.client)

    def _watch(self, side: _Side, other: _Side) -> None:
        """Wait for what this side can do next: be written to, or send what the other has room for."""
        mask = selectors.EVENT_WRITE if side.waiting else 0
        if not side.over and len(other.waiting) < MOST_WAITING_BYTES:
            mask |= selectors.EVENT_READ
        watched = side.socket in self._selector.get_map()
        if mask and watched:
            self._selector.modify(side.socket, mask)
        elif mask:
            self._selector.register(side.socket, mask)
        elif watched:
            self._selector.unregister(side.socket)

    def _end(self, link: _Link, by: Sender | None) -> None:
        """Close both sides, once; `by` broke the connection off, None where it had come to its end."""
        if link.client.socket not in self._links:
            return
        if link.held:
            link.release()
        link.hearer.ended(by)
        for side in (link.client, link.server):
            if side.socket in self._selector.get_map():
                self._selector.unregister(side.socket)
            self._links.pop(side.socket, None)
            side.socket.close()


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
