"""Which explanation comes first: each rule by itself, against all that come after it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tlstax.findings.explain.rank import by_rank, foremost

CASE = {"tls": "1.3", "fault": "none"}


def told(
    *,
    control: bool = False,
    share: float | None = 0.5,
    changed: int = 1,
    whole: bool = True,
    extra_us: float = 1.0,
) -> Any:
    """An explanation of two cases that differ in so many levels; without a share it has no culprit."""
    baseline = dict(zip(CASE, ["other"] * changed, strict=False))
    return SimpleNamespace(
        is_control=control,
        culprit=None if share is None else SimpleNamespace(share=share),
        case=CASE,
        baseline={**CASE, **baseline},
        whole_is_told=whole,
        extra_cpu_us_per_op=SimpleNamespace(point=extra_us),
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (told(share=None, extra_us=1), told(control=True, share=0.9, extra_us=9)),
        (told(share=0.1, changed=2, whole=False), told(share=None, extra_us=9)),
        (told(changed=1, whole=False, share=0.1), told(changed=2, whole=True, share=0.9, extra_us=9)),
        (told(whole=True, share=0.1), told(whole=False, share=0.9, extra_us=9)),
        (told(share=0.6), told(share=0.5, extra_us=9)),
        (told(extra_us=2), told(extra_us=1)),
        (
            told(share=None, changed=2, whole=False, extra_us=2),
            told(share=None, changed=1, whole=True, extra_us=1),
        ),
    ],
    ids=["treatment", "culprit", "one change", "whole", "share", "cost", "without a culprit only cost"],
)
def test_what_tells_most_comes_first(first: Any, second: Any) -> None:
    assert by_rank([first, second]) == by_rank([second, first]) == (first, second)
    assert foremost([second, first]) is first


def test_of_none_there_is_no_first() -> None:
    assert foremost([]) is None
    assert by_rank([]) == ()
