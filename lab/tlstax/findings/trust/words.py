"""What files of authorities cost, in a sentence for each client."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.findings.core.wording import MINUS
from tlstax.records.trial import TrustFile
from tlstax.results.interval import Interval
from tlstax.results.trust import TrustCost
from tlstax.support.grouping import grouped
from tlstax.support.text import counted

FEWEST_BLOCKS = 3
"""With fewer, intervals are so wide that they say nothing of what there is."""

ONCE = 0.5
"""Read for fewer than half of all connects, a file is not read for each."""


def trust_sentences(found: Sequence[TrustCost], file: TrustFile | None = None) -> list[str]:
    """For each client whether it reads the file for every connect, and what its largest file costs.

    Before that, what the user's own `file` is, where there is one.
    """
    about = [] if file is None else [_about(file)]
    return [*about, *_of_clients(found)]


def _about(file: TrustFile) -> str:
    own = "" if file.needed_bytes else ", to which a private server's own came"
    odd = f"; {odd}" if (odd := file.peculiarities()) else ""
    return (
        f"the file has {_authorities(file.authorities)} in {file.size_bytes:,} bytes{own} "
        f"(SHA-256 {file.sha256[:16]}…){odd}"
    )


def _authorities(count: int) -> str:
    return "one authority" if count == 1 else f"{count:,} authorities"


def _of_clients(found: Sequence[TrustCost]) -> list[str]:
    return [_sentence(max(own, key=lambda cost: cost.authorities)) for own in grouped(found, _who).values()]


def _who(cost: TrustCost) -> str:
    return cost.label


def _sentence(cost: TrustCost) -> str:
    more_us = cost.more_us
    how = _how_often(cost.reads, costs=cost.judgement == "higher")
    if more_us is None:
        return f"{cost.label} {how}"
    many = f"{cost.authorities} of them"
    few = "one" if cost.needed == 1 else f"the {cost.needed} that are needed"
    if cost.judgement == "alike":
        return f"{cost.label} {how}: a connect with {many} takes as long as with {few}"
    more = f"{more_us.point / 1000:.3g} ms{_ends(more_us)} more".replace("-", MINUS)
    if cost.judgement == "higher":
        return f"{cost.label} {how}: {many} take {more} than a file with {few}"
    blocks = f" by {counted(more_us.blocks, 'block')}" if more_us.blocks < FEWEST_BLOCKS else ""
    return f"{cost.label} {how}: what {many} take is inconclusive{blocks}, {more}"


def _ends(more_us: Interval) -> str:
    if more_us.low is None or more_us.high is None:
        return ""
    return f" ({more_us.low / 1000:.3g} to {more_us.high / 1000:.3g})"


def _how_often(reads: float | None, *, costs: bool) -> str:
    """Who reads the file once may take in what it read for each connect all the same, and that costs."""
    if reads is None:
        return "was given files of authorities"
    if reads < ONCE:
        again = " and takes them in anew on every connect" if costs else ""
        return f"reads its authorities once{again}"
    times = "" if reads < 1 + ONCE else f" {reads:.0f} times"
    return f"reads its authorities{times} on every connect"
