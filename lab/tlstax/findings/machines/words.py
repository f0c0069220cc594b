"""What is said of several machines: what intervals are of, and where machines differ. Pure."""

from __future__ import annotations

from tlstax.findings.core.wording import change_words
from tlstax.results.machines import MachineRatios
from tlstax.study.outcomes import OUTCOMES

MANY = 6
"""Of more machines than this only the two that are farthest apart are named."""


def reading(machines: int, kinds: int) -> str:
    """What the intervals of a run on so many machines, of so many kinds, promise."""
    if machines == 2:
        return (
            "intervals are of these two machines and hold the ratio of each: they reach from the lowest end "
            "of their own intervals to the highest; two machines do not tell what a third would show"
        )
    others = f"; they are of {kinds} kinds, and say nothing of any other" if kinds > 1 else ""
    return (
        f"intervals are of machines like these {machines}, each of which counts once, and have in them how "
        f"far machines differ{others}"
    )


def differing(found: MachineRatios) -> str:
    """In which case machines differ beyond chance, and what each of them shows."""
    own = sorted(found.own, key=lambda one: one.ratio.point)
    shown = found.own if len(own) <= MANY else (own[0], own[-1])
    said = ", ".join(f"{one.machine} {change_words(one.ratio)}" for one in shown)
    among = "" if len(own) <= MANY else f" (the two of {len(own)} that are farthest apart)"
    where = f"{OUTCOMES[found.outcome].words} of {found.label}"
    return f"machines differ beyond chance in {where}: {said}{among}; the interval includes that"
