"""What the machine's network stack has sent and received: TCP segments, and bytes on the loopback device.

These are of the whole network namespace, so of whatever else talks there too. Read below `root`, so that a
test can bring a machine of its own.
"""

from __future__ import annotations

from pathlib import Path

from tlstax.observed import WireUse

ROOT = Path("/")


def read_wire(root: Path = ROOT) -> WireUse | None:
    """Everything since boot; None where the kernel does not tell. `loopback_bytes` counts each byte once.

    /proc/net/snmp has a line of names and a line of values for each protocol, /proc/net/dev a line for each
    device, whose first field is the bytes received (proc(5)).
    """
    tcp = _tcp(_text(root / "proc/net/snmp"))
    if not {"InSegs", "OutSegs", "RetransSegs"} <= tcp.keys():
        return None
    return WireUse(
        tcp_segments_sent=tcp["OutSegs"],
        tcp_segments_received=tcp["InSegs"],
        tcp_segments_retransmitted=tcp["RetransSegs"],
        loopback_bytes=_loopback_bytes(_text(root / "proc/net/dev")),
    )


def wire_between(before: WireUse | None, after: WireUse | None) -> WireUse | None:
    """What was sent and received between two readings."""
    if before is None or after is None:
        return None
    known = before.loopback_bytes is not None and after.loopback_bytes is not None
    return WireUse(
        tcp_segments_sent=after.tcp_segments_sent - before.tcp_segments_sent,
        tcp_segments_received=after.tcp_segments_received - before.tcp_segments_received,
        tcp_segments_retransmitted=after.tcp_segments_retransmitted - before.tcp_segments_retransmitted,
        loopback_bytes=(after.loopback_bytes or 0) - (before.loopback_bytes or 0) if known else None,
    )


def _tcp(text: str) -> dict[str, int]:
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith("Tcp:")]
    if len(lines) != 2:
        return {}
    return {name: int(value) for name, value in zip(*lines, strict=False)}


def _loopback_bytes(text: str) -> int | None:
    for line in text.splitlines():
        device, colon, fields = line.partition(":")
        if colon and device.strip() == "lo":
            return int(fields.split()[0])
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except OSError:
        return ""
