"""Load that came from several machines: what each of them did in a trial, as frozen types."""

from __future__ import annotations

from tlstax.contract import Frozen

BUSY = 0.9
"""CPUs that work for this share of the time have no room for more: work comes in bursts."""


class LoadPart(Frozen):
    """What one machine's client did of a trial: its connections and CPUs, and what became of them."""

    machine: str
    connections: int
    cpus: int
    operations: int
    cpu_us: float


class Load(Frozen):
    """A trial whose load came from several machines at once: each machine's part, and how exactly they began.

    Each slice was to begin everywhere at one moment. Between the first client's beginning and the last one's
    lay `skew_us` (the median over all slices) and at most `longest_skew_us`; the machines' clocks are known
    to within `clock_error_us` of each other. A slice of `slices` is left out where that is more than a
    twentieth of its length: `apart` counts those. Clients were sent to `server_address`.
    """

    parts: tuple[LoadPart, ...]
    server_address: str
    slices: int
    apart: int
    skew_us: float
    longest_skew_us: float
    clock_error_us: float


class LoadStep(Frozen):
    """What so many machines together made of the server before the first block.

    `server_busy` is the share of its CPUs that worked in the case in which that was least; None where it is
    out of reach.
    """

    machines: int
    server_busy: float | None
