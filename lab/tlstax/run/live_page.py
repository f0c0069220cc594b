"""The page of one run as it goes, served to browsers of this machine alone, which need its token."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tlstax.records.trial import StoredRun
from tlstax.report.page.live import live_html, live_parts
from tlstax.results.live import LiveRun
from tlstax.run.live_notes import followed
from tlstax.support.errors import TlstaxError, UserMistake
from tlstax.support.here import LOOPBACK, check_loopback
from tlstax.support.text import natural


@dataclass(frozen=True)
class Shown:
    """The parts of the page as HTML, by name; `version` counts from 1, and after the last none comes."""

    version: int
    parts: Mapping[str, str]
    is_last: bool = False

    def event(self, seen: Mapping[str, str]) -> bytes:
        """The parts that differ from those `seen`, as a server-sent event (HTML standard, 9.2)."""
        changed = {name: html for name, html in self.parts.items() if seen.get(name) != html}
        said = json.dumps({"parts": changed, "last": self.is_last})
        return f"data: {said}\n\n".encode()


class Audience:
    """Hands what is new to those who wait, each in a thread of its own: the slow keep nobody waiting."""

    def __init__(self, first: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._shown = Shown(1, first)
        self._waiting: set[int] = set()
        self._is_over = False

    @property
    def shown(self) -> Shown:
        """What the page shows now."""
        return self._shown

    def show(self, parts: Mapping[str, str], *, is_last: bool = False) -> None:
        """From now on the page shows this, and those who wait are woken."""
        with self._lock:
            self._shown = Shown(self._shown.version + 1, parts, is_last)
        self._wake()

    def close(self) -> None:
        """Let all who wait go; nothing more will come."""
        self._is_over = True
        self._wake()

    def new_after(self, version: int, connection: int) -> Iterator[Shown]:
        """What is shown after this version, each when it is new, until the last or until nobody listens.

        `connection` is the listener's socket, which can be read once its other end has gone.
        """
        with self._seat() as woken:
            while True:
                shown = self._shown
                if shown.version > version:
                    version = shown.version
                    yield shown
                if shown.is_last or self._is_over:
                    return
                readable, _, _ = select.select([woken, connection], [], [])
                if connection in readable:
                    return
                os.eventfd_read(woken)

    def _wake(self) -> None:
        with self._lock:
            for descriptor in self._waiting:
                os.eventfd_write(descriptor, 1)

    @contextlib.contextmanager
    def _seat(self) -> Iterator[int]:
        woken = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            with self._lock:
                self._waiting.add(woken)
            yield woken
        finally:
            with self._lock:
                self._waiting.discard(woken)
            os.close(woken)


MOST_CONNECTIONS = 32
"""Whoever has the address and comes beyond that is turned away: each takes a thread."""

MOST_STRANGERS, STRANGER_S = 16, 3.0
"""How many connections that have not named the token yet may be there, and for how long each. Another one
takes the place of the oldest: whoever has the address says so at once, and so always gets in."""

PATIENCE_S = 10.0
"""How long a browser may take to send its request, or to take what it is sent, before it is given up."""

Report = Callable[[], str]
"""The run's report as HTML, once the run has ended. Raises TlstaxError where there is none."""


def listening() -> socket.socket:
    """A socket on loopback, at a port that the system chooses. Nobody else can connect to it from afar.

    MachineFault where there is no loopback.
    """
    check_loopback()
    return socket.create_server((LOOPBACK, 0))


def new_token() -> str:
    """What the page's path begins with: other users of this machine cannot guess it."""
    return secrets.token_urlsafe(18)


def address(listener: socket.socket, token: str) -> str:
    """The page's address."""
    return f"http://{LOOPBACK}:{listener.getsockname()[1]}/{token}/"


@contextmanager
def served(listener: socket.socket, token: str, audience: Audience, report: Report) -> Iterator[None]:
    """Answers browsers in threads of their own while the block lasts; none of them keeps it from ending."""
    with _Server(listener, token, audience, report) as server:
        threading.Thread(target=server.serve_forever, args=(0.5,), daemon=True).start()
        try:
            yield
        finally:
            audience.close()
            server.shutdown()


class _Server(ThreadingHTTPServer):
    """Connections in threads that end with the process, at most N at once."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listener: socket.socket, token: str, audience: Audience, report: Report) -> None:
        self.token, self.audience, self.report = token, audience, report
        self.rendering = threading.Lock()
        self.host = f"{LOOPBACK}:{listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._strangers: dict[socket.socket, float] = {}
        self._admitted: set[socket.socket] = set()
        super().__init__((LOOPBACK, 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def admit(self, request: socket.socket) -> bool:
        """The connection has named the token; False where too many have."""
        with self._lock:
            self._strangers.pop(request, None)
            has_room = len(self._admitted) < MOST_CONNECTIONS
            if has_room:
                self._admitted.add(request)
        return has_room

    def service_actions(self) -> None:
        """Strangers have had their time; called about twice a second."""
        self._end_strangers(but=MOST_STRANGERS)

    def _end_strangers(self, *, but: int) -> None:
        """End the oldest ones, so that no more are left; their threads notice, and let go of them."""
        now = time.monotonic()
        with self._lock:
            late = [request for request, since in self._strangers.items() if now - since > STRANGER_S]
            oldest = [*self._strangers][: max(0, len(self._strangers) - but)]
            for request in {*late, *oldest}:
                self._strangers.pop(request)
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._end_strangers(but=MOST_STRANGERS - 1)
        with self._lock:
            self._strangers[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._strangers.pop(request, None)
            self._admitted.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away, or is stuck, is no concern of anybody's."""


class _Handler(BaseHTTPRequestHandler):
    """Answers GET alone. Cookies, scripts from elsewhere and other pages' eyes are kept out."""

    timeout = PATIENCE_S
    server_version, sys_version = "tlstax", ""

    def __init__(self, request: Any, client_address: Any, server: _Server) -> None:
        self._of = server
        super().__init__(request, client_address, server)

    def do_GET(self) -> None:
        """The page, what is new on it, or the report; nothing for who does not know the token.

        A name that an attacker's server says is this machine's (DNS rebinding) is not the address's host.
        """
        if self.headers.get("Host") != self._of.host:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
            return
        asked = urlsplit(self.path)
        _, token, *rest = [*asked.path.split("/"), ""]
        if not secrets.compare_digest(token.encode(), self._of.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
        elif not self._of.admit(self.connection):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        elif rest == ["", ""]:
            self._page()
        elif rest == ["events", ""]:
            self._events(parse_qs(asked.query).get("after", [""])[0])
        elif rest == ["report", ""]:
            self._report()
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - so it is called
        """Nothing: the terminal is the user's, and the path has the token in it."""

    def _page(self) -> None:
        nonce, shown = secrets.token_urlsafe(12), self._of.audience.shown
        page = live_html(shown.parts, version=shown.version, is_last=shown.is_last, nonce=nonce)
        policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        self._send(page, f"{policy}img-src data:; connect-src 'self'; {_CLOSED}")

    def _events(self, after: str) -> None:
        version = natural(after) or 0
        self._begin(HTTPStatus.OK, "text/event-stream; charset=utf-8", f"default-src 'none'; {_CLOSED}")
        seen: dict[str, str] = {}
        for shown in self._of.audience.new_after(version, self.connection.fileno()):
            self.wfile.write(shown.event(seen))
            seen = dict(shown.parts)

    def _report(self) -> None:
        """The report has a policy of its own in it."""
        if not self._of.audience.shown.is_last:
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        try:
            with self._of.rendering:
                page = self._of.report()
        except TlstaxError as error:
            self._refuse(HTTPStatus.NOT_FOUND, error.sentence())
        else:
            self._send(page, _CLOSED)

    def _send(self, page: str, policy: str) -> None:
        content = page.encode("utf-8", "replace")
        self._begin(HTTPStatus.OK, "text/html; charset=utf-8", policy, len(content))
        self.wfile.write(content)

    def _refuse(self, status: HTTPStatus, why: str = "") -> None:
        content = f"{why or status.phrase}\n".encode()
        self._begin(status, "text/plain; charset=utf-8", f"default-src 'none'; {_CLOSED}", len(content))
        self.wfile.write(content)

    def _begin(self, status: HTTPStatus, kind: str, policy: str, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.send_header("Content-Security-Policy", policy)
        for name, value in _CAUTIOUS.items():
            self.send_header(name, value)
        self.end_headers()


_CLOSED = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

_CAUTIOUS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


NEVER_BEGAN = "it ended before anything was measured"

Load = Callable[[str], StoredRun]
"""A run from the store, by its name. Raises TlstaxError."""

AsReport = Callable[[StoredRun], str]
"""A run's report as HTML."""


class LivePage:
    """A page that follows a run; `load` is asked once that has ended, `as_report` when the report is wanted.

    Without `as_report` the page is not there for long after the run, and has no link to it.
    """

    def __init__(self, load: Load, as_report: AsReport | None = None) -> None:
        self._load, self._as_report = load, as_report
        self._audience = Audience(live_parts(LiveRun()))
        self._run = ""

    def served(self, listener: socket.socket, token: str) -> AbstractContextManager[None]:
        """Shown to browsers for as long as the block lasts."""
        return served(listener, token, self._audience, self._report)

    def follow(self, directory: Path) -> LiveRun:
        """Show what the run notes there until it has ended, then its end, which is returned."""
        live = LiveRun()
        for live in followed(directory):
            self._run = live.run or self._run
            self._audience.show(live_parts(live))
        if not live.run:
            over = live.model_copy(update={"status": "interrupted", "stopped_because": NEVER_BEGAN})
            self._audience.show(live_parts(over), is_last=True)
            return over
        return self.show_ended(self._load(live.run))

    def show_ended(self, stored: StoredRun) -> LiveRun:
        """Show a run that has ended, with a link to its report."""
        from tlstax.stats.live import ended  # noqa: PLC0415 (takes time, and is needed at the end alone)

        self._run = stored.header.run
        found = ended(stored, datetime.now(UTC).isoformat(timespec="seconds"))
        self._audience.show(live_parts(found, has_report=self._as_report is not None), is_last=True)
        return found

    def _report(self) -> str:
        if not self._run or self._as_report is None:
            raise UserMistake("there is no report: nothing was measured")
        return self._as_report(self._load(self._run))
