"""What was done in each slice and in all of them, in the contract's words."""

from __future__ import annotations

import resource
from collections import Counter
from dataclasses import dataclass
from time import perf_counter_ns, process_time_ns
from typing import Any

from hdrh.histogram import HdrHistogram

from driver_contract.worker import Tally, Worker

HIGHEST_NS = 3_600_000_000_000
SIGNIFICANT_FIGURES = 3


@dataclass(frozen=True)
class Cpu:
    """CPU time of the process: in all by a nanosecond clock, and split as the kernel has it."""

    total_us: float = 0.0
    user_us: float = 0.0
    system_us: float = 0.0

    def __add__(self, other: Cpu) -> Cpu:
        return Cpu(
            self.total_us + other.total_us, self.user_us + other.user_us, self.system_us + other.system_us
        )

    def __sub__(self, other: Cpu) -> Cpu:
        return Cpu(
            self.total_us - other.total_us, self.user_us - other.user_us, self.system_us - other.system_us
        )


def cpu_now() -> Cpu:
    """What the process has used until now."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Cpu(process_time_ns() / 1000, used.ru_utime * 1e6, used.ru_stime * 1e6)


@dataclass(frozen=True)
class Totals:
    """What all workers have done since the window began."""

    operations: int = 0
    latency_sum_ns: int = 0
    connections: int = 0
    errors: int = 0


class Window:
    """All slices, one after the other: opened at `go`, closed when all workers have done with it."""

    def __init__(self, workers: list[Worker]) -> None:
        self._workers = workers
        for worker in workers:
            worker.tally = Tally()
        self._cpu, self._elapsed_s = Cpu(), 0.0
        self._totals = self._told = Totals()
        self._cpu_before, self._begun_ns = Cpu(), 0

    @property
    def has_slices(self) -> bool:
        """Whether a slice was closed."""
        return self._elapsed_s > 0

    def open_slice(self) -> int:
        """A slice begins; when, by the monotonic clock in nanoseconds."""
        self._begun_ns = perf_counter_ns()
        self._cpu_before = cpu_now()
        return self._begun_ns

    def close_slice(self, length_s: float) -> dict[str, Any]:
        """The contract's `slice` event for what was done since it was opened."""
        before, self._totals = self._totals, self._summed()
        self._told = self._totals
        last_ns = max(worker.tally.last_answer_ns for worker in self._workers)
        elapsed_s = (last_ns - self._begun_ns) / 1e9 if last_ns > self._begun_ns else length_s
        cpu = cpu_now() - self._cpu_before
        self._elapsed_s += elapsed_s
        self._cpu += cpu
        return {
            "event": "slice",
            "elapsed_s": elapsed_s,
            "operations": self._totals.operations - before.operations,
            "latency_sum_s": (self._totals.latency_sum_ns - before.latency_sum_ns) / 1e9,
            "cpu_us": cpu.total_us,
            "counts": _counts(self._totals.connections - before.connections),
        }

    def interval(self) -> dict[str, Any]:
        """The contract's `interval` event: what was done since the last one, or since the slice began."""
        before, self._told = self._told, self._summed()
        return {
            "event": "interval",
            "elapsed_s": (perf_counter_ns() - self._begun_ns) / 1e9,
            "operations": self._told.operations - before.operations,
            "errors": self._told.errors - before.errors,
        }

    def done(self) -> dict[str, Any]:
        """The contract's `done` event."""
        tallies = [worker.tally for worker in self._workers]
        errors: Counter[tuple[str, int | None]] = Counter()
        for tally in tallies:
            errors.update(tally.errors)
        return {
            "event": "done",
            "elapsed_s": self._elapsed_s,
            "operations": self._totals.operations,
            "scheduled": sum(tally.started for tally in tallies),
            "skipped": 0,
            "window": _counts(self._totals.connections),
            "lifetime": _counts(sum(worker.opened for worker in self._workers)),
            "histograms_ns": _histograms(tallies),
            "cpu": vars(self._cpu),
            "wire": None,
            "errors": [
                {"kind": kind, "code": code, "count": count}
                for (kind, code), count in sorted(errors.items(), key=str)
            ],
            "row_samples": [
                {"sql": sql, "rows": [[_shown(value) for value in row] for row in rows]}
                for tally in tallies
                for sql, rows in tally.samples
            ],
        }

    def _summed(self) -> Totals:
        tallies = [worker.tally for worker in self._workers]
        return Totals(
            operations=sum(tally.operations for tally in tallies),
            latency_sum_ns=sum(tally.latency_sum_ns for tally in tallies),
            connections=sum(tally.connections for tally in tallies),
            errors=sum(tally.errors.total() for tally in tallies),
        )


def _counts(connections: int) -> dict[str, Any]:
    """A driver does not tell of handshakes or ways of logging in."""
    return {"connections": connections, "handshakes": [], "authentications": {}}


def _histograms(tallies: list[Tally]) -> dict[str, str]:
    """One histogram for each phase that occurred, encoded."""
    phases = {phase for tally in tallies for phase, latencies in tally.latencies_ns.items() if latencies}
    encoded = {}
    for phase in sorted(phases):
        histogram = HdrHistogram(1, HIGHEST_NS, SIGNIFICANT_FIGURES)
        counts: Counter[int] = Counter()
        for tally in tallies:
            counts.update(tally.latencies_ns[phase])
        for latency_ns, count in counts.items():
            histogram.record_value(min(latency_ns, HIGHEST_NS), count)
        encoded[phase] = histogram.encode().decode()
    return encoded


def _shown(value: object) -> str | None:
    """A value as the text protocol has it."""
    if value is None:
        return None
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return value.decode(errors="replace") if isinstance(value, bytes | bytearray) else str(value)
