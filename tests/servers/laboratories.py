"""Other laboratories, in processes of their own that a test may kill, and waiting for what follows."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

LAB = Path(__file__).parents[2] / "lab"


def wait_until(condition: Callable[[], bool], timeout_s: float = 20.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


@contextmanager
def laboratory(
    script: str, server: str, become: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """Another laboratory in a process of its own: the process, its server's id, its session's directory.

    `become` goes before its command.
    """
    environment = {**os.environ, "PYTHONPATH": str(LAB)}
    with subprocess.Popen(
        [*become, sys.executable, "-c", script, server], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            pid, path = process.stdout.readline().split(maxsplit=1)
            yield process, int(pid), Path(path.strip())
        finally:
            process.kill()
