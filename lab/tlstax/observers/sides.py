"""A process to be watched, at this machine or at another one: what it has used so far."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tlstax.observers import process
from tlstax.observers.counters import Counters, Readings
from tlstax.observers.far_process import FarProcess
from tlstax.observers.process import ROOT, CpuReading, ProcessMemory, Threads, read_threads
from tlstax.records.window import CpuSource


@dataclass(frozen=True)
class Side:
    """A process here, and its counters where it has some; `pid` is None where it is out of reach."""

    pid: int | None
    counters: Counters | None = None

    @property
    def cpu_source(self) -> CpuSource | None:
        """What tells the CPU time of several processes; None of one."""
        return None

    def count_processes(self) -> int | None:
        """How many processes they are; None where it is one by its nature."""
        return None

    def read_cpu(self) -> CpuReading | None:
        """Its CPU time; None where it is out of reach."""
        return process.read_cpu(self.pid) if self.pid else None

    def read_counters(self) -> Readings:
        """What the processor has counted of it; empty where nothing is counted."""
        return self.counters.read() if self.counters else {}

    def read_threads(self, root: Path = ROOT) -> Threads | None:
        """What the kernel has counted of its threads; None where it is out of reach."""
        return read_threads(self.pid, root) if self.pid else None

    def read_rss_bytes(self) -> int | None:
        """Its resident memory; None where it is out of reach."""
        return process.read_rss_bytes(self.pid) if self.pid else None

    def read_memory(self, root: Path = ROOT) -> ProcessMemory | None:
        """What it holds, page by page; None where it is out of reach."""
        return process.read_memory(self.pid, root)


@dataclass(frozen=True)
class FarSide(Side):
    """A process elsewhere, asked in a round trip. MachineFault where it no longer answers."""

    far: FarProcess | None = None

    @property
    def cpu_source(self) -> CpuSource | None:
        """What tells the CPU time of several processes there; None of one."""
        return self.far.cpu_source if self.far else None

    def count_processes(self) -> int | None:
        """How many processes they are; None where it is one by its nature."""
        return self.far.use().processes if self.far and self.far.cpu_source else None

    def read_cpu(self) -> CpuReading | None:
        """Its CPU time."""
        return self.far.use().cpu if self.far else None

    def read_counters(self) -> Readings:
        """What the processor has counted of it, where the kernel there lets this user count."""
        return self.far.use().counters if self.far else {}

    def read_threads(self, root: Path = ROOT) -> Threads | None:  # noqa: ARG002 (its files are not here)
        """What the kernel there has counted of its threads."""
        return self.far.use().threads if self.far else None

    def read_rss_bytes(self) -> int | None:
        """Its resident memory."""
        return self.far.rss_bytes() if self.far else None

    def read_memory(self, root: Path = ROOT) -> ProcessMemory | None:  # noqa: ARG002 (its files are not here)
        """Its resident memory and its threads; shared pages are not told apart from there."""
        if self.far is None:
            return None
        return ProcessMemory(self.far.rss_bytes(), None, len(self.far.use().threads.context_switches))
