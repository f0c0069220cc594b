"""What a server reports of itself, as types that are the same whichever product it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tlstax.contract import Frozen


class Identity(NamedTuple):
    """Which server answers: itself, and the cluster whose data it holds, empty where it is in none."""

    node: str
    cluster: str

    @property
    def data(self) -> str:
        """What the data is known by, on whichever node it is looked at."""
        return self.cluster or self.node


class ConnectionLimits(NamedTuple):
    """Numbers of connections: the server's limit, the account's (0: none of its own), those in use.

    `by_account` are those that count against the account's, where it has one.
    """

    max_connections: int
    max_user_connections: int
    in_use: int
    by_account: int = 0


class Terms(NamedTuple):
    """`requires` is what the account demands of a connection, such as "SSL", empty where nothing.

    `hourly` has its limits by their names, those alone that are in force.
    """

    requires: str = ""
    hourly: tuple[tuple[str, int], ...] = ()


class Traffic(NamedTuple):
    """How many statements a server has had of everybody, and when that was asked for."""

    statements: int
    at_s: float


class TlsFacts(Frozen):
    """What a server reports of its TLS; None where it does not report it.

    `offered` is whether it offers TLS to whoever connects. `versions` are those it may negotiate;
    `cipher_list` holds for TLS 1.2 and before, `ciphersuites` for TLS 1.3, both as configured: empty means
    the library's default. `certificate_expires` is as OpenSSL prints it.
    """

    offered: bool
    library_version: str | None
    versions: tuple[str, ...]
    cipher_list: str
    ciphersuites: str
    certificate_file: str | None
    certificate_expires: str | None


def changed_counters(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """The counters that changed, and by how much."""
    return {
        name: value - before[name]
        for name, value in after.items()
        if name in before and value != before[name]
    }


class Connected(NamedTuple):
    """Connections of one kind: what their program says of itself, how they came, and how many there are.

    `compression` says whether the protocol's own compression is on.
    """

    client: str
    version: str
    program: str
    transport: str
    tls: str
    compression: bool
    connections: int
