"""MySQL's protocol in the clear: who greets and logs in how, which commands are said, what answers are."""

from __future__ import annotations

from tlstax.network.tap.units import (
    COMPRESSED_PACKETS,
    LONGEST_TEXT,
    PACKETS,
    Cursor,
    Framing,
    Malformed,
    Said,
    Stage,
    Unit,
)
from tlstax.records.capture import Sender, Spoken, StatementSeen

CLIENT_COMPRESS, CLIENT_SSL = 1 << 5, 1 << 11
CLIENT_ZSTD, CLIENT_QUERY_ATTRIBUTES = 1 << 26, 1 << 27
"""Capability flags of MySQL's client/server protocol."""

COMMANDS = {
    0x01: "COM_QUIT",
    0x02: "COM_INIT_DB",
    0x03: "COM_QUERY",
    0x04: "COM_FIELD_LIST",
    0x07: "COM_REFRESH",
    0x08: "COM_SHUTDOWN",
    0x09: "COM_STATISTICS",
    0x0A: "COM_PROCESS_INFO",
    0x0C: "COM_PROCESS_KILL",
    0x0D: "COM_DEBUG",
    0x0E: "COM_PING",
    0x11: "COM_CHANGE_USER",
    0x16: "COM_STMT_PREPARE",
    0x17: "COM_STMT_EXECUTE",
    0x18: "COM_STMT_SEND_LONG_DATA",
    0x19: "COM_STMT_CLOSE",
    0x1A: "COM_STMT_RESET",
    0x1B: "COM_SET_OPTION",
    0x1C: "COM_STMT_FETCH",
    0x1F: "COM_RESET_CONNECTION",
    0xFA: "COM_STMT_BULK_EXECUTE",
}
"""What commands are called ("Command Phase"); the last is MariaDB's."""

_SSL_REQUEST_BYTES = 32
_OK, _EOF, _ERR, _INFILE = 0x00, 0xFE, 0xFF, 0xFB
_QUIT, _CHANGE_USER, _PREPARE = 0x01, 0x11, 0x16
_QUERY = 0x03
_WITH_TEXT = frozenset({0x02, _QUERY, _PREPARE})
_LONGEST_EOF_BYTES = 9
_FIXED_BYTES = {0x01: 1, 0x02: 2, 0x0D: 2, 0x03: 4, 0x09: 4, 0x04: 4, 0x05: 8, 0x08: 8, 0x06: 0}
"""How long the value of a query attribute is, by its type, where that is not given with it."""

_SHOWN_OF_SECRETS = 5
"""A packet's header and the number of its command."""


class MySqlPackets:
    """A `Clear`. A client's packet is a frame of its own, an answer is one, called by its first packet."""

    spoken: Spoken = "mysql"
    frame_names = 1

    def __init__(self) -> None:
        self.stage: Stage = "opening"
        self._server_flags = self._flags = 0
        self._command = 0

    def framing(self, _: Sender, /) -> Framing:
        """Packets, and compressed ones where both sides agreed on that."""
        return COMPRESSED_PACKETS if self.stage == "compressed" else PACKETS

    def follow(self, sender: Sender, unit: Unit) -> Said:
        """One more packet, in its order: what it is, and the command in it."""
        if self.stage == "compressed":
            return Said("compressed packet", ends_frame=True)
        return self._of_client(unit) if sender == "client" else Said(self._of_server(unit))

    def _of_client(self, packet: Unit) -> Said:
        if self.stage == "opening":
            return Said(self._first_words(packet))
        if self.stage == "login":
            return Said("authentication")
        if packet.header[3] != 0 or not packet.body:
            return Said("data", ends_frame=True)
        self._command = packet.body[0]
        name, shown_bytes = COMMANDS.get(self._command, f"command 0x{self._command:02x}"), None
        if self._command == _CHANGE_USER:
            self.stage, shown_bytes = "login", _SHOWN_OF_SECRETS
        statement = StatementSeen(command=name, text=self._text(packet.body))
        return Said(name, statement, shown_bytes=shown_bytes, ends_frame=True)

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
        if self.stage == "opening":
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
