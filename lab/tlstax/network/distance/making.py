"""Makes the two places in a child that ends at once: they live on in the descriptors that it sends back.

`python -m tlstax.network.distance.making SOCKET [no-netem]`: over the Unix socket with that descriptor
comes one line of JSON, and with it the descriptors of the far and the near network namespace, of the user
namespace where one was needed, and of both TUN devices where the kernel has no delay of its own. With
`change FAR NEAR USER RTT JITTER RATE`, that delay is given another distance (USER is -1 without a user
namespace).

Only a process of one thread may make a user namespace (unshare(2)), and rights in it are lost when a program
is executed: so all that needs rights is done here, and programs are moved in afterwards.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

from pyroute2 import IPRoute

from tlstax.network.distance import kernel, netem
from tlstax.plan.addresses import DEVICE, FAR_ADDRESS, MTU, NEAR_ADDRESSES, PREFIX_LENGTH

SETTINGS = {"net/ipv4/tcp_no_metrics_save": "1", "net/ipv6/conf/all/disable_ipv6": "1"}
"""Of each place. TCP remembers of each address how fast it was (tcp(7), tcp_no_metrics_save); here one
address is now near, now far, so what was learned in one trial would be wrong in the next."""

QUEUE_PACKETS = 10_000
"""How many packets wait at a TUN device for the link, so that none is lost while it is not awake."""

NOT_PERMITTED = frozenset({errno.EPERM, errno.EACCES, errno.ENOSPC, errno.ENOSYS, errno.EINVAL})
"""How a kernel refuses a namespace: no right, none left (sysctl user.max_user_namespaces), none built in."""


class Lacking(Exception):
    """The machine lacks something: which, and the kernel's word for it."""

    def __init__(self, what: str, why: OSError) -> None:
        super().__init__(what)
        self.told = {"lacking": what, "why": why.strerror or str(why)}


def make(channel: socket.socket, *, may_netem: bool) -> None:
    """Make both places and send them through the channel, or what the machine lacks."""
    try:
        user, far = _separate()
        near = kernel.unshare_network()
        delays = may_netem and netem.lay(far, near)
        devices = [] if delays else [_tun(far), _tun(near)]
        _furnish(far, (FAR_ADDRESS,))
        _furnish(near, NEAR_ADDRESSES)
    except Lacking as lacking:
        channel.sendall(json.dumps(lacking.told).encode() + b"\n")
        return
    said = {"user": user is not None, "devices": len(devices)}
    descriptors = [far, near, *([] if user is None else [user]), *devices]
    socket.send_fds(channel, [json.dumps(said).encode() + b"\n"], descriptors)


def _separate() -> tuple[int | None, int]:
    """A first network namespace, in a user namespace only where this process has no right to one itself."""
    try:
        return None, kernel.unshare_network()
    except OSError as error:
        if error.errno not in NOT_PERMITTED:
            raise Lacking("network namespaces", error) from error
    try:
        user = kernel.unshare_user()
    except OSError as error:
        raise Lacking("user namespaces", error) from error
    try:
        return user, kernel.unshare_network()
    except OSError as error:
        raise Lacking("network namespaces", error) from error


def _tun(place: int) -> int:
    kernel.enter_network(place)
    try:
        return kernel.open_tun(DEVICE)
    except OSError as error:
        raise Lacking("tun", error) from error


def _furnish(place: int, addresses: tuple[str, ...]) -> None:
    """Bring up the place's loopback and its end of the distance."""
    kernel.enter_network(place)
    for name, value in SETTINGS.items():
        with suppress(OSError):  # read-only in some containers, and then only a little is lost
            (Path("/proc/sys") / name).write_text(value, "ascii")
    with IPRoute() as route:
        route.link("set", index=route.link_lookup(ifname="lo")[0], state="up")
        device = route.link_lookup(ifname=DEVICE)[0]
        netem.whole_packets(route, device)
        route.link("set", index=device, mtu=MTU, txqlen=QUEUE_PACKETS, state="up")
        for address in addresses:
            route.addr("add", index=device, address=address, prefixlen=PREFIX_LENGTH)


def change(far: int, near: int, user: int, told: tuple[float, float, float]) -> None:
    """Tell the kernel's delay another distance."""
    if user >= 0:
        kernel.enter_user(user)
    for place in (far, near):
        netem.change(place, *told)


if __name__ == "__main__":
    if sys.argv[1] == "change":
        far_place, near_place, user_place = map(int, sys.argv[2:5])
        rtt_ms, jitter_ms, rate_mbit = map(float, sys.argv[5:8])
        change(far_place, near_place, user_place, (rtt_ms, jitter_ms, rate_mbit))
    else:
        with socket.socket(fileno=os.dup(int(sys.argv[1]))) as given:
            make(given, may_netem=sys.argv[2:] != ["no-netem"])
