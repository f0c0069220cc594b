"""What is given to the kernel's own delay (tc-netem(8)), where it has it. The two devices are a veth pair.

Each end delays what it sends, so each has half of the round trip.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from tlstax.network.distance import kernel
from tlstax.plan.addresses import DEVICE, MTU

LIMIT_PACKETS = 100_000
"""How many packets may be delayed at once; tc-netem's own limit is 1,000, which a fast line over a long way
exceeds."""

_MOST_BYTES_PER_S = 2**32 - 1
"""The largest rate of tc-netem's 32 bits. With any rate it lets no packet overtake the one before it,
whatever jitter draws (net/sched/sch_netem.c, netem_enqueue)."""

_ROOT = "1:"


def parameters(rtt_ms: float, jitter_ms: float, rate_mbit: float) -> dict[str, int]:
    """The options of the queueing discipline at each end: microseconds, packets, bytes a second."""
    settings = {"delay": round(rtt_ms * 500), "limit": LIMIT_PACKETS}
    if jitter_ms:
        settings["jitter"] = round(jitter_ms * 1000)
    if rate_mbit:
        settings["rate"] = round(rate_mbit * 125_000)
    elif jitter_ms:
        settings["rate"] = _MOST_BYTES_PER_S
    return settings


def lay(far: int, near: int) -> bool:
    """Lay a veth pair between two network namespaces, delayed by nothing yet; False where that cannot be.

    The current namespace is the near one afterwards.
    """
    kernel.enter_network(near)
    with IPRoute() as here:
        try:
            here.link("add", ifname=DEVICE, kind="veth", peer={"ifname": DEVICE, "net_ns_fd": far})
        except NetlinkError:
            return False
        try:
            for place in (far, near):
                kernel.enter_network(place)
                with IPRoute() as there:
                    _set(there, "add", parameters(0, 0, 0))
        except NetlinkError:
            kernel.enter_network(near)
            with suppress(NetlinkError):
                here.link("del", index=_device(here))
            return False
    return True


def change(place: int, rtt_ms: float, jitter_ms: float, rate_mbit: float) -> None:
    """Other options at the end in this network namespace. NetlinkError where the kernel refuses them."""
    kernel.enter_network(place)
    with IPRoute() as there:
        _set(there, "change", parameters(rtt_ms, jitter_ms, rate_mbit))


def whole_packets(route: Any, index: int) -> None:
    """No packet crosses that is larger than the MTU: a veth pair would carry 64 KiB in one piece."""
    with suppress(NetlinkError):
        route.link("set", index=index, gso_max_segs=1, gso_max_size=MTU)


def _set(route: Any, what: str, settings: dict[str, int]) -> None:
    route.tc(what, "netem", _device(route), _ROOT, **settings)


def _device(route: Any) -> int:
    return int(route.link_lookup(ifname=DEVICE)[0])
