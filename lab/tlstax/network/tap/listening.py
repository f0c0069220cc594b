"""What is understood of one connection while its bytes pass: turns, TLS, statements, the first frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tlstax.network.tap.handshake import APPLICATION_DATA, HANDSHAKE, Handshake
from tlstax.network.tap.mysql_packets import MySqlPackets
from tlstax.network.tap.postgres_messages import PostgresMessages
from tlstax.network.tap.units import RECORDS, Clear, Malformed, Splitter, Unit
from tlstax.records.capture import Conversation, Frame, Sender, StatementSeen, Traffic

MOST_FRAMES = 16
"""How many frames of a connection are kept."""

FRAME_BYTES = 128
"""How much of a frame is kept."""

MOST_STATEMENTS = 100
"""How many statements of a connection are kept."""

MOST_OF_LOGIN = 32
"""How many names of what is said until the login's end are kept."""


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
    """A frame that may still grow: an answer has many packets. `most_names` of them at most name it."""

    sender: Sender
    most_names: int = 1
    names: list[str] = field(default_factory=list)
    length: int = 0
    head: bytearray = field(default_factory=bytearray)

    def add(self, name: str, unit: Unit, shown_bytes: int | None) -> None:
        """One more packet or record of it; of one that is secret no more than `shown_bytes` is kept."""
        if name not in self.names and len(self.names) < self.most_names:
            self.names.append(name)
        whole = unit.header + unit.body
        self.head += whole[:shown_bytes][: FRAME_BYTES - len(self.head)]
        self.length += unit.length

    def frame(self) -> Frame:
        """The frame as it is now."""
        return Frame(sender=self.sender, what=", ".join(self.names), length=self.length, hex=self.head.hex())


class Listening:
    """Hears what both sides of one connection say, in the order in which it reaches the other.

    Who speaks first tells which protocol it is: MySQL's servers do, PostgreSQL's clients.

    `total` is added to with every byte and turn, over all connections; `on_frame` gets every frame that
    begins. Whatever the bytes are, nothing is raised: what is not understood is counted as it comes.
    """

    def __init__(self, total: Tally, on_frame: Callable[[Growing], None], *, in_window: bool = False) -> None:
        self._total, self._on_frame, self._in_window = total, on_frame, in_window
        self._own = Tally()
        # To connect is to have said something: a greeting answers it.
        self._waits = True
        self._clear: Clear | None = None
        self._handshake: Handshake | None = None
        self._splitters: dict[Sender, Splitter] = {}
        self._understood = True
        self._frames: list[Growing] = []
        self._growing: Growing | None = None
        self._statements: list[StatementSeen] = []
        self._login: list[str] = []
        self._turns_to_login: int | None = None
        self._is_direct = False
        self._before_hello_bytes = 0
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
        if self._clear is None and data:
            self._begin(sender, data[0])
        while data and self._understood:
            if sender == "server" and self._handshake is not None and self._handshake.seen is None:
                self._before_hello_bytes += len(data)
                break
            try:
                unit, data = self._splitters[sender].take(data)
                if unit is not None:
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
            spoken=None if self._clear is None else self._clear.spoken,
            is_direct=self._is_direct,
            login=tuple(self._login),
            before_hello_bytes=self._before_hello_bytes,
        )

    def _begin(self, sender: Sender, first: int) -> None:
        """The first byte that passes."""
        self._clear = MySqlPackets() if sender == "server" else PostgresMessages()
        if sender == "client" and first == HANDSHAKE:
            self._handshake, self._is_direct = Handshake(), True
        self._frame_anew(self._clear)

    def _understand(self, sender: Sender, unit: Unit) -> None:
        """One whole packet, message or record."""
        if self._handshake is not None:
            self._record(sender, unit, self._handshake)
        elif self._clear is not None:
            self._in_the_clear(sender, unit, self._clear)

    def _in_the_clear(self, sender: Sender, unit: Unit, clear: Clear) -> None:
        before = clear.stage
        said = clear.follow(sender, unit)
        self._turn(sender, said.speaks)
        if said.statement is not None and len(self._statements) < MOST_STATEMENTS:
            self._statements.append(said.statement)
        if before in {"commands", "compressed"}:
            growing = self._note(sender, said.name, unit, said.shown_bytes, clear.frame_names)
            self._growing = None if said.ends_frame else growing
        elif self._turns_to_login is None:
            if said.name not in self._login[-1:] and len(self._login) < MOST_OF_LOGIN:
                self._login.append(said.name)
            if clear.stage in {"commands", "compressed"}:
                self._turns_to_login = self._own.turns
        if clear.stage == "tls":
            self._handshake = Handshake()
        self._frame_anew(clear)

    def _record(self, sender: Sender, record: Unit, handshake: Handshake) -> None:
        was_finished = handshake.finished
        self._turn(sender, handshake.follow(sender, record))
        if was_finished and record.header[0] == APPLICATION_DATA:
            self._note(sender, handshake.name(record), record)

    def _frame_anew(self, clear: Clear) -> None:
        """What either side says next may be cut in another way than until now."""
        sides: tuple[Sender, ...] = ("client", "server")
        for side in sides:
            framing = clear.framing(side) if self._handshake is None else RECORDS
            if side not in self._splitters or self._splitters[side].framing is not framing:
                self._splitters[side] = Splitter(framing)

    def _turn(self, sender: Sender, speaks: bool | None) -> None:
        """A unit has passed: the client waits from now on, or has been answered. None changes nothing."""
        if speaks is None:
            return
        if sender == "client":
            self._waits = speaks
        elif self._waits:
            self._waits = False
            self._own.turns += 1
            self._total.turns += 1

    def _note(
        self, sender: Sender, name: str, unit: Unit, shown_bytes: int | None = None, most_names: int = 1
    ) -> Growing:
        """A frame, or a part of the one that its sender has begun."""
        frame = self._growing
        if frame is None or frame.sender != sender:
            frame = Growing(sender, most_names)
            if len(self._frames) < MOST_FRAMES:
                self._frames.append(frame)
            self._on_frame(frame)
        frame.add(name, unit, shown_bytes)
        return frame
