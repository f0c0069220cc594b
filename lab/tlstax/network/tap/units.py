"""Bytes as they come, cut into the units of a protocol, and what whoever listens asks of one in the clear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from tlstax.records.capture import Sender, Spoken, StatementSeen


class Malformed(Exception):
    """These bytes are not what the protocol has in this place."""


@dataclass(frozen=True)
class Framing:
    """How a protocol frames what it sends: the header's size, and where in it the rest's length stands."""

    header_bytes: int
    length_at: int
    length_bytes: int
    order: Literal["little", "big"]
    kept_bytes: int
    """How much of a unit is kept to be read; of a longer one its length alone is known beyond."""

    counted_bytes: int = 0
    """How much of the header the length counts too."""

    def length(self, header: bytes) -> int:
        """How many bytes follow this header. Malformed where fewer than none would."""
        counted = int.from_bytes(header[self.length_at : self.length_at + self.length_bytes], self.order)
        if counted < self.counted_bytes:
            raise Malformed
        return counted - self.counted_bytes


PACKETS = Framing(4, 0, 3, "little", 8192)
"""MySQL's packets: a length, a sequence number."""

COMPRESSED_PACKETS = Framing(7, 0, 3, "little", 256)
"""MySQL's compressed packets: a length, a sequence number, the length before compression."""

STARTUP = Framing(4, 0, 4, "big", 8192, counted_bytes=4)
"""PostgreSQL's first packets, which have no type: a length (Message Formats)."""

MESSAGES = Framing(5, 1, 4, "big", 8192, counted_bytes=4)
"""PostgreSQL's messages: a type, a length (Message Formats)."""

ONE_BYTE = Framing(1, 0, 0, "big", 0)
"""PostgreSQL's answer to a client that asks for encryption (SSL Session Encryption)."""

RECORDS = Framing(5, 3, 2, "big", 1 << 16)
"""TLS records: a content type, a version, a length (RFC 8446, section 5.1)."""


@dataclass(frozen=True)
class Unit:
    """A packet or record: its header, what was kept of the rest, and how many bytes it has in all."""

    header: bytes
    body: bytes
    length: int


class Splitter:
    """Cuts what one side sends into units."""

    def __init__(self, framing: Framing) -> None:
        self.framing = framing
        self._head = bytearray()
        self._missing = 0

    def take(self, data: bytes) -> tuple[Unit | None, bytes]:
        """The unit that these bytes complete, if they do, and the bytes after it."""
        framing, head = self.framing, self._head
        if len(head) < framing.header_bytes:
            needed = framing.header_bytes - len(head)
            head += data[:needed]
            data = data[needed:]
            if len(head) < framing.header_bytes:
                return None, b""
            self._missing = framing.length(bytes(head))
        part = data[: self._missing]
        head += part[: max(0, framing.header_bytes + framing.kept_bytes - len(head))]
        self._missing -= len(part)
        if self._missing:
            return None, b""
        header, body = bytes(head[: framing.header_bytes]), bytes(head[framing.header_bytes :])
        head.clear()
        return Unit(header, body, framing.header_bytes + framing.length(header)), data[len(part) :]


class Cursor:
    """Reads numbers and strings from bytes, one after the other; Malformed beyond their end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    @property
    def rest(self) -> bytes:
        """All that has not been read yet."""
        return self._data[self._place :]

    def take(self, count: int) -> bytes:
        """The next bytes."""
        taken = self._data[self._place : self._place + count]
        if len(taken) < count:
            raise Malformed
        self._place += count
        return taken

    def number(self, count: int, order: Literal["little", "big"] = "big") -> int:
        """The next bytes as a number."""
        return int.from_bytes(self.take(count), order)

    def vector(self, length_bytes: int) -> bytes:
        """A length of N bytes, and what follows (RFC 8446, section 3.4)."""
        return self.take(self.number(length_bytes))

    def length_encoded(self) -> int:
        """A length-encoded integer of MySQL's protocol."""
        first = self.number(1)
        widths = {0xFC: 2, 0xFD: 3, 0xFE: 8}
        if first in widths:
            return self.number(widths[first], "little")
        if first > 0xFA:
            raise Malformed
        return first

    def until_nul(self) -> bytes:
        """A string that ends with a zero byte."""
        text, nul, _ = self.rest.partition(b"\0")
        if not nul:
            raise Malformed
        self._place += len(text) + 1
        return text


def numbers(data: bytes) -> tuple[int, ...]:
    """A list of two-byte numbers."""
    return tuple(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data) - 1, 2))


LONGEST_TEXT = 4096
"""How many characters of a statement are kept."""

Stage = Literal["opening", "login", "commands", "compressed", "tls"]
"""How far a connection has come: before the client names itself, until the server takes it, and beyond."""


@dataclass(frozen=True)
class Said:
    """What one packet or message is.

    `speaks` is whether a client waits after it, or a server answers by it; None says nothing of it. No more
    than `shown_bytes` of it may be kept. `ends_frame` is whether what its sender says next is another frame.
    """

    name: str
    statement: StatementSeen | None = None
    speaks: bool | None = True
    shown_bytes: int | None = None
    ends_frame: bool = False


class Clear(Protocol):
    """Follows one connection until it is encrypted; Malformed where bytes are not what they must be."""

    spoken: Spoken
    frame_names: int
    """A frame is called by its first messages, by this many different ones at most."""

    stage: Stage

    def framing(self, sender: Sender, /) -> Framing:
        """How what this side says next is cut."""
        ...

    def follow(self, sender: Sender, unit: Unit) -> Said:
        """One more packet or message, in its order."""
        ...
