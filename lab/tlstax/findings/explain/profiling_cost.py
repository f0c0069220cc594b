"""What was sampled of a run, and what that cost: profiled trials beside their blocks' others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tlstax.findings.core.comparisons import counts_of
from tlstax.findings.core.outcomes import log_ratio_between
from tlstax.findings.core.pooling import Pooling, machines_of
from tlstax.findings.core.series import pooled
from tlstax.findings.core.wording import percent
from tlstax.profiles.stacks import KERNEL, SIDES, UNKNOWN, Frame, Profile, Side, frames
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.document import (
    Profiling,
)
from tlstax.results.interval import Interval
from tlstax.support.text import counted

MOST_LOST = 0.01
MUCH_SLOWER = 0.8
"""A profiled trial that does less than this share of the work is reported."""

COSTS = ("ops_per_s", "server_cpu_us_per_op", "client_cpu_us_per_op")


def profiling(stored: StoredRun) -> Profiling | None:
    """What was sampled and what it cost; None where nothing was to be sampled.

    A cost is the ratio of a profiled trial to the unprofiled one of the same case and block, its logarithms
    pooled over the cases of a block, and the interval taken over blocks.
    """
    if not stored.profiled:
        return None
    profiles = [record.profile for record in stored.profiled if record.profile is not None]
    whys = Counter(record.why_no_profile for record in stored.profiled if record.why_no_profile)
    return Profiling(
        trials=counts_of(stored.profiled),
        profiles=len(profiles),
        event=profiles[0].event if profiles else "",
        frequency_hz=profiles[0].frequency_hz if profiles else 0,
        kernel=any(profile.kernel for profile in profiles),
        kernel_names=any(map(_names_the_kernel, profiles)),
        sides=tuple(side for side in SIDES if any(profile.side(side) for profile in profiles)),
        coverage={side: share for side in SIDES if (share := _coverage(stored.profiled, side)) is not None},
        samples=sum(_samples(profile) for profile in profiles),
        lost=sum(profile.lost for profile in profiles),
        why_none=tuple(f"{why} ({times})" if times > 1 else why for why, times in whys.most_common()),
        costs={name: ratio for name in COSTS if (ratio := _cost(stored, name)) is not None},
    )


def caveats_of_profiling(sampled: Profiling | None) -> tuple[str, ...]:
    """What to bear in mind of the profiles; nothing of it bears on the results."""
    if sampled is None:
        return ()
    not_valid = sampled.trials.invalid + sampled.trials.unknown
    lost = sampled.lost / (sampled.samples + sampled.lost) if sampled.lost else 0.0
    speed = sampled.costs.get("ops_per_s")
    caveats = (
        (
            not_valid > 0,
            f"{counted(not_valid, 'profiled trial')} not valid, and what was sampled there left out",
        ),
        (bool(sampled.why_none), f"profiled trials without a profile: {'; '.join(sampled.why_none)}"),
        (sampled.sides == ("client",), "only the client was sampled: the server's process is out of reach"),
        (
            sampled.profiles and not sampled.kernel,
            "only user space was sampled: the profiles lack the kernel",
        ),
        (
            sampled.kernel and not sampled.kernel_names,
            "the kernel's functions have no names in the profiles (`tlstax doctor` says why)",
        ),
        (lost > MOST_LOST, f"perf lost {percent(lost)} of the samples"),
        (
            speed is not None and speed.point < MUCH_SLOWER,
            "sampling slowed the profiled trials down a lot: they may spend their time on other things",
        ),
    )
    return tuple(text for applies, text in caveats if applies)


def _coverage(records: Iterable[TrialRecord], side: Side) -> float | None:
    """Samples in relation to those that the process's CPU time over the window should have given."""
    seen, due = 0, 0.0
    for record in records:
        profile, done = record.profile, record.done
        found = profile.side(side) if profile is not None else None
        server = record.server.cpu if record.server is not None else None
        cpu = server if side == "server" else done.cpu if done is not None else None
        if profile is not None and found is not None and cpu is not None:
            seen += found.samples
            due += profile.frequency_hz * (cpu.total_us if profile.kernel else cpu.user_us) / 1e6
    return seen / due if due else None


def _cost(stored: StoredRun, name: str) -> Interval | None:
    unprofiled = {_place(record): record for record in stored.measured if record.verdict.value == "valid"}
    logs: dict[str, dict[int, float]] = {}
    for record in stored.profiled:
        beside = unprofiled.get(_place(record))
        if record.profile is None or record.verdict.value != "valid" or beside is None:
            continue
        ratio = log_ratio_between(record, beside, name)
        if ratio is not None:
            key, block = _place(record)
            logs.setdefault(key, {})[block] = ratio
    blocks = pooled(dict(enumerate(logs.values())))
    if not blocks:
        return None
    return Pooling(stored.header.study.confidence, machines_of(stored.trials)).interval(blocks)


def _place(record: TrialRecord) -> tuple[str, int]:
    return record.trial.case.key(), record.trial.block


def _samples(profile: Profile) -> int:
    return sum(found.samples for side in SIDES if (found := profile.side(side)) is not None)


def _names_the_kernel(profile: Profile) -> bool:
    """Whether any frame of the kernel has its function's name (see kptr_restrict in proc(5))."""
    unnamed, ending = Frame(UNKNOWN, KERNEL).text(), f" [{KERNEL}]"
    return any(
        frame.library == KERNEL and frame.text() != unnamed
        for side in SIDES
        if (found := profile.side(side)) is not None
        for stack in found.stacks
        if ending in stack
        for frame in frames(stack)
    )
