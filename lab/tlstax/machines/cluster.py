"""What a cluster of machines can do for a run, whatever joins them. Pure: the types and the seam alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tlstax.support.errors import TlstaxError


@dataclass(frozen=True)
class Node:
    """A machine of the cluster. `identity` is the cluster's own, and another one when the machine comes back.

    `name` is short, the same when it comes back, and no other machine's.
    """

    identity: str
    name: str
    address: str


class Worker(Protocol):
    """A program of ours on a node, that takes lines and writes lines."""

    @property
    def node(self) -> Node:
        """Where it works."""
        ...

    def send(self, line: str) -> None:
        """Give it a line. What cannot be given shows in what is heard of it."""
        ...


@dataclass(frozen=True)
class Heard:
    """What has come from a worker: lines, and how it ended; None while it works.

    `node_is_lost` where it ended because its machine, or what joins it to us, is gone.
    """

    worker: Worker
    lines: Sequence[str] = ()
    ended: str | None = None
    node_is_lost: bool = False


class Cluster(Protocol):
    """Machines that are joined."""

    def nodes(self) -> Sequence[Node]:
        """Those that are there now."""
        ...

    def start(self, nodes: Sequence[Node], arguments: Sequence[str]) -> Mapping[Node, Worker | TlstaxError]:
        """Start tlstax with these arguments on all of these at once; why not, where it cannot be."""
        ...

    def hear(self, within_s: float) -> Sequence[Heard]:
        """What has come from any worker since; waits so long for something."""
        ...

    def end(self, workers: Sequence[Worker]) -> None:
        """Have these end in order, all at once, and by force where that takes too long."""
        ...


def named_nodes(hosts: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each node of a cluster, by its host's name and address; those with equal names have both."""
    addresses: dict[str, set[str]] = {}
    for host, address in hosts:
        addresses.setdefault(host, set()).add(address)
    return [host if len(addresses[host]) == 1 else f"{host}-{address}" for host, address in hosts]
