"""System calls on namespaces, which Python has from 3.12 on; for short-lived children with one thread."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from pathlib import Path

TUN = Path("/dev/net/tun")

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
