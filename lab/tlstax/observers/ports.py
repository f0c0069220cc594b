"""How many TCP ports wait for a minute, since the connection that had them is closed."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

from tlstax.contract import Job
from tlstax.contract.job import TcpEndpoint
from tlstax.records.ports import PortUse

ROOT = Path("/")
ALWAYS, ON_LOOPBACK = "1", "2"
"""Of tcp_tw_reuse: where the kernel takes a port again after a second (Linux's ip-sysctl)."""


def read_ports(job: Job, root: Path = ROOT) -> PortUse | None:
    """What waits on this machine, and what there is for a client with this job.

    None where ports do not matter: at a Unix socket, and where the kernel takes those again that wait; also
    where it does not report them.
    """
    if not isinstance(job.endpoint, TcpEndpoint):
        return None
    settings = root / "proc/sys/net/ipv4"
    try:
        reuse = (settings / "tcp_tw_reuse").read_text("ascii").strip()
        low, high = map(int, (settings / "ip_local_port_range").read_text("ascii").split())
        sockets = (root / "proc/self/net/sockstat").read_text("ascii")
    except (OSError, ValueError):
        return None
    if reuse == ALWAYS or (reuse == ON_LOOPBACK and _is_loopback(job.endpoint.host)):
        return None
    waiting = _waiting(sockets)
    there_are = (high - low + 1) * max(1, len(job.source_addresses))
    return None if waiting is None else PortUse(waiting=waiting, there_are=there_are)


def _waiting(sockstat: str) -> int | None:
    """From `TCP: inuse 5 orphan 0 tw 14000 alloc 7 mem 1` (proc(5), /proc/net/sockstat)."""
    for line in sockstat.splitlines():
        name, _, counts = line.partition(":")
        fields = counts.split()
        if name == "TCP" and "tw" in fields:
            return int(fields[fields.index("tw") + 1])
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
