"""What is understood of one connection while its bytes pass: turns, TLS, statements, the first frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tlstax.network.tap.commands import Clear
from tlstax.network.tap.handshake import APPLICATION_DATA, Handshake
from tlstax.network.tap.units import COMPRESSED_PACKETS, PACKETS, RECORDS, Framing, Malformed, Splitter, Unit
from tlstax.records.capture import Conversation, Frame, Sender, StatementSeen, Traffic

MOST_FRAMES = 16
"""How many frames of a connection are kept."""

FRAME_BYTES = 128
"""How much of a frame is kept."""

MOST_STATEMENTS = 100
"""How many statements of a connection are kept."""


@dataclass
class Tally:
    """Traffic as it adds up."""

    turns: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0

    def traffic(self) -> Traffic:
        """What it has come to."""
        return Traffic(turns=self.turns, bytes_sent=self.bytes_sent, bytes_received=self.bytes_received)

    def since(self, before: Tally) -> Traffic:
        """What has been added since it stood there."""
        return Traffic(
            turns=self.turns - before.turns,
            bytes_sent=self.bytes_sent - before.bytes_sent,
            bytes_received=self.bytes_received - before.bytes_received,
        )


@dataclass
class Growing:
    """A frame that may still grow: an answer has many packets."""

    sender: Sender
    what: str
    length: int = 0
    head: bytearray = field(default_factory=bytearray)

    def add(self, unit: Unit, shown_bytes: int | None) -> None:
        """One more packet or record of it; of one that is secret no more than `shown_bytes` is kept."""
        whole = unit.header + unit.body
        self.head += whole[:shown_bytes][: FRAME_BYTES - len(self.head)]
        self.length += unit.length

    def frame(self) -> Frame:
        """The frame as it is now."""
        return Frame(sender=self.sender, what=self.what, length=self.length, hex=self.head.hex())


class Listening:
    """Hears what both sides of one connection say, in the order in which it reaches the other.

    `total` is added to with every byte and turn, over all connections; `on_frame` gets every frame that
    begins. Whatever the bytes are, nothing is raised: what is not understood is counted as it comes.
    """

    def __init__(self, total: Tally, on_frame: Callable[[Growing], None], *, in_window: bool = False) -> None:
        self._total, self._on_frame, self._in_window = total, on_frame, in_window
        self._own = Tally()
        # To connect is to have said something: the greeting answers it.
        self._waits = True
        self._clear = Clear()
        self._handshake: Handshake | None = None
        self._splitters: dict[Sender, Splitter] = {}
        self._frame_anew(PACKETS)
        self._understood = True
        self._frames: list[Growing] = []
        self._answer: Growing | None = None
        self._statements: list[StatementSeen] = []
        self._turns_to_login: int | None = None
        self.ended_by: Sender | None = None

    @property
    def is_encrypted(self) -> bool:
        """Whether both sides have gone on to encrypted data."""
        return self._handshake is not None and self._handshake.finished

    def hear(self, sender: Sender, data: bytes) -> None:
        """Bytes that this side has sent."""
        for tally in (self._own, self._total):
            if sender == "client":
                tally.bytes_sent += len(data)
            else:
                tally.bytes_received += len(data)
        while data and self._understood:
            unit, data = self._splitters[sender].take(data)
            if unit is not None:
                try:
                    self._understand(sender, unit)
                except Malformed:
                    self._understood = False
                    self._turn(sender, True)
        if data:
            self._turn(sender, True)

    def conversation(self) -> Conversation:
        """What has been heard of it until now."""
        return Conversation(
            tls=self._handshake.seen if self._handshake else None,
            statements=tuple(self._statements),
            frames=tuple(frame.frame() for frame in self._frames),
            traffic=self._own.traffic(),
            ended_by=self.ended_by,
            in_window=self._in_window,
            turns_to_login=self._turns_to_login,
        )

    def _understand(self, sender: Sender, unit: Unit) -> None:
        """One whole packet or record."""
        if self._handshake is not None:
            self._record(sender, unit, self._handshake)
        elif self._clear.stage == "compressed":
            self._turn(sender, True)
            self._note(sender, "compressed packet", unit)
        else:
            self._packet(sender, unit)

    def _packet(self, sender: Sender, packet: Unit) -> None:
        before = self._clear.stage
        what, statement = self._clear.follow(sender, packet)
        after = self._clear.stage
        self._turn(sender, True)
        if statement is not None and len(self._statements) < MOST_STATEMENTS:
            self._statements.append(statement)
        if after == "tls":
            self._handshake = Handshake()
            self._frame_anew(RECORDS)
        elif before == "login" and after in {"commands", "compressed"} and sender == "server":
            if self._turns_to_login is None and what == "OK":
                self._turns_to_login = self._own.turns
            if after == "compressed":
                self._frame_anew(COMPRESSED_PACKETS)
        elif before == "commands":
            self._note(sender, what, packet, self._clear.shown_bytes(what))

    def _record(self, sender: Sender, record: Unit, handshake: Handshake) -> None:
        was_finished = handshake.finished
        self._turn(sender, handshake.follow(sender, record))
        if was_finished and record.header[0] == APPLICATION_DATA:
            self._note(sender, handshake.name(record), record)

    def _frame_anew(self, framing: Framing) -> None:
        self._splitters = {"client": Splitter(framing), "server": Splitter(framing)}

    def _turn(self, sender: Sender, speaks: bool | None) -> None:
        """A unit has passed: the client waits from now on, or has been answered. None changes nothing."""
        if speaks is None:
            return
        if sender == "client":
            self._waits, self._answer = speaks, None
        elif self._waits:
            self._waits = False
            self._own.turns += 1
            self._total.turns += 1

    def _note(self, sender: Sender, what: str, unit: Unit, shown_bytes: int | None = None) -> None:
        """A frame, or a part of the last one: an answer in the clear is one, however many packets it has."""
        frame = self._answer
        if frame is None or sender == "client":
            frame = Growing(sender, what)
            if len(self._frames) < MOST_FRAMES:
                self._frames.append(frame)
            self._on_frame(frame)
        frame.add(unit, shown_bytes)
        if sender == "server" and self._handshake is None and self._clear.stage == "commands":
            self._answer = frame
