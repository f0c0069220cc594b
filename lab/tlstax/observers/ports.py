"""How many TCP ports wait for a minute, since the connection that had them is closed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tlstax.contract import Job
from tlstax.contract.job import TcpEndpoint
from tlstax.plan.addresses import is_loopback
from tlstax.records.window import PortUse
from tlstax.support.text import natural

ROOT = Path("/")
ALWAYS, ON_LOOPBACK = "1", "2"
"""Of tcp_tw_reuse: where the kernel takes a port again after a second (Linux's ip-sysctl)."""


class PortSettings(NamedTuple):
    """The kernel's first and last port for new connections, and its tcp_tw_reuse."""

    low: int
    high: int
    reuse: str

    @property
    def there_are(self) -> int:
        """How many ports that are."""
        return self.high - self.low + 1


def port_settings(ipv4: Path) -> PortSettings:
    """What is set in this folder, which is /proc/sys/net/ipv4. OSError, ValueError where it is not there."""
    low, high = map(int, (ipv4 / "ip_local_port_range").read_text("ascii").split())
    return PortSettings(low, high, (ipv4 / "tcp_tw_reuse").read_text("ascii").strip())


def read_ports(job: Job, root: Path = ROOT) -> PortUse | None:
    """What waits on this machine, and what there is for a client with this job.

    None where ports do not matter: at a Unix socket, and where the kernel takes those again that wait; also
    where it does not report them.
    """
    if not isinstance(job.endpoint, TcpEndpoint):
        return None
    try:
        settings = port_settings(root / "proc/sys/net/ipv4")
        sockets = (root / "proc/self/net/sockstat").read_text("ascii")
    except (OSError, ValueError):
        return None
    if settings.reuse == ALWAYS or (settings.reuse == ON_LOOPBACK and is_loopback(job.endpoint.host)):
        return None
    waiting = _waiting(sockets)
    there_are = settings.there_are * max(1, len(job.source_addresses))
    return None if waiting is None else PortUse(waiting=waiting, there_are=there_are)


def _waiting(sockstat: str) -> int | None:
    """From `TCP: inuse 5 orphan 0 tw 14000 alloc 7 mem 1` (proc(5), /proc/net/sockstat)."""
    for line in sockstat.splitlines():
        name, _, counts = line.partition(":")
        fields = counts.split()
        if name == "TCP" and "tw" in fields:
            return natural("".join(fields[fields.index("tw") + 1 :][:1]))
    return None
