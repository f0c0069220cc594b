"""A storm: all connections opened and logged in as fast as they can be, and nothing asked on them.

It is the measure of the study of tunnels (seed 004): 100 connections at once, ten runs, connections a second.
"""

from __future__ import annotations

from tlstax.contract import Workload

ROUNDS = 10
"""How many rounds a trial has where a study does not say: the runs that were published."""

CONNECTIONS = 100
"""How many connections a round opens where nobody says: as many as were published."""


def storm(table: str, rows: int) -> Workload:  # noqa: ARG001 (all workloads are made alike)
    """A connection opened and logged in; it needs no table."""
    return Workload(storm=True)
