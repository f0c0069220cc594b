"""What client and server say of TLS in the clear: ClientHello, ServerHello, ServerKeyExchange."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.network.tap.names import group_name, is_grease, signature_name, suite_name, version_name
from tlstax.network.tap.units import Cursor, Malformed, numbers
from tlstax.records.capture import Hello

HELLO_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random number of a ServerHello that is a HelloRetryRequest (RFC 8446, section 4.1.3)."""

TLS13 = 0x0304

_SERVER_NAME, _GROUPS, _SIGNATURES, _TICKET, _PSK, _VERSIONS, _KEY_SHARE = 0, 10, 13, 35, 41, 43, 51
"""Extensions, by their numbers in IANA's registry."""

_NAMED_CURVE = 3
"""How a ServerKeyExchange of ECDHE begins (RFC 8422, section 5.4)."""


@dataclass(frozen=True)
class ServerSaid:
    """A ServerHello: what the server chose. `group` is None where it is sent later, or there is none."""

    version: int
    suite: int
    group: str | None
    hello_retry: bool
    takes_psk: bool


def client_hello(body: bytes) -> Hello:
    """A ClientHello without its header (RFC 8446, section 4.1.2). Malformed where it is none."""
    cursor = Cursor(body)
    version = cursor.number(2)
    cursor.take(32)
    session_id = cursor.vector(1)
    suites = numbers(cursor.vector(2))
    cursor.vector(1)
    extensions = _extensions(cursor)
    versions = sorted(_offered_versions(extensions, version), reverse=True)
    named_session = bool(session_id) and TLS13 not in versions
    return Hello(
        versions=tuple(version_name(one) for one in versions),
        cipher_suites=tuple(suite_name(one) for one in suites if not is_grease(one)),
        groups=tuple(group_name(one) for one in _listed(extensions, _GROUPS) if not is_grease(one)),
        key_shares=tuple(group_name(one) for one in _key_shares(extensions) if not is_grease(one)),
        server_name=_server_name(extensions),
        offers_session=named_session or bool(extensions.get(_TICKET)) or _PSK in extensions,
        signatures=tuple(
            signature_name(one) for one in _listed(extensions, _SIGNATURES) if not is_grease(one)
        ),
    )


def server_hello(body: bytes) -> ServerSaid:
    """A ServerHello without its header (RFC 8446, section 4.1.3). Malformed where it is none."""
    cursor = Cursor(body)
    version = cursor.number(2)
    random = cursor.take(32)
    cursor.vector(1)
    suite = cursor.number(2)
    cursor.take(1)
    extensions = _extensions(cursor)
    if chosen := extensions.get(_VERSIONS):
        version = Cursor(chosen).number(2)
    share = extensions.get(_KEY_SHARE)
    return ServerSaid(
        version=version,
        suite=suite,
        group=group_name(Cursor(share).number(2)) if share else None,
        hello_retry=random == HELLO_RETRY,
        takes_psk=_PSK in extensions,
    )


def key_exchange_group(body: bytes, suite: str) -> str | None:
    """The group of a ServerKeyExchange; None for a cipher suite that has none.

    It is a curve (RFC 8422, section 5.4), or a prime, which is named by its size (RFC 5246, section 7.4.3).
    """
    cursor = Cursor(body)
    if "ECDHE" in suite:
        return group_name(cursor.number(2)) if cursor.number(1) == _NAMED_CURVE else None
    if "DHE" in suite:
        return f"DH {int.from_bytes(cursor.vector(2), 'big').bit_length()}"
    return None


def _extensions(cursor: Cursor) -> dict[int, bytes]:
    """All extensions by number; before TLS 1.2 there may be none."""
    found: dict[int, bytes] = {}
    if not cursor.rest:
        return found
    inside = Cursor(cursor.vector(2))
    while inside.rest:
        number = inside.number(2)
        found[number] = inside.vector(2)
    return found


def _offered_versions(extensions: dict[int, bytes], legacy: int) -> list[int]:
    if _VERSIONS in extensions:
        offered = numbers(Cursor(extensions[_VERSIONS]).vector(1))
        return [one for one in offered if not is_grease(one)]
    return [legacy]


def _listed(extensions: dict[int, bytes], extension: int) -> tuple[int, ...]:
    """The numbers in an extension that is one list of them; none where it was not sent."""
    return numbers(Cursor(extensions[extension]).vector(2)) if extension in extensions else ()


def _key_shares(extensions: dict[int, bytes]) -> list[int]:
    shares: list[int] = []
    if _KEY_SHARE in extensions:
        inside = Cursor(Cursor(extensions[_KEY_SHARE]).vector(2))
        while inside.rest:
            shares.append(inside.number(2))
            inside.vector(2)
    return shares


def _server_name(extensions: dict[int, bytes]) -> str | None:
    """The first host name (RFC 6066, section 3)."""
    if _SERVER_NAME not in extensions:
        return None
    names = Cursor(Cursor(extensions[_SERVER_NAME]).vector(2))
    if names.number(1) != 0:
        raise Malformed
    return names.vector(2).decode("utf-8", "replace")
