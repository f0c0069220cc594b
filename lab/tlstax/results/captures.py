"""What crossed the wire of each case, as a tap saw it: frozen types of what is told of it."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt

from tlstax.contract import Frozen
from tlstax.records.capture import Frame, Hello, StatementSeen
from tlstax.study import Level, Role

Reading = Literal["clear", "compressed", "encrypted", "none"]
"""What can be read of the first bytes: the protocol itself, the protocol once it is inflated, nothing; or
there were none."""


class CaseCrossed(Frozen):
    """What a tap saw of one case.

    `verdict` is that of the captured trial, `reason` why it is not valid. Of `connections`, `encrypted` went
    on to encrypted data; `versions`, `ciphers` and `groups` are those that were agreed on, `hello_retries`
    and `resumed` of the `handshakes` that were looked into, `offered` is what the client offered first.
    Round trips are those of contract/README.md; `round_trips_of_login` are those from connecting to the
    server's OK, None where that cannot be seen. `statements` are the first ones that could be read on one
    connection. `after_login` are the first bytes after the login (after the handshake where the login is
    encrypted), `in_window` the first of the work; `reading` is what can be read of them, told by `says`.
    """

    case: dict[str, Level]
    role: Role
    label: str
    group: str
    verdict: str
    reason: str
    connections: NonNegativeInt = 0
    encrypted: NonNegativeInt = 0
    versions: tuple[str, ...] = ()
    ciphers: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    handshakes: NonNegativeInt = 0
    hello_retries: NonNegativeInt = 0
    resumed: NonNegativeInt = 0
    offered: Hello | None = None
    operations: NonNegativeInt = 0
    round_trips_per_operation: float | None = None
    bytes_sent_per_operation: float | None = None
    bytes_received_per_operation: float | None = None
    round_trips_of_login: NonNegativeInt | None = None
    statements: tuple[StatementSeen, ...] = ()
    after_login: tuple[Frame, ...] = ()
    in_window: tuple[Frame, ...] = ()
    reading: Reading = "none"
    says: str = ""


class NotCaptured(Frozen):
    """A case before whose server no tap can stand, and why."""

    label: str
    why: str


class Captures(Frozen):
    """What taps saw of a run's cases. `asked_for` is whether the user asked to see it, by --capture."""

    cases: tuple[CaseCrossed, ...]
    without: tuple[NotCaptured, ...]
    asked_for: bool
