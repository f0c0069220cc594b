"""What whoever listens asks of a protocol in the clear, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from tlstax.network.tap.units import Framing, Unit
from tlstax.records.capture import Sender, Spoken, StatementSeen

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
