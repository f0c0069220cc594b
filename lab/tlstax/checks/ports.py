"""Proof that the client had ports to connect from: looking for one of the last takes long."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt

MOST_WAITING = 0.45
"""Share of all ports. The kernel tries every second one first (Linux's inet_hashtables.c, since 4.2). At nine
tenths of that half a search meets ten that are taken, and beyond it all 14,000: a millisecond of the client's
CPU time for each connect."""


def enough(trial: Complete) -> Iterator[Doubt]:
    """A client that made connections had ports left that no closed connection kept."""
    ports = trial.evidence.ports
    if ports is None or not trial.done.window.connections or ports.waiting <= MOST_WAITING * ports.there_are:
        return
    yield Doubt(
        "invalid",
        f"{ports.waiting:,} of the client's {ports.there_are:,} ports were still kept by closed connections, "
        "for a minute each, and the search for a free one slowed connecting down; on its machine, as root, "
        "`sysctl net.ipv4.tcp_tw_reuse=1` has ports used again after a second",
    )
