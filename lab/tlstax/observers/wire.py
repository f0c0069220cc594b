"""What a network stack has sent and received: TCP segments, and bytes on loopback and across a distance.

These are of a whole network namespace, so of whatever else talks there too: of the machine's, or of the place
that a distance gives the client, which is its own. Read below `root`, so that a test can bring a machine of
its own.
"""

from __future__ import annotations

from pathlib import Path

from tlstax.plan.addresses import DEVICE
from tlstax.records.window import WireUse
from tlstax.support.text import integer, natural

ROOT = Path("/")


def read_wire(pid: int | None = None, root: Path = ROOT) -> WireUse | None:
    """Everything since boot where this process is; None where the kernel does not report it.

    /proc/PID/net/snmp has a line of names and a line of values for each protocol, as has netstat beside it
    for what is Linux's own; /proc/PID/net/dev a line for each device, whose first field is the bytes
    received, and whose ninth those sent (proc(5)). Each byte is counted once.
    """
    place = root / "proc" / ("self" if pid is None else str(pid)) / "net"
    tcp, more = _counts(_text(place / "snmp"), "Tcp:"), _counts(_text(place / "netstat"), "TcpExt:")
    if not {"InSegs", "OutSegs", "RetransSegs"} <= tcp.keys():
        return None
    devices = _devices(_text(place / "dev"))
    distance = devices.get(DEVICE)
    return WireUse(
        tcp_segments_sent=tcp["OutSegs"],
        tcp_segments_received=tcp["InSegs"],
        tcp_segments_retransmitted=tcp["RetransSegs"],
        tcp_segments_arrived_twice=more.get("TCPDSACKRecvSegs"),
        loopback_bytes=devices["lo"][0] if "lo" in devices else None,
        distance_bytes=sum(distance) if distance else None,
    )


def wire_between(before: WireUse | None, after: WireUse | None) -> WireUse | None:
    """What was sent and received between two readings."""
    if before is None or after is None:
        return None
    return WireUse(
        tcp_segments_sent=after.tcp_segments_sent - before.tcp_segments_sent,
        tcp_segments_received=after.tcp_segments_received - before.tcp_segments_received,
        tcp_segments_retransmitted=after.tcp_segments_retransmitted - before.tcp_segments_retransmitted,
        tcp_segments_arrived_twice=_between(
            before.tcp_segments_arrived_twice, after.tcp_segments_arrived_twice
        ),
        loopback_bytes=_between(before.loopback_bytes, after.loopback_bytes),
        distance_bytes=_between(before.distance_bytes, after.distance_bytes),
    )


def _between(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _counts(text: str, protocol: str) -> dict[str, int]:
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(protocol)]
    if len(lines) != 2:
        return {}
    return {name: integer(value) or 0 for name, value in zip(*lines, strict=False)}


def _devices(text: str) -> dict[str, tuple[int, int]]:
    """Bytes received and sent, by device."""
    devices = {}
    for line in text.splitlines():
        device, colon, counts = line.partition(":")
        fields = counts.split()
        if colon and len(fields) > 8:
            devices[device.strip()] = natural(fields[0]) or 0, natural(fields[8]) or 0
    return devices


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except OSError:
        return ""
