"""What the machine's processors did over a window, second by second, read from /proc/stat.

Everything is read below `root`, so that a test can bring a machine of its own.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from tlstax.records.window import CpuSlice, CpuTicks
from tlstax.support.here import text_of
from tlstax.support.text import natural

ROOT = Path("/")
SLICE_S = 1.0
FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""The fields of a line in their order (proc(5), /proc/stat); what follows is within user and nice."""


class Ticks(NamedTuple):
    """Ticks since boot, of all processors and of the server's; None where it has none of its own."""

    machine: CpuTicks
    server: CpuTicks | None


def read_ticks(server_cpus: Collection[int], root: Path = ROOT) -> Ticks | None:
    """What the processors have done since boot; None where the kernel does not report it."""
    text = text_of(root / "proc/stat")
    lines = {line.split()[0]: line.split()[1:9] for line in text.splitlines() if line.startswith("cpu")}
    if "cpu" not in lines:
        return None
    own = [lines[name] for cpu in server_cpus if (name := f"cpu{cpu}") in lines]
    return Ticks(_ticks([lines["cpu"]]), _ticks(own) if own else None)


def difference(before: CpuTicks, after: CpuTicks) -> CpuTicks:
    """The ticks in between. Those of idle and iowait may run backwards (proc(5)): then there were none."""
    return CpuTicks(**{name: max(0, getattr(after, name) - getattr(before, name)) for name in FIELDS})


WATCHED_S = 0.4
"""How long others are looked at: forty ticks of each processor."""


class Usage(NamedTuple):
    """Ticks since boot in which the machine worked, and those that this process and all it started took."""

    machine: int
    own: int


def usage(root: Path = ROOT) -> Usage | None:
    """What the machine and this process with its descendants have worked; None where /proc does not say."""
    read = read_ticks((), root)
    if read is None:
        return None
    machine = read.machine
    busy = machine.user + machine.nice + machine.system + machine.irq + machine.softirq
    return Usage(busy, _own_ticks(root))


def others_between(before: Usage, after: Usage, elapsed_s: float) -> float:
    """How many processors other programs kept busy between the two."""
    ticks = (after.machine - before.machine) - (after.own - before.own)
    return max(0.0, ticks / os.sysconf("SC_CLK_TCK") / elapsed_s)


def busy_with_others(root: Path = ROOT) -> float:
    """How many processors other programs keep busy now, over a moment: 0.0 where /proc does not say.

    The load average would not do: it goes on for minutes, and counts our own servers and clients.
    """
    before, began_s = usage(root), time.monotonic()
    if before is None:
        return 0.0
    time.sleep(WATCHED_S)
    after = usage(root)
    return 0.0 if after is None else others_between(before, after, time.monotonic() - began_s)


def _own_ticks(root: Path) -> int:
    """CPU time of this process and its descendants, ended ones too (proc(5), /proc/pid/stat)."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for path in (root / "proc").glob("[0-9]*/stat"):
        fields = text_of(path).rpartition(")")[2].split()
        if len(fields) < 15:
            continue  # It has ended.
        pid = natural(path.parent.name) or 0
        children.setdefault(natural(fields[1]) or 0, []).append(pid)
        ticks[pid] = sum(natural(field) or 0 for field in fields[11:15])
    family = [os.getpid()]
    for pid in family:
        family += children.get(pid, [])
    return sum(ticks.get(pid, 0) for pid in family)


class CpuSeries:
    """Reads the processors' ticks from `start` to `stop`, in a thread that sleeps in between."""

    def __init__(self, server_cpus: Collection[int], root: Path = ROOT) -> None:
        self._server_cpus = tuple(server_cpus)
        self._root = root
        self._readings: list[tuple[float, Ticks]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read_on, name="processors", daemon=True)

    def start(self) -> None:
        """The window begins."""
        self._read()
        self._thread.start()

    def stop(self) -> tuple[CpuSlice, ...]:
        """End the window: what was done in each of its seconds, empty where the kernel does not report it."""
        self.end()
        self._read()
        begun_s = self._readings[0][0] if self._readings else 0.0
        return tuple(
            CpuSlice(
                at_s=round(then_s - begun_s, 4),
                took_s=round(now_s - then_s, 4),
                machine=difference(then.machine, now.machine),
                server=difference(then.server, now.server) if then.server and now.server else None,
            )
            for (then_s, then), (now_s, now) in zip(self._readings, self._readings[1:], strict=False)
        )

    def end(self) -> None:
        """Read no more. May be called twice, and without a start."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _read_on(self) -> None:
        begun_s = self._readings[0][0] if self._readings else time.monotonic()
        seconds = 1
        while not self._over.wait(max(0.0, begun_s + seconds * SLICE_S - time.monotonic())):
            self._read()
            seconds += 1

    def _read(self) -> None:
        ticks = read_ticks(self._server_cpus, self._root)
        if ticks is not None:
            self._readings.append((time.monotonic(), ticks))


def _ticks(lines: list[list[str]]) -> CpuTicks:
    """The sum of some lines; a field that an old kernel lacks is 0."""
    sums = dict.fromkeys(FIELDS, 0)
    for line in lines:
        for name, value in zip(FIELDS, line, strict=False):
            sums[name] += natural(value) or 0
    return CpuTicks(**sums)
