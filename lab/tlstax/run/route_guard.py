"""Around a trial: the distance is put there and measured before and after, and the path is watched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tlstax.network.paths.route import Route, Span
from tlstax.records.way import DistanceObservation, PathObservation
from tlstax.support.errors import MachineFault

LINK_DIED = "the link that makes the distance ended in the trial"


@dataclass
class Travelled:
    """What was seen of the way between client and server; kept however the trial ends."""

    path: PathObservation | None = None
    distance: DistanceObservation | None = None


@contextmanager
def travelling(route: Route, travelled: Travelled) -> Iterator[None]:
    """The route as the case has it while the block runs. MachineFault where it is not available."""
    span, path, distance = route.span, route.path, route.distance
    if span is not None:
        span.set(distance)
        travelled.distance = DistanceObservation(
            rtt_ms=distance.rtt_ms,
            jitter_ms=distance.jitter_ms,
            rate_mbit=distance.rate_mbit,
            made_by=span.made_by,
            before=span.measure(),
            after=None,
        )
    if path is not None:
        path.begin()
    try:
        yield
    except Exception as failure:
        if _died(span):
            raise MachineFault(LINK_DIED) from failure
        raise
    finally:
        if path is not None:
            travelled.path = path.observe()
    if _died(span):
        raise MachineFault(LINK_DIED)
    if span is not None and travelled.distance is not None:
        seen = {"link": span.used(), "after": span.measure()}
        travelled.distance = travelled.distance.model_copy(update=seen)


def _died(span: Span | None) -> bool:
    return span is not None and not span.is_alive()
