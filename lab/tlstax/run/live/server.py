"""Serves the page of a run to browsers of this machine alone: reads only, and says nothing to strangers."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tlstax.report.page.live import live_html
from tlstax.run.live.audience import Audience
from tlstax.support.errors import TlstaxError
from tlstax.support.here import LOOPBACK, check_loopback
from tlstax.support.text import natural

MOST_CONNECTIONS = 32
"""Whoever has the address and comes beyond that is turned away: each takes a thread."""

MOST_STRANGERS, STRANGER_S = 16, 3.0
"""So many connections may be there that have not named the token yet, and each for so long. Who comes beyond
that takes the place of the oldest: whoever has the address says so at once, and so always gets in."""

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
    """Connections in threads that end with the process, at most so many at once."""

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
