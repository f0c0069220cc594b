"""Words for numbers and lists of things, and things put together."""

from __future__ import annotations

import pytest

from tlstax.support.grouping import grouped
from tlstax.support.text import as_ranges, counted, duration, enumerated, some_of, was, with_commas


@pytest.mark.parametrize(("number", "words"), [(0, "0 blocks"), (1, "1 block"), (2, "2 blocks")])
def test_one_is_singular(number: int, words: str) -> None:
    assert counted(number, "block") == words


def test_a_number_of_things_agrees_with_its_noun_and_its_verb() -> None:
    assert [counted(number, "copy") for number in (1, 2)] == ["1 copy", "2 copies"]
    assert [counted(number, "key") for number in (1, 2)] == ["1 key", "2 keys"]
    assert [counted(number, "byte", ",") for number in (1, 1000)] == ["1 byte", "1,000 bytes"]
    assert [was(number) for number in (0, 1, 2)] == ["were", "was", "were"]


@pytest.mark.parametrize(
    ("names", "words"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_the_last_of_several_comes_after_and(names: list[str], words: str) -> None:
    assert enumerated(names) == words


def test_what_is_empty_has_no_comma() -> None:
    assert with_commas("a", "", "b") == "a, b"
    assert with_commas("", "") == ""


def test_of_many_the_first_are_named_and_the_others_counted() -> None:
    assert some_of(["a", "b", "c"], 3) == ["a", "b", "c"]
    assert some_of(["a", "b", "c"], 1) == ["a", "and 2 more"]
    assert some_of(["a", "b", "c"], 2, "{} more in the table") == ["a", "b", "1 more in the table"]
    assert some_of([], 2) == []


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([5], "5"), ([1, 0], "0-1"), ([7, 2, 1, 0, 4, 6], "0-2,4,6-7")]
)
def test_runs_of_numbers_are_drawn_together(numbers: list[int], text: str) -> None:
    assert as_ranges(numbers) == text


def test_groups_and_what_is_in_them_keep_their_order() -> None:
    found = grouped(["bee", "ant", "asp", "bug"], lambda word: word[0])
    assert list(found.items()) == [("b", ["bee", "bug"]), ("a", ["ant", "asp"])]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.05, "0.05 s"),
        (0.8125, "0.81 s"),
        (1.9, "1.9 s"),
        (4.0, "4 s"),
        (9.99, "10 s"),
        (10.4, "10 s"),
        (60.0, "60 s"),
        (599.4, "599 s"),
        (600.0, "10 min"),
        (1011.0, "16.9 min"),
        (5400.0, "90 min"),
        (7200.0, "2 h"),
        (9192.8, "2.6 h"),
        (36_000_000.0, "10,000 h"),
    ],
)
def test_a_duration_is_said_in_its_unit(seconds: float, words: str) -> None:
    assert duration(seconds) == words
