"""What files of authorities cost, in a sentence for each client."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.results.trust import TrustCost
from tlstax.support.grouping import grouped
from tlstax.support.text import counted

FEWEST_BLOCKS = 3
"""With fewer, intervals are so wide that they say nothing of what there is."""

ONCE = 0.5
"""Read for fewer than half of all connects, a file is not read for each."""


def trust_sentences(found: Sequence[TrustCost]) -> list[str]:
    """For each client whether it reads the file for every connect, and what its largest file costs."""
    return [_sentence(max(own, key=lambda cost: cost.authorities)) for own in grouped(found, _who).values()]


def _who(cost: TrustCost) -> str:
    return cost.label


def _sentence(cost: TrustCost) -> str:
    is_told = cost.more_us is not None and cost.more_us.low is not None and cost.more_us.low > 0
    how = _how_often(cost.reads, costs=is_told)
    if cost.more_us is None:
        return f"{cost.label} {how}"
    more = f"{cost.more_us.point / 1000:.3g} ms"
    if not is_told and cost.more_us.blocks < FEWEST_BLOCKS:
        few = counted(cost.more_us.blocks, "block")
        return f"{cost.label} {how}: {few} cannot tell what {cost.authorities} of them take ({more} more)"
    if not is_told:
        return f"{cost.label} {how}: no difference seen with {cost.authorities} of them"
    ends = ""
    if cost.more_us.low is not None and cost.more_us.high is not None:
        ends = f" ({cost.more_us.low / 1000:.3g} to {cost.more_us.high / 1000:.3g})"
    return f"{cost.label} {how}: {cost.authorities} of them take {more}{ends} more than a file with one"


def _how_often(reads: float | None, *, costs: bool) -> str:
    """Who reads the file once may take in what it read for each connect all the same, and that costs."""
    if reads is None:
        return "was given files of authorities"
    if reads < ONCE:
        again = " and takes them in anew on every connect" if costs else ""
        return f"reads its authorities once{again}"
    times = "" if reads < 1 + ONCE else f" {reads:.0f} times"
    return f"reads its authorities{times} on every connect"
