"""What each stack costs per operation: a profiled trial's samples, scaled to the unsampled trial's CPU time.

Sampling slows a trial down, so its own CPU time is not taken: the samples only share out what the same case
cost in the same block when it was not sampled. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tlstax.records.profiles.stacks import KERNEL, Side
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.stats.outcomes import outcome
from tlstax.study import Case

Stacks = Mapping[str, float]
"""CPU time per operation in microseconds, by stack."""


def stack_costs(stored: StoredRun, case: Case, side: Side) -> dict[int, Stacks]:
    """Of each block in which the case was measured and sampled, both valid: what each stack costs.

    Empty where the side was out of reach. Where only user space could be sampled, the stacks share out the
    user time alone.
    """
    measured = valid_by_block(stored.measured, case)
    found: dict[int, Stacks] = {}
    for block, record in valid_by_block(stored.profiled, case).items():
        profile = record.profile
        samples = profile.side(side) if profile is not None else None
        if profile is None or samples is None or not samples.samples or block not in measured:
            continue
        part = "cpu_us_per_op" if profile.kernel else "cpu_user_us_per_op"
        cost_us = outcome(measured[block], f"{side}_{part}")
        if cost_us is not None:
            each_us = cost_us / samples.samples
            found[block] = {stack: count * each_us for stack, count in samples.stacks.items()}
    return found


def mean_costs(blocks: Iterable[Stacks]) -> dict[str, float]:
    """The mean over blocks of what each stack costs; one that a block never saw costs nothing there."""
    each, total = list(blocks), Counter[str]()
    for stacks in each:
        total.update(stacks)
    return {stack: us / len(each) for stack, us in total.items()}


def in_kernel_percent(stacks: Stacks) -> float:
    """The part of the cost that is spent in the kernel itself, whatever called it, in per cent."""
    inside = sum(us for stack, us in stacks.items() if stack.endswith(f" [{KERNEL}]"))
    return 100 * inside / sum(stacks.values())


def valid_by_block(records: Iterable[TrialRecord], case: Case) -> dict[int, TrialRecord]:
    """The valid ones of a case's trials, by their block."""
    return {record.trial.block: record for record in records if record.trial.case == case and record.is_valid}
