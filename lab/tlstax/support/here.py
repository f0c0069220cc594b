"""What every measurement needs of this machine: that it reaches itself on loopback, and says what it does.

A container, or a network namespace that nobody has set up, may lack either, and what fails then says not why.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from tlstax.support.errors import MachineFault

LOOPBACK = "127.0.0.1"
CONNECT_S = 5.0
PROC = Path("/proc")


def text_of(path: Path) -> str:
    """What a file of the kernel's says; empty where it is not there, or not for us to read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def check_loopback() -> None:
    """MachineFault where no connection to 127.0.0.1 can be made; one is tried."""
    try:
        with (
            socket.create_server((LOOPBACK, 0)) as listener,
            socket.create_connection(listener.getsockname(), CONNECT_S),
        ):
            pass
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise MachineFault(
            f"this machine does not reach itself at {LOOPBACK} ({reason})",
            remedy=f"as root, `ip link set lo up && ip address replace {LOOPBACK}/8 dev lo`",
        ) from error


def check_proc() -> None:
    """MachineFault where proc(5) is not mounted."""
    if not (PROC / "self" / "stat").exists():
        raise MachineFault(
            "/proc is not mounted, and without it no process can be watched",
            remedy="as root, `mount -t proc proc /proc`, or let the container have it",
        )
