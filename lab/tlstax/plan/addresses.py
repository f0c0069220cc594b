"""The addresses of both places and the device that leads from one to the other; what is loopback."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

FAR_ADDRESS = "198.18.0.1"
"""Where the far place is reached: of the range that is set aside for measuring (RFC 2544, appendix C.2.2)."""

NEAR_ADDRESSES = tuple(f"198.18.0.{host}" for host in range(2, 10))
"""Where clients come from. A closed connection keeps its port for a minute (TIME_WAIT); eight addresses have
eight times the ports."""

PREFIX_LENGTH = 24

DEVICE = "distance0"
"""The device in each of both places that leads to the other one."""

TUN = Path("/dev/net/tun")
"""What makes such a device where the kernel has no delay of its own (Documentation/networking/tuntap.rst)."""

MTU = 1500
"""Ethernet's: the largest IP packet in bytes, as on a real network."""

CLOSED_PORT = 1
"""Nobody listens on this port of the far place: the kernel answers connects itself."""


def is_loopback(host: str) -> bool:
    """Whether this address, or name, is the machine itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
