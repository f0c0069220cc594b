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

import ctypes
import errno
import fcntl
import json
import os
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from tlstax.plan.addresses import DEVICE, FAR_ADDRESS, MTU, NEAR_ADDRESSES, PREFIX_LENGTH, TUN

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
        near = unshare_network()
        delays = may_netem and lay_veth(far, near)
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
        return None, unshare_network()
    except OSError as error:
        if error.errno not in NOT_PERMITTED:
            raise Lacking("network namespaces", error) from error
    try:
        user = unshare_user()
    except OSError as error:
        raise Lacking("user namespaces", error) from error
    try:
        return user, unshare_network()
    except OSError as error:
        raise Lacking("network namespaces", error) from error


def _tun(place: int) -> int:
    enter_network(place)
    try:
        return open_tun(DEVICE)
    except OSError as error:
        raise Lacking("tun", error) from error


def _furnish(place: int, addresses: tuple[str, ...]) -> None:
    """Bring up the place's loopback and its end of the distance."""
    enter_network(place)
    for name, value in SETTINGS.items():
        with suppress(OSError):  # read-only in some containers, and then only a little is lost
            (Path("/proc/sys") / name).write_text(value, "ascii")
    with IPRoute() as route:
        route.link("set", index=route.link_lookup(ifname="lo")[0], state="up")
        device = route.link_lookup(ifname=DEVICE)[0]
        whole_packets(route, device)
        route.link("set", index=device, mtu=MTU, txqlen=QUEUE_PACKETS, state="up")
        for address in addresses:
            route.addr("add", index=device, address=address, prefixlen=PREFIX_LENGTH)


def change(far: int, near: int, user: int, told: tuple[float, float, float]) -> None:
    """Tell the kernel's delay another distance."""
    if user >= 0:
        enter_user(user)
    for place in (far, near):
        change_netem(place, *told)


LIMIT_PACKETS = 100_000
"""How many packets may be delayed at once; tc-netem's own limit is 1,000, which a fast line over a long way
exceeds."""

_MOST_BYTES_PER_S = 2**32 - 1
"""The largest rate of tc-netem's 32 bits. With any rate it lets no packet overtake the one before it,
whatever jitter draws (net/sched/sch_netem.c, netem_enqueue)."""

_ROOT = "1:"


def netem_parameters(rtt_ms: float, jitter_ms: float, rate_mbit: float) -> dict[str, int]:
    """The options of the queueing discipline at each end: microseconds, packets, bytes a second."""
    settings = {"delay": round(rtt_ms * 500), "limit": LIMIT_PACKETS}
    if jitter_ms:
        settings["jitter"] = round(jitter_ms * 1000)
    if rate_mbit:
        settings["rate"] = round(rate_mbit * 125_000)
    elif jitter_ms:
        settings["rate"] = _MOST_BYTES_PER_S
    return settings


def lay_veth(far: int, near: int) -> bool:
    """Lay a veth pair between two network namespaces, delayed by nothing yet; False where that cannot be.

    The current namespace is the near one afterwards.
    """
    enter_network(near)
    with IPRoute() as here:
        try:
            here.link("add", ifname=DEVICE, kind="veth", peer={"ifname": DEVICE, "net_ns_fd": far})
        except NetlinkError:
            return False
        try:
            for place in (far, near):
                enter_network(place)
                with IPRoute() as there:
                    _set(there, "add", netem_parameters(0, 0, 0))
        except NetlinkError:
            enter_network(near)
            with suppress(NetlinkError):
                here.link("del", index=_device(here))
            return False
    return True


def change_netem(place: int, rtt_ms: float, jitter_ms: float, rate_mbit: float) -> None:
    """Other options at the end in this network namespace. NetlinkError where the kernel refuses them."""
    enter_network(place)
    with IPRoute() as there:
        _set(there, "change", netem_parameters(rtt_ms, jitter_ms, rate_mbit))


def whole_packets(route: Any, index: int) -> None:
    """No packet crosses that is larger than the MTU: a veth pair would carry 64 KiB in one piece."""
    with suppress(NetlinkError):
        route.link("set", index=index, gso_max_segs=1, gso_max_size=MTU)


def _set(route: Any, what: str, settings: dict[str, int]) -> None:
    route.tc(what, "netem", _device(route), _ROOT, **settings)


def _device(route: Any) -> int:
    return int(route.link_lookup(ifname=DEVICE)[0])


_CLONE_NEWUSER, _CLONE_NEWNET = 0x1000_0000, 0x4000_0000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x4004_54CA, 0x0001, 0x1000


def unshare_network() -> int:
    """Move this process into a new network namespace; a descriptor of it. OSError as of unshare(2)."""
    _call("unshare", _CLONE_NEWNET)
    return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def unshare_user() -> int:
    """The same with a user namespace, in which this process is still the same user (user_namespaces(7)).

    Every right over the namespaces that are made in it belongs to this process, until it executes a program.
    """
    user, group = os.geteuid(), os.getegid()
    _call("unshare", _CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny", "ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", "ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", "ascii")
    return os.open("/proc/self/ns/user", os.O_RDONLY | os.O_CLOEXEC)


def enter_user(descriptor: int) -> None:
    """Move this process into the user namespace. OSError as of setns(2)."""
    _call("setns", descriptor, _CLONE_NEWUSER)


def enter_network(descriptor: int) -> None:
    """Move this process into the network namespace. OSError as of setns(2)."""
    _call("setns", descriptor, _CLONE_NEWNET)


def open_tun(name: str) -> int:
    """A new device of this name in the current network namespace, which is there while this is open.

    What is read and written are IP packets, without any header before them, so that the kernel cuts what it
    sends to the device's MTU (Documentation/networking/tuntap.rst). OSError where it may not be.
    """
    descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        request = struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI)
        fcntl.ioctl(descriptor, _TUNSETIFF, request)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _call(name: str, *arguments: int) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    if sys.argv[1] == "change":
        far_place, near_place, user_place = map(int, sys.argv[2:5])
        rtt_ms, jitter_ms, rate_mbit = map(float, sys.argv[5:8])
        change(far_place, near_place, user_place, (rtt_ms, jitter_ms, rate_mbit))
    else:
        with socket.socket(fileno=os.dup(int(sys.argv[1]))) as given:
            make(given, may_netem=sys.argv[2:] != ["no-netem"])
