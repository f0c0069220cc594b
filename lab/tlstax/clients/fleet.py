"""Several load machines that work for one laboratory: who they are, and how exactly they begin together."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from tlstax.clients.clock_offset import ClockOffset
from tlstax.clients.fleet_line import ANSWER_S, FleetLine, LoadMachineLost
from tlstax.clients.fleet_messages import Clock, Mark, Peer
from tlstax.plan.jobs import MOST_SKEW, LoadPlace
from tlstax.records.trial import Machine
from tlstax.support.errors import MachineFault

REHEARSALS, REMEMBERED = 20, 400
"""How often a slice's beginning is rehearsed, and how many beginnings are remembered."""

TYPICAL = 0.9
"""A slice is long enough for the skew that so many of the beginnings stay below."""

LEAD_S = 0.001
"""How long before a slice begins everywhere it is ordered, beyond what the order takes to get there."""


class Fleet:
    """Load machines, connected; leaving it closes the connections.

    `server_address` is where their clients reach the server, `patience_s` how long a laboratory waits to be
    ended by whoever started it once a machine is gone. With `all_addresses` clients come from all addresses
    that their machines have in its network. MachineFault where one cannot be reached, or has
    another engine than the first.
    """

    def __init__(
        self,
        peers: Sequence[Peer],
        server_address: str,
        patience_s: float = 0.0,
        *,
        all_addresses: bool = True,
    ) -> None:
        self.peers = tuple(peers)
        self.server_address = server_address
        self.patience_s = patience_s
        self._all_addresses = all_addresses
        self._open = ExitStack()
        self._skews_s: deque[float] = deque(maxlen=REMEMBERED)
        self._in_use = len(self.peers)
        self.clock_error_s = 0.0
        try:
            self._lines = [self._open.enter_context(FleetLine(peer)) for peer in peers]
            self._check_alike()
            self._rehearse()
        except LoadMachineLost as lost:
            self._open.close()
            raise MachineFault(str(lost)) from None
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def machines(self) -> dict[str, Machine]:
        """Each machine in use, by its name."""
        return {line.peer.name: line.welcome.machine for line in self._lines[: self._in_use]}

    @property
    def in_use(self) -> tuple[Peer, ...]:
        """The machines that load comes from now."""
        return self.peers[: self._in_use]

    @property
    def places(self) -> tuple[LoadPlace, ...]:
        """What each of them has for its client."""
        known = (line.welcome for line in self._lines[: self._in_use])
        return tuple(
            LoadPlace(one.machine.client_cpus, one.source_addresses if self._all_addresses else ())
            for one in known
        )

    @property
    def least_slice_s(self) -> float:
        """How long a slice has to be for the skew of its beginnings to be small beside it."""
        skews = sorted(self._skews_s)
        typical_s = skews[min(len(skews) - 1, int(TYPICAL * len(skews)))] if skews else 0.0
        return (typical_s + self.clock_error_s) / MOST_SKEW

    def began(self, skew_s: float) -> None:
        """Remember how far apart a slice began."""
        self._skews_s.append(skew_s)

    def use_first(self, count: int) -> None:
        """Have load come from the first so many machines from now on."""
        self._in_use = count

    def check_there(self) -> None:
        """MachineFault where a machine is gone, once nobody has ended this process for a while."""
        try:
            for line in self._lines[: self._in_use]:
                line.clock()
        except LoadMachineLost as lost:
            time.sleep(self.patience_s)
            raise MachineFault(str(lost)) from None

    def _check_alike(self) -> None:
        first, *others = (line.welcome for line in self._lines)
        for other, peer in zip(others, self.peers[1:], strict=True):
            if other.engine.sha256 != first.engine.sha256:
                raise MachineFault(f"the load engine of {peer.name} is not the one of {self.peers[0].name}")

    def _rehearse(self) -> None:
        """Have all machines note the same moments, to know how far apart they begin what they do together."""
        offsets = [line.clock() for line in self._lines]
        self.clock_error_s = spread_error_s(offsets)
        lead_s = lead_in_s(offsets)
        for _ in range(REHEARSALS):
            at_s = time.monotonic() + lead_s
            for line, offset in zip(self._lines, offsets, strict=True):
                line.tell(Mark(at_s=at_s + offset.ahead_s))
            marked = [line.reply(Clock, ANSWER_S).at_s for line in self._lines]
            began = [at - offset.ahead_s for at, offset in zip(marked, offsets, strict=True)]
            self.began(max(began) - min(began))


def spread_error_s(offsets: Sequence[ClockOffset]) -> float:
    """How far off a difference between two of these clocks may be: that of the two that are known worst."""
    return sum(sorted((offset.error_s for offset in offsets), reverse=True)[:2]) if len(offsets) > 1 else 0.0


def lead_in_s(offsets: Sequence[ClockOffset]) -> float:
    """How long before a common moment an order has to be sent: twice the time to the farthest machine."""
    return LEAD_S + 2 * max(offset.error_s for offset in offsets)
