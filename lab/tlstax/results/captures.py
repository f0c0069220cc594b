"""The first bytes of a case as they crossed the wire, as a frozen type."""

from __future__ import annotations

from tlstax.contract import Frozen
from tlstax.records.capture import Frame, Hello, StatementSeen
from tlstax.study import Level


class FirstBytes(Frozen):
    """What a tap saw first of one connection of a case, and `says` what can be read of it.

    `offered` is what the client offered first, `statements` are the first ones that could be read.
    `after_login` are the first bytes after the login (after the handshake where the login is encrypted),
    `in_window` the first of the work.
    """

    case: dict[str, Level]
    label: str
    says: str
    offered: Hello | None
    statements: tuple[StatementSeen, ...]
    after_login: tuple[Frame, ...]
    in_window: tuple[Frame, ...]
