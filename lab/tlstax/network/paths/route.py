"""How a trial's bytes travel: where its client starts, which programs they pass, over which distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tlstax.contract import Endpoint
from tlstax.records.trial import ConnectionsSeen, LinkUse, PathObservation, RoundTripTime
from tlstax.study.factors import Distance


class Span(Protocol):
    """Two places of this machine with a distance between them: servers stand in the far one.

    Each place is a network namespace of its own, with a loopback of its own. `far_address` is where the far
    place is reached over the distance, `near_addresses` are those that clients may come from.
    """

    @property
    def made_by(self) -> Literal["netem", "tlstax-link"]:
        """What delays the packets."""
        ...

    @property
    def far_address(self) -> str:
        """The far place's address on the distance."""
        ...

    @property
    def near_addresses(self) -> tuple[str, ...]:
        """The near place's addresses on the distance."""
        ...

    def enter_far(self) -> tuple[str, ...]:
        """The beginning of a command line that executes a program in the far place, in the same process."""
        ...

    def enter_near(self) -> tuple[str, ...]:
        """The same for the near place."""
        ...

    def set(self, distance: Distance) -> None:
        """Make the distance this one, from the next packet on. MachineFault when the link is gone."""
        ...

    def measure(self) -> RoundTripTime:
        """The round trip time from the near place to the far one, now. MachineFault when it is silent."""
        ...

    def used(self) -> LinkUse | None:
        """What our own link has carried since this or `set` was called last; None where the kernel delays."""
        ...

    def is_alive(self) -> bool:
        """Whether packets are carried."""
        ...


class RunningPath(Protocol):
    """Programs between client and server, started and ready; whoever started them stops them."""

    @property
    def entry(self) -> Endpoint:
        """Where clients connect to, as seen from the client's place."""
        ...

    @property
    def pids(self) -> Sequence[int]:
        """All processes that carry its bytes."""
        ...

    @property
    def logins(self) -> tuple[ConnectionsSeen, ...] | None:
        """The clients that it has let in itself, between `begin` and `observe`; None where it does not."""
        ...

    def begin(self) -> None:
        """A trial begins: from now on its connections are counted. MachineFault when a program has died."""
        ...

    def observe(self) -> PathObservation:
        """What it showed since `begin`. Never fails: a program that has died is a part that is not alive."""
        ...

    def is_alive(self) -> bool:
        """Whether all its programs run."""
        ...

    def restart(self, server_port: int) -> None:
        """Start it again, towards this port of the server's. MachineFault when it does not come up."""
        ...


@dataclass(frozen=True)
class Route:
    """How one case reaches its server.

    `entering` goes before the client's command, to start it in its place. `path` is None where client and
    server are connected directly. `span` is None where no distance is to be put between them.
    """

    endpoint: Endpoint
    source_addresses: tuple[str, ...]
    entering: tuple[str, ...] = ()
    path: RunningPath | None = None
    span: Span | None = None
    distance: Distance = field(default_factory=Distance)
