"""The address of an external server: `mysql://user@host:port/schema`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from tlstax.guests.given_password import REMEDY
from tlstax.support.errors import UserMistake

DEFAULT_PORT = 3306
SHAPE = "write it as mysql://user@host:port/schema, with special characters percent-encoded"


@dataclass(frozen=True)
class GuestAddress:
    """Where an external server is, who goes there and in which schema, as far as the URL says."""

    host: str
    port: int = DEFAULT_PORT
    user: str | None = None
    schema: str | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse(url: str) -> GuestAddress:
    """The parts of a URL; UserMistake when it is not one, or holds a password.

    No message repeats the URL, since a password may stand in it.
    """
    if re.match(r"[^:/@]*://[^/@:]*:.*@", url, re.DOTALL):
        raise UserMistake(
            "a password may not stand in the server's URL, where other users and logs can see it",
            remedy=REMEDY,
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UserMistake("the server's URL has a bad host or port", remedy=SHAPE) from error
    if parts.scheme not in {"mysql", "mariadb"}:
        raise UserMistake("the server's URL does not begin with mysql://", remedy=SHAPE)
    if parts.query or parts.fragment:
        raise UserMistake("the server's URL has something after the schema", remedy=SHAPE)
    if not parts.hostname:
        raise UserMistake("the server's URL names no host", remedy=SHAPE)
    return GuestAddress(
        host=unquote(parts.hostname),
        port=DEFAULT_PORT if port is None else _checked(port),
        user=_decoded(parts.username, "user"),
        schema=_schema(parts),
    )


def _checked(port: int) -> int:
    if port == 0:
        raise UserMistake("the server's URL has port 0, which nothing can listen on", remedy=SHAPE)
    return port


def _schema(parts: SplitResult) -> str | None:
    name = parts.path.removeprefix("/").removesuffix("/")
    if "/" in name:
        raise UserMistake("the server's URL names more than one schema", remedy=SHAPE)
    return _decoded(name, "schema")


def _decoded(text: str | None, what: str) -> str | None:
    try:
        return unquote(text, errors="strict") if text else None
    except UnicodeDecodeError as error:
        raise UserMistake(f"the {what} in the server's URL is not UTF-8", remedy=SHAPE) from error
