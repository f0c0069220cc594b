"""One exchange over TCP, made in whichever place of this machine the other side is to be reached from.

A place is a network namespace. From this one the exchange is made at once; from another one by this very
module, run there as a program of its own: `python -m tlstax.network.paths.exchange`, with what to do on its
input.
"""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

MOST_BYTES = 65536
ABOUT_A_PYTHON_S = 10.0
"""What a program in another place may take beside its exchange."""


@dataclass(frozen=True)
class Exchange:
    """Connect, send `request` (none: only listen), and read at least `least_bytes` (None: to the end)."""

    host: str
    port: int
    request: bytes = b""
    least_bytes: int | None = None
    timeout_s: float = 2.0


def exchange(entering: tuple[str, ...], asked: Exchange) -> bytes:
    """What came back; empty where nothing answered in time, or the connection was refused.

    `entering` is the beginning of a command line in the place from which it is made, empty for this one.
    """
    if not entering:
        return _exchanged(asked)
    command = [*entering, sys.executable, "-m", "tlstax.network.paths.exchange"]
    environment = {"PYTHONPATH": str(Path(__file__).resolve().parents[3]), "PATH": "/usr/bin:/bin"}
    try:
        done = subprocess.run(
            command,
            input=json.dumps({**asdict(asked), "request": _text(asked.request)}).encode(),
            capture_output=True,
            check=False,
            env=environment,
            timeout=asked.timeout_s + ABOUT_A_PYTHON_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return base64.b64decode(done.stdout) if done.returncode == 0 else b""


def _exchanged(asked: Exchange) -> bytes:
    received = b""
    try:
        with socket.create_connection((asked.host, asked.port), timeout=asked.timeout_s) as end:
            end.sendall(asked.request)
            while len(received) < (asked.least_bytes or MOST_BYTES):
                more = end.recv(MOST_BYTES)
                if not more:
                    break
                received += more
    except OSError:
        return b""
    return received


def _main() -> None:
    told = json.load(sys.stdin)
    asked = Exchange(**{**told, "request": base64.b64decode(told["request"])})
    sys.stdout.write(_text(_exchanged(asked)))


def _text(data: bytes) -> str:
    """Bytes as they go from one program to the other."""
    return base64.b64encode(data).decode("ascii")


if __name__ == "__main__":
    _main()
