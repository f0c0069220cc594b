"""Which explanations tell most: a culprit where one thing was changed, other culprits, then cost."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.results.explanation import Explanation


def by_rank(found: Iterable[Explanation]) -> tuple[Explanation, ...]:
    """Treatments before controls, and those with a culprit first; of several, the one that tells most.

    The fewer levels two cases differ in, the less else can be at work: what tells most is a comparison in
    which one thing was changed. Then comes what is told as a whole, then the culprit's larger share. Without
    a culprit it is the larger extra cost.
    """
    return tuple(sorted(found, key=_rank, reverse=True))


def foremost(found: Iterable[Explanation]) -> Explanation | None:
    """The one to tell in full, None of none."""
    return next(iter(by_rank(found)), None)


def _rank(found: Explanation) -> tuple[bool, bool, int, bool, float, float]:
    has_culprit = found.culprit is not None
    changed = sum(found.baseline.get(name) != level for name, level in found.case.items())
    return (
        not found.is_control,
        has_culprit,
        -changed if has_culprit else 0,
        found.whole_is_told if has_culprit else False,
        found.culprit.share if found.culprit is not None else 0.0,
        found.extra_cpu_us_per_op.point,
    )
