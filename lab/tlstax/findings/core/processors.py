"""What processors did over windows: slices put together, ticks in per cent as sar(1) has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tlstax.records.trial import TrialRecord
from tlstax.records.window import CpuSlice, CpuTicks

Whose = Literal["machine", "server"]


@dataclass(frozen=True)
class Shares:
    """Per cent of the processors' time, in the columns of `sar -u`: together they are 100."""

    user: float
    nice: float
    system: float
    iowait: float
    steal: float
    idle: float


def shares(ticks: CpuTicks) -> Shares | None:
    """The ticks in per cent; None where there are none. System includes interrupts (sar(1))."""
    if ticks.total == 0:
        return None
    per_cent = 100 / ticks.total
    return Shares(
        user=ticks.user * per_cent,
        nice=ticks.nice * per_cent,
        system=(ticks.system + ticks.irq + ticks.softirq) * per_cent,
        iowait=ticks.iowait * per_cent,
        steal=ticks.steal * per_cent,
        idle=ticks.idle * per_cent,
    )


def together(slices: Iterable[CpuSlice], whose: Whose = "machine") -> CpuTicks | None:
    """The ticks of all these slices; None where there are none."""
    found = [ticks for part in slices if (ticks := getattr(part, whose)) is not None]
    if not found:
        return None
    return CpuTicks(**{name: sum(getattr(t, name) for t in found) for name in CpuTicks.model_fields})


def window_slices(records: Iterable[TrialRecord]) -> tuple[CpuSlice, ...]:
    """Every slice that was seen in these trials."""
    return tuple(part for record in records if record.window for part in record.window.cpus)


@dataclass(frozen=True)
class Stretch:
    """A stretch of the window, over some trials: from when to when, of how many, and what was done."""

    from_s: float
    to_s: float
    trials: int
    ticks: CpuTicks


def series(records: Sequence[TrialRecord], every_s: int, whose: Whose = "machine") -> tuple[Stretch, ...]:
    """The window in stretches of so many seconds, each summed up over all these trials.

    A trial's last second, of which only a part belongs to the window, goes to the stretch that it begins in.
    """
    stretches: dict[int, list[tuple[int, CpuSlice]]] = {}
    for number, record in enumerate(records):
        for part in record.window.cpus if record.window else ():
            stretches.setdefault(round(part.at_s) // every_s, []).append((number, part))
    found = []
    for place in sorted(stretches):
        parts = [part for _, part in stretches[place]]
        ticks = together(parts, whose)
        if ticks is not None and ticks.total:
            found.append(
                Stretch(
                    from_s=place * every_s,
                    to_s=max(part.at_s + part.took_s for part in parts),
                    trials=len({number for number, _ in stretches[place]}),
                    ticks=ticks,
                )
            )
    return tuple(found)
