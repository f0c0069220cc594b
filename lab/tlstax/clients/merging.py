"""What clients of one trial did on several machines, put together as if they were one. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from tlstax.contract import (
    Done,
    ErrorCount,
    Negotiated,
    Overhead,
    PhaseWire,
    Ready,
    Slice,
    Wire,
)
from tlstax.contract.event import summed, total

Counted = TypeVar("Counted", Negotiated, ErrorCount)


def ready(parts: Sequence[Ready]) -> Ready:
    """All of them ready: what each connection negotiated; what else is said is the first one's."""
    negotiated = _alike_together((one for part in parts for one in part.negotiated), "connections")
    return parts[0].model_copy(update={"negotiated": negotiated, "warmup": (), "steady": None})


def slices(parts: Sequence[Slice], began_s: Sequence[float]) -> Slice:
    """A slice that began on each machine at this time by one clock: from the first begin to the last end."""
    ended_s = max(began + part.elapsed_s for part, began in zip(parts, began_s, strict=True))
    return Slice(
        elapsed_s=ended_s - min(began_s),
        operations=sum(part.operations for part in parts),
        latency_sum_s=sum(part.latency_sum_s for part in parts),
        cpu_us=sum(part.cpu_us for part in parts),
        counts=total(part.counts for part in parts),
    )


def done(parts: Sequence[Done], elapsed_s: float) -> Done:
    """The result of all, whose slices together took `elapsed_s`."""
    packed = [part.compression for part in parts if part.compression is not None]
    return Done(
        elapsed_s=elapsed_s,
        operations=sum(part.operations for part in parts),
        scheduled=sum(part.scheduled for part in parts),
        skipped=sum(part.skipped for part in parts),
        window=total(part.window for part in parts),
        lifetime=total(part.lifetime for part in parts),
        histograms_ns=_histograms(parts),
        cpu=summed([part.cpu for part in parts]),
        threads_cpu_us=tuple(us for part in parts for us in part.threads_cpu_us),
        wire=_wire([part.wire for part in parts]),
        compression=summed(packed) if packed else None,
        errors=_alike_together((error for part in parts for error in part.errors), "count"),
        row_samples=tuple(sample for part in parts for sample in part.row_samples),
        overhead=_overhead([part.overhead for part in parts if part.overhead is not None]),
        phase_wire=_phase_wire(parts),
    )


def _histograms(parts: Sequence[Done]) -> dict[str, str]:
    found = {}
    for phase in dict.fromkeys(phase for part in parts for phase in part.histograms_ns):
        encoded = [part.histograms_ns[phase] for part in parts if phase in part.histograms_ns]
        found[phase] = encoded[0] if len(encoded) == 1 else _merged(*encoded)
    return found


def _merged(first: str, *others: str) -> str:
    """All values of histograms of one client program, which have room for the same values."""
    together = HdrHistogram.decode(first)
    for text in others:
        together.decode_and_add(text)
    return str(together.encode().decode("ascii"))


def _wire(parts: Sequence[Wire | None]) -> Wire | None:
    """Bytes and segments of all; None where one does not tell."""
    known = [part for part in parts if part is not None]
    return summed(known) if len(known) == len(parts) else None


def _alike_together(counted: Iterable[Counted], field: str) -> tuple[Counted, ...]:
    """Those that differ in nothing but how many they are, which is in this field, as one."""
    seen: Counter[Counted] = Counter()
    for one in counted:
        seen[one.model_copy(update={field: 1})] += getattr(one, field)
    return tuple(one.model_copy(update={field: count}) for one, count in seen.items())


def _overhead(parts: Sequence[Overhead]) -> Overhead | None:
    """The mean over all operations by which it was measured; None where nobody measured it."""
    if not parts:
        return None
    operations = sum(part.operations for part in parts)
    used_us = sum(part.cpu_us_per_op * part.operations for part in parts)
    return Overhead(cpu_us_per_op=used_us / operations, operations=operations)


def _phase_wire(parts: Sequence[Done]) -> dict[str, PhaseWire]:
    by_phase: dict[str, list[PhaseWire]] = defaultdict(list)
    for part in parts:
        for phase, seen in part.phase_wire.items():
            by_phase[phase].append(seen)
    return {phase: summed(seen) for phase, seen in by_phase.items()}
