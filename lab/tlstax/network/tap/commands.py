"""MySQL's protocol in the clear: who greets and logs in how, which commands are said, what answers are."""

from __future__ import annotations

from typing import Literal

from tlstax.network.tap.names import command_name
from tlstax.network.tap.units import Cursor, Malformed, Unit
from tlstax.records.capture import Sender, StatementSeen

CLIENT_COMPRESS, CLIENT_SSL = 1 << 5, 1 << 11
CLIENT_ZSTD, CLIENT_QUERY_ATTRIBUTES = 1 << 26, 1 << 27
"""Capability flags of MySQL's client/server protocol."""

LONGEST_TEXT = 4096
"""How many characters of a statement are kept."""

_SSL_REQUEST_BYTES = 32
_OK, _EOF, _ERR, _INFILE = 0x00, 0xFE, 0xFF, 0xFB
_QUIT, _CHANGE_USER, _PREPARE = 0x01, 0x11, 0x16
_QUERY = 0x03
_WITH_TEXT = frozenset({0x02, _QUERY, _PREPARE})
_LONGEST_EOF_BYTES = 9
_FIXED_BYTES = {0x01: 1, 0x02: 2, 0x0D: 2, 0x03: 4, 0x09: 4, 0x04: 4, 0x05: 8, 0x08: 8, 0x06: 0}
"""How long the value of a query attribute is, by its type, where that is not given with it."""

Stage = Literal["greeting", "login", "commands", "compressed", "tls"]


class Clear:
    """Follows the packets of one connection until they are encrypted or compressed."""

    def __init__(self) -> None:
        self.stage: Stage = "greeting"
        self._server_flags = self._flags = 0
        self._command = 0

    def follow(self, sender: Sender, packet: Unit) -> tuple[str, StatementSeen | None]:
        """One more packet, in its order: what it is, and the command in it."""
        return self._of_client(packet) if sender == "client" else (self._of_server(packet), None)

    def shown_bytes(self, what: str) -> int | None:
        """How much of a packet of that name may be shown: one that proves who the client is, not at all."""
        return _SHOWN_OF_SECRETS if what == command_name(_CHANGE_USER) or self.stage == "login" else None

    def _of_client(self, packet: Unit) -> tuple[str, StatementSeen | None]:
        if self.stage == "greeting":
            return self._first_words(packet), None
        if self.stage == "login":
            return "authentication", None
        if packet.header[3] != 0 or not packet.body:
            return "data", None
        self._command = packet.body[0]
        if self._command == _CHANGE_USER:
            self.stage = "login"
        name = command_name(self._command)
        return name, StatementSeen(command=name, text=self._text(packet.body))

    def _first_words(self, packet: Unit) -> str:
        """The client's first packet: it asks for TLS, or logs in."""
        flags = Cursor(packet.body).number(4, "little")
        self._flags = flags & self._server_flags
        if flags & CLIENT_SSL and len(packet.body) == _SSL_REQUEST_BYTES:
            self.stage = "tls"
            return "SSLRequest"
        self.stage = "login"
        return "login"

    def _of_server(self, packet: Unit) -> str:
        first = packet.body[0] if packet.body else _OK
        if first == _ERR:
            if self.stage == "login" and self._command == _CHANGE_USER:
                self.stage = "commands"
            return f"ERR {Cursor(packet.body[1:]).number(2, 'little')}"
        if self.stage == "greeting":
            self._server_flags = _flags_of_greeting(packet.body)
            return "greeting"
        if self.stage == "login":
            return self._of_login(first)
        return self._answer(first, len(packet.body))

    def _of_login(self, first: int) -> str:
        if first != _OK:
            return "authentication"
        self.stage = "compressed" if self._flags & (CLIENT_COMPRESS | CLIENT_ZSTD) else "commands"
        return "OK"

    def _answer(self, first: int, length: int) -> str:
        if first == _OK:
            return "COM_STMT_PREPARE_OK" if self._command == _PREPARE else "OK"
        if first == _INFILE:
            return "LOCAL INFILE request"
        return "EOF" if first == _EOF and length < _LONGEST_EOF_BYTES else "result set"

    def _text(self, body: bytes) -> str:
        """The text of a command, empty for one that has none or cannot be read."""
        if self._command not in _WITH_TEXT:
            return ""
        text = body[1:]
        if self._command == _QUERY and self._flags & CLIENT_QUERY_ATTRIBUTES:
            try:
                text = _after_attributes(text)
            except Malformed:
                return ""
        return text[:LONGEST_TEXT].decode("utf-8", "replace")


_SHOWN_OF_SECRETS = 5
"""A packet's header and the number of its command."""


def _flags_of_greeting(body: bytes) -> int:
    """The server's capabilities (Protocol::HandshakeV10)."""
    cursor = Cursor(body[1:])
    cursor.until_nul()
    cursor.take(4 + 8 + 1)
    low = cursor.number(2, "little")
    if not cursor.rest:
        return low
    cursor.take(1 + 2)
    return low | cursor.number(2, "little") << 16


def _after_attributes(text: bytes) -> bytes:
    """The statement after its query attributes (COM_QUERY, where CLIENT_QUERY_ATTRIBUTES was agreed on)."""
    cursor = Cursor(text)
    count = cursor.length_encoded()
    cursor.length_encoded()
    if not count:
        return cursor.rest
    nulls = cursor.take((count + 7) // 8)
    cursor.take(1)
    types = []
    for _ in range(count):
        types.append(cursor.number(2, "little") & 0xFF)
        cursor.take(cursor.length_encoded())
    for place, kind in enumerate(types):
        if not nulls[place // 8] >> place % 8 & 1:
            fixed = _FIXED_BYTES.get(kind)
            cursor.take(cursor.length_encoded() if fixed is None else fixed)
    return cursor.rest
