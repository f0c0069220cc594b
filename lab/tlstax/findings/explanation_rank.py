"""Which explanations tell most: those with the clearest culprit first, then the costliest. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.explained import Explanation


def by_rank(found: Iterable[Explanation]) -> tuple[Explanation, ...]:
    """Treatments before controls; a culprit's larger share first, or else the larger extra cost."""
    return tuple(sorted(found, key=_rank, reverse=True))


def foremost(found: Iterable[Explanation]) -> Explanation | None:
    """The one to tell in full, None of none."""
    return next(iter(by_rank(found)), None)


def _rank(found: Explanation) -> tuple[bool, float, float]:
    share = min(1.0, round(found.culprit.share, 2)) if found.culprit is not None else 0.0
    return not found.is_control, share, found.extra_cpu_us_per_op.point
