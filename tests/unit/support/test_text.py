"""Words for numbers and lists of things, and things put together."""

from __future__ import annotations

import pytest

from tlstax.support.grouping import grouped
from tlstax.support.text import counted, enumerated, some_of


@pytest.mark.parametrize(("number", "words"), [(0, "0 blocks"), (1, "1 block"), (2, "2 blocks")])
def test_one_is_singular(number: int, words: str) -> None:
    assert counted(number, "block") == words


@pytest.mark.parametrize(
    ("names", "words"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_the_last_of_several_comes_after_and(names: list[str], words: str) -> None:
    assert enumerated(names) == words


def test_of_many_the_first_are_named_and_the_others_counted() -> None:
    assert some_of(["a", "b", "c"], 3) == ["a", "b", "c"]
    assert some_of(["a", "b", "c"], 1) == ["a", "and 2 more"]
    assert some_of(["a", "b", "c"], 2, "{} more in the table") == ["a", "b", "1 more in the table"]
    assert some_of([], 2) == []


def test_groups_and_what_is_in_them_keep_their_order() -> None:
    found = grouped(["bee", "ant", "asp", "bug"], lambda word: word[0])
    assert list(found.items()) == [("b", ["bee", "bug"]), ("a", ["ant", "asp"])]
