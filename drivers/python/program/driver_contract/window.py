"""The measured window's numbers, in the contract's words."""

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
class Moment:
    """The clocks at one time: monotonic, and the process's CPU."""

    at_ns: int
    cpu_ns: int
    user_s: float
    system_s: float


def now() -> Moment:
    """The clocks as they stand."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Moment(perf_counter_ns(), process_time_ns(), used.ru_utime, used.ru_stime)


def done(workers: list[Worker], begin: Moment, end: Moment) -> dict[str, Any]:
    """The contract's `done` event."""
    tallies = [worker.tally for worker in workers]
    errors: Counter[tuple[str, int | None]] = Counter()
    for tally in tallies:
        errors.update(tally.errors)
    return {
        "event": "done",
        "elapsed_s": (end.at_ns - begin.at_ns) / 1e9,
        "operations": sum(tally.operations for tally in tallies),
        "scheduled": sum(tally.started for tally in tallies),
        "skipped": 0,
        "window": _counts(sum(tally.connections for tally in tallies)),
        "lifetime": _counts(sum(worker.opened for worker in workers)),
        "histograms_ns": _histograms(tallies),
        "cpu": {
            "total_us": (end.cpu_ns - begin.cpu_ns) / 1000,
            "user_us": (end.user_s - begin.user_s) * 1e6,
            "system_us": (end.system_s - begin.system_s) * 1e6,
        },
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
