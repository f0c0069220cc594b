"""Right, wrong or not told: a difference beside the published one, to the edges of its interval and floor."""

from __future__ import annotations

import pytest

from intervals import known
from tlstax.topics.tables.differences import answer_to

INCONCLUSIVE = "inconclusive"


@pytest.mark.parametrize(
    ("ends", "floor", "published", "answer"),
    [
        ((1.2, 1.1, 1.3), None, 1.01, "right"),
        ((1.2, 1.1, 1.3), None, 0.99, "wrong"),
        ((0.8, 0.7, 0.9), None, 0.99, "right"),
        ((1.0, 0.9, 1.1), None, 1.1, INCONCLUSIVE),
        ((1.0, 0.9, 1.1), None, 0.9, INCONCLUSIVE),
        ((1.0, 0.9, 1.1), None, 1.1001, "wrong"),
        ((1.0, 0.9, 1.1), None, 0.8999, "wrong"),
        ((1.0, 0.9, 1.1), 0.25, 1.25, INCONCLUSIVE),
        ((1.0, 0.9, 1.1), 0.2499, 1.25, "wrong"),
        ((1.0, 0.9, 1.1), 0.25, 0.8, INCONCLUSIVE),
        ((1.2, 1.1, 1.3), 0.25, 1.3, INCONCLUSIVE),
        ((1.0, None, None), None, 5.0, INCONCLUSIVE),
    ],
)
def test_a_ratio(
    ends: tuple[float, float | None, float | None], floor: float | None, published: float, answer: str
) -> None:
    assert answer_to(known(*ends, 3), floor, published=published, is_ratio=True) == answer


@pytest.mark.parametrize(
    ("ends", "floor", "published", "answer"),
    [
        ((0.5, 0.25, 0.75), None, 9.0, "right"),
        ((0.5, 0.25, 0.75), None, 0.5, "right"),
        ((0.5, 0.25, 0.75), None, -0.5, "wrong"),
        ((-0.5, -0.75, -0.25), None, -9.0, "right"),
        ((0.5, 0.25, 0.75), 0.5, 0.5, INCONCLUSIVE),
        ((0.5, 0.25, 0.75), 0.5, 0.8, "wrong"),
        ((0.0, -1.0, 1.0), None, 1.0, INCONCLUSIVE),
        ((0.0, -1.0, 1.0), None, -1.0, INCONCLUSIVE),
        ((0.0, -1.0, 1.0), None, 1.1, "wrong"),
        ((0.0, -1.0, 1.0), 1.1, 1.1, INCONCLUSIVE),
        ((0.0, -1.0, 1.0), 1.0, -1.1, "wrong"),
        ((2.0, None, None), None, 5.0, INCONCLUSIVE),
    ],
)
def test_a_difference(
    ends: tuple[float, float | None, float | None], floor: float | None, published: float, answer: str
) -> None:
    assert answer_to(known(*ends, 3), floor, published=published, is_ratio=False) == answer
