"""What stands before the pages: only the printed address leads in, and no page asks for anything elsewhere.

Other users of a machine reach its loopback too, and a page of a stranger's site may have a name of its own
resolve to it. The first part of each path is a secret, and the host must be loopback's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self' data:; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        b"frame-ancestors 'none'; form-action 'self'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
"""Datasette's pages have scripts and styles within them."""


def guarded(pages: Application, *, prefix: str, hosts: frozenset[str]) -> Application:
    """The pages below `prefix`, which ends in a slash, for requests that name one of these hosts."""

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await pages(scope, receive, send)
            return
        asked = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        if asked not in hosts or not scope["path"].startswith(prefix):
            await _refuse(send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *HEADERS]}
            await send(message)

        await pages(scope, receive, send_with_headers)

    return application


async def _refuse(send: Send) -> None:
    text = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 404, "headers": text})
    body = "Open the address that `tlstax runs explore` printed: no other one leads anywhere.\n"
    await send({"type": "http.response.body", "body": body.encode()})
