"""Proof of the distance: measured before and after the trial, it was what the case has; or there was none."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.contract import TcpEndpoint
from tlstax.records.way import DistanceObservation, RoundTripTime
from tlstax.study.factors import Distance

TOLERANCE_MS, TOLERANCE_SHARE = 1.0, 0.05
"""How far the median round trip may exceed what was asked: a millisecond, and a twentieth of it. Both
kernels, the link's wake-ups and what else runs on the machine take their time, and all of it only adds."""

ROUNDING_MS = 0.01
"""How far it may fall short: clocks and timers are finer than this."""

PROBE_BITS = 2 * 60 * 8
"""A SYN and its answer, which a distance with a rate has to carry too; 60 bytes are the larger of both."""


def distance(trial: Complete) -> Iterator[Doubt]:
    """A case with a distance had it, before and after; a case without had none."""
    wanted, seen = trial.case.distance, trial.evidence.distance
    if not wanted.is_any:
        yield from _none(trial, seen)
        return
    if seen is None or seen.after is None:
        yield Doubt("invalid", f"nothing shows that the server was {wanted.rtt_ms:g} ms away")
        return
    if (seen.rtt_ms, seen.jitter_ms, seen.rate_mbit) != (wanted.rtt_ms, wanted.jitter_ms, wanted.rate_mbit):
        yield Doubt("invalid", f"the distance was set to {seen.rtt_ms:g} ms, not to {wanted.rtt_ms:g} ms")
    for when, measured in (("before", seen.before), ("after", seen.after)):
        yield from _as_asked(wanted, measured, when)
    yield from _carried(wanted, seen)


def longest_ms(wanted: Distance) -> float:
    """The longest median round trip that still is this distance."""
    sending_ms = PROBE_BITS / 1000 / wanted.rate_mbit if wanted.rate_mbit else 0.0
    return wanted.rtt_ms * (1 + TOLERANCE_SHARE) + TOLERANCE_MS + 2 * wanted.jitter_ms + sending_ms


def shortest_ms(wanted: Distance) -> float:
    """The shortest one."""
    return max(0.0, wanted.rtt_ms - 2 * wanted.jitter_ms - ROUNDING_MS)


def _none(trial: Complete, seen: DistanceObservation | None) -> Iterator[Doubt]:
    """Nothing was put between them, and where both are ours, the client was sent to loopback.

    Clients on other machines were sent to where those reach the server, over whatever network there is.
    """
    if seen is not None:
        yield Doubt("invalid", f"the server was {seen.rtt_ms:g} ms away, where there must be no distance")
    job = trial.evidence.job
    if trial.evidence.claim is None or job is None or not isinstance(job.endpoint, TcpEndpoint):
        return
    load, host = trial.evidence.load, job.endpoint.host
    if load is None and not host.startswith("127."):
        yield Doubt("invalid", f"the client was sent to {host}, which is not loopback")
    if load is not None and host != load.server_address:
        yield Doubt(
            "invalid", f"clients were sent to {host}, where the server is reached at {load.server_address}"
        )


def _as_asked(wanted: Distance, measured: RoundTripTime, when: str) -> Iterator[Doubt]:
    if not shortest_ms(wanted) <= measured.median_ms <= longest_ms(wanted):
        yield Doubt(
            "invalid",
            f"{when} the trial a round trip took {measured.median_ms:.2f} ms (the median of "
            f"{measured.samples}), where it must take {wanted.rtt_ms:g} to {longest_ms(wanted):.2f} ms",
        )


def _carried(wanted: Distance, seen: DistanceObservation) -> Iterator[Doubt]:
    """Packets that our own link was late with or had no room for are reported, not hidden."""
    link = seen.link
    if link is None:
        return
    drops = link.to_far.drops + link.to_near.drops
    if drops:
        sent = drops + link.to_far.packets + link.to_near.packets
        yield Doubt("note", f"the distance had no room for {drops} of {sent} packets")
    late_ms = link.lateness_us.p99 / 1000
    if late_ms > TOLERANCE_MS + TOLERANCE_SHARE * wanted.rtt_ms:
        yield Doubt(
            "note",
            f"one in a hundred packets arrived at least {late_ms:.1f} ms later than the distance demands",
        )
