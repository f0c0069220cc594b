"""Windows as observers would have seen them, with exact numbers."""

from __future__ import annotations

from tlstax.records.window import CpuSlice, CpuTicks, ProcessUse, Window, WireUse


def ticks(**some: int) -> CpuTicks:
    """Ticks of which these are not 0."""
    return CpuTicks(**{**dict.fromkeys(CpuTicks.model_fields, 0), **some})


def window(*cpus: CpuSlice, operations: int = 100, retransmitted: int = 0) -> Window:
    """A window of these slices, in which each operation took 1,000 instructions and two context switches."""
    counters = {
        "instructions_user": 700 * operations,
        "instructions_kernel": 300 * operations,
        "cycles_user": 900 * operations,
        "context_switches": 2 * operations,
    }
    return Window(
        took_s=sum(part.took_s for part in cpus),
        server=ProcessUse(cpu_total_us=9.0, counters=counters),
        client=ProcessUse(counters={"context_switches": operations}),
        cpus=cpus,
        wire=WireUse(
            tcp_segments_sent=1000,
            tcp_segments_received=1000,
            tcp_segments_retransmitted=retransmitted,
            loopback_bytes=90_000,
        ),
        observers_cpu_us=1500.0,
    )


def seconds(*machine: CpuTicks, server: CpuTicks | None = None) -> tuple[CpuSlice, ...]:
    """A slice a second; the server's processors did the same in each."""
    return tuple(
        CpuSlice(at_s=float(place), took_s=1.0, machine=done, server=server)
        for place, done in enumerate(machine)
    )
