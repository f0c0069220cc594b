"""The address of an external server: `mysql://user@host:port/schema`, `mysql://user@/schema?socket=/path`."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from tlstax.contract import Endpoint, TcpEndpoint, UnixEndpoint
from tlstax.external.given_password import REMEDY
from tlstax.support.credentials import url_has_password
from tlstax.support.errors import UserMistake

DEFAULT_PORT, LOCALHOST = 3306, "localhost"
LONGEST_SOCKET = 107
"""Bytes of a Unix socket's path (unix(7)): 108 with the one that ends it."""

SHAPE = "write it as mysql://user@host:port/schema, with special characters percent-encoded"
SOCKET_SHAPE = "write a Unix socket as mysql://user@/schema?socket=/run/mysqld/mysqld.sock"


@dataclass(frozen=True)
class ExternalAddress:
    """Where an external server is, who goes there and in which schema, as far as the URL says.

    With a `socket`, the path of a Unix socket, it is on this machine: `host` is what certificates are checked
    for then.
    """

    host: str
    port: int = DEFAULT_PORT
    user: str | None = None
    schema: str | None = None
    socket: str | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where load clients connect to."""
        if self.socket is not None:
            return UnixEndpoint(path=self.socket)
        return TcpEndpoint(host=self.host, port=self.port)

    def __str__(self) -> str:
        if self.socket is not None:
            return self.socket
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse(url: str) -> ExternalAddress:
    """The parts of a URL; UserMistake when it is not one, or holds a password.

    No message repeats the URL, since a password may stand in it.
    """
    if url_has_password(url):
        raise UserMistake(
            "a password may not stand in the server's URL, where other users and logs can see it",
            remedy=REMEDY,
        )
    if "," in url:
        raise UserMistake(
            "the server's URL has a comma, which stands between servers",
            remedy="leave it out, or name one server; the comma of a name is written %2C",
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UserMistake("the server's URL has a bad host or port", remedy=SHAPE) from error
    if parts.scheme not in {"mysql", "mariadb"}:
        raise UserMistake("the server's URL does not begin with mysql://", remedy=SHAPE)
    socket = _socket(parts)
    if not parts.hostname and socket is None:
        raise UserMistake("the server's URL names no host", remedy=SHAPE)
    return ExternalAddress(
        host=unquote(parts.hostname or LOCALHOST),
        port=DEFAULT_PORT if port is None else _checked(port),
        user=_decoded(parts.username, "user"),
        schema=_schema(parts),
        socket=socket,
    )


def _socket(parts: SplitResult) -> str | None:
    """The Unix socket that the URL names; None for an address without one."""
    if not parts.query and not parts.fragment:
        return None
    key, _, path = parts.query.partition("=")
    if parts.fragment or key != "socket" or "&" in path:
        raise UserMistake(
            "the server's URL has something after the schema", remedy=f"{SHAPE}; {SOCKET_SHAPE}"
        )
    decoded = _decoded(path, "socket") or ""
    if not decoded.startswith("/") or "\0" in decoded:
        raise UserMistake("the socket in the server's URL is not a path from /", remedy=SOCKET_SHAPE)
    if len(decoded.encode()) > LONGEST_SOCKET:
        raise UserMistake(
            f"the socket in the server's URL has a path of more than {LONGEST_SOCKET} bytes",
            remedy="connect to a link of a shorter name, or over TCP",
        )
    if parts.hostname not in {None, LOCALHOST} or parts.port is not None:
        raise UserMistake(
            "the server's URL names a host or a port, and a socket of this machine", remedy=SOCKET_SHAPE
        )
    return decoded


def _checked(port: int) -> int:
    if port == 0:
        raise UserMistake("the server's URL has port 0, which nothing can listen on", remedy=SHAPE)
    return port


def _schema(parts: SplitResult) -> str | None:
    name = parts.path.removeprefix("/").removesuffix("/")
    if "/" in name:
        raise UserMistake("the server's URL names more than one schema", remedy=SHAPE)
    if "@" in name:
        raise UserMistake(
            "the server's URL has an @ behind its host, and what stands before it may be a password",
            remedy=f"write the @ of a schema's name as %40; of a password, {REMEDY}",
        )
    return _decoded(name, "schema")


def _decoded(text: str | None, what: str) -> str | None:
    try:
        return unquote(text, errors="strict") if text else None
    except UnicodeDecodeError as error:
        raise UserMistake(f"the {what} in the server's URL is not UTF-8", remedy=SHAPE) from error
