"""Statements that read nothing, for servers in which nothing may be created."""

from __future__ import annotations

from tlstax.contract import Statement, Workload

_PING = Statement(sql="SELECT 1")
"""What pools ask to see that a connection is alive; a proxy passes it on like any other query."""


def ping(table: str, rows: int) -> Workload:  # noqa: ARG001 (it reads none)
    """One statement after another on connections that are kept."""
    return Workload(protocol="text", statements=(_PING,))


def reconnect(table: str, rows: int) -> Workload:  # noqa: ARG001 (it reads none)
    """Connect, ask once, disconnect."""
    return Workload(reconnect=True, protocol="text", statements=(_PING,))
