"""Makes the distance of a study: two places and what delays the packets between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from tlstax.network.distance import round_trips
from tlstax.network.distance.link import Link, link_command
from tlstax.network.distance.places import Places, open_places
from tlstax.network.paths.route import Span
from tlstax.plan.addresses import FAR_ADDRESS, NEAR_ADDRESSES
from tlstax.records.way import LinkUse, RoundTripTime
from tlstax.specimens.sessions import Session
from tlstax.study.factors import Distance


@contextmanager
def open_span(
    session: Session, say: Callable[[str], None], *, cpus: tuple[int, ...] = (), may_netem: bool = True
) -> Iterator[Span]:
    """Both places and their link, gone with the block. MachineFault says what the machine lacks.

    `cpus` are those of the client, on which our own link runs (empty: anywhere).
    """
    link_command()
    with open_places(may_netem=may_netem) as places:
        link = Link(session, places.devices, cpus) if places.devices else None
        span = OpenSpan(places, link)
        say(f"making a distance between two network namespaces ({span.made_by} delays the packets)")
        try:
            yield span
        finally:
            if link is not None:
                link.close()


class OpenSpan:
    """Two places, and our own link between them; None where the kernel delays packets itself."""

    def __init__(self, places: Places, link: Link | None) -> None:
        self._places = places
        self._link = link
        self._distance = Distance()

    @property
    def made_by(self) -> Literal["netem", "tlstax-link"]:
        """What delays the packets."""
        return "tlstax-link" if self._link else "netem"

    @property
    def far_address(self) -> str:
        """The far place's address on the distance."""
        return FAR_ADDRESS

    @property
    def near_addresses(self) -> tuple[str, ...]:
        """The near place's addresses on the distance."""
        return NEAR_ADDRESSES

    def enter_far(self) -> tuple[str, ...]:
        """The beginning of a command line that executes a program in the far place, in the same process."""
        return self._places.entering(self._places.far)

    def enter_near(self) -> tuple[str, ...]:
        """The same for the near place."""
        return self._places.entering(self._places.near)

    def set(self, distance: Distance) -> None:
        """Make the distance this one, from the next packet on. MachineFault when the link is gone."""
        if self._link is not None:
            self._link.set(distance)
        elif distance != self._distance:
            self._places.change(distance)
        self._distance = distance

    def measure(self) -> RoundTripTime:
        """The round trip time from the near place to the far one, now. MachineFault when it is silent."""
        return round_trips.measure(self.enter_near(), self._distance)

    def used(self) -> LinkUse | None:
        """What our own link has carried since this or `set` was called last; None where the kernel delays."""
        return self._link.used() if self._link else None

    def is_alive(self) -> bool:
        """Whether packets are carried."""
        return self._link is None or self._link.is_alive()
