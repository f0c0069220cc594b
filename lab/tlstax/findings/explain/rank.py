"""Which explanations say most: a culprit where one thing was changed, other culprits, then cost."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.results.explanation import Explanation


def by_rank(explanations: Iterable[Explanation]) -> tuple[Explanation, ...]:
    """Treatments before controls, and those with a culprit first; of several, the one that says most.

    The fewer levels two cases differ in, the less else can be at work: what says most is a comparison in
    which one thing was changed. Then comes what is clear as a whole, then the culprit's larger share. Without
    a culprit it is the larger extra cost.
    """
    return tuple(sorted(explanations, key=_rank, reverse=True))


def foremost(explanations: Iterable[Explanation]) -> Explanation | None:
    """The one to show in full, None of none."""
    return next(iter(by_rank(explanations)), None)


def _rank(explanation: Explanation) -> tuple[bool, bool, int, bool, float, float]:
    has_culprit = explanation.culprit is not None
    changed = sum(explanation.baseline.get(name) != level for name, level in explanation.case.items())
    return (
        not explanation.is_control,
        has_culprit,
        -changed if has_culprit else 0,
        explanation.whole_is_told if has_culprit else False,
        explanation.culprit.share if explanation.culprit is not None else 0.0,
        explanation.extra_cpu_us_per_op.point,
    )
