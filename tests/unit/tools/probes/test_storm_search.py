"""The search for the highest load: a planted limit is found, and verdicts are as often wrong as is said."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from tlstax.tools.probes.storms.search import CONFIDENCE, FINE, MOST_TRIES, Search, verdict_of


def searched(search: Search, does: Callable[[int], bool]) -> Search:
    while (load := search.next_load()) is not None:
        search.note(load, did=does(load))
    return search


def test_five_of_five_are_enough_and_four_are_not() -> None:
    assert verdict_of(5, 5) == "does"
    assert verdict_of(4, 4) == "undecided"
    assert verdict_of(0, 5) == "does not"
    assert verdict_of(8, 9) == "does"
    assert verdict_of(9, 12) == "undecided"
    assert verdict_of(2, 12) == "does not"


def test_a_load_that_does_half_of_the_time_gets_a_verdict_as_seldom_as_is_said() -> None:
    """All outcomes of at most MOST_TRIES tries, looked at after each, with their probabilities."""
    still, wrong = {0: 1.0}, 0.0
    for tries in range(1, MOST_TRIES + 1):
        after: dict[int, float] = {}
        for did, probability in still.items():
            for more in (0, 1):
                after[did + more] = after.get(did + more, 0.0) + probability / 2
        wrong += sum(share for did, share in after.items() if verdict_of(did, tries) == "does")
        still = {did: share for did, share in after.items() if verdict_of(did, tries) == "undecided"}
    assert 0.04 < wrong <= 1 - CONFIDENCE


@pytest.mark.parametrize("guess", [1, 70, 1_000, 50_000])
@pytest.mark.parametrize("limit", [64, 100, 777, 3_999])
def test_a_planted_limit_is_found_to_six_per_cent_from_any_guess(limit: int, guess: int) -> None:
    search = searched(Search(lowest=16, most=10_000, guess=guess), lambda load: load <= limit)
    assert search.highest is not None
    assert search.too_high is not None
    assert search.highest <= limit < search.too_high
    assert search.too_high <= search.highest * FINE + 1
    assert len({own.load for own in search.tried}) == len(search.tried)
    assert all(own.tries == 5 for own in search.tried)


def test_a_good_guess_takes_few_loads() -> None:
    search = searched(Search(lowest=16, most=10_000, guess=1_000), lambda load: load <= 950)
    assert len(search.tried) <= 5


def test_where_the_highest_does_or_the_lowest_does_not_the_search_ends() -> None:
    search = searched(Search(lowest=16, most=100, guess=30), lambda _: True)
    assert (search.highest, search.too_high) == (100, None)
    search = searched(Search(lowest=16, most=100, guess=30), lambda _: False)
    assert (search.highest, search.too_high) == (None, 16)
    search = searched(Search(lowest=16, most=100, guess=30_000), lambda _: True)
    assert [own.load for own in search.tried] == [100]
    assert search.tries_left() == 0


def test_a_load_that_does_as_often_as_not_is_left_as_soon_as_no_verdict_is_possible() -> None:
    turns = iter([True, False] * MOST_TRIES)
    search = searched(Search(lowest=16, most=80, guess=40), lambda load: load < 20 or next(turns))
    left = [own for own in search.tried if own.verdict == "undecided"]
    assert left
    # After three that did and three that did not, twelve tries can have no more than nine of a kind.
    assert all((own.tries, own.did) == (6, 3) for own in left)
    assert search.highest is not None
    assert search.highest < 20
    assert search.too_high == min(own.load for own in left)


def test_limits_by_chance_are_seldom_missed_by_much() -> None:
    """Loads do with a probability that falls from 1 to 0 within 10 % around the limit."""
    chance = Random(1)  # noqa: S311
    found = []
    for _ in range(200):
        search = Search(lowest=16, most=10_000, guess=chance.randrange(500, 1500))
        searched(search, lambda load: chance.random() < min(1.0, max(0.0, (1050 - load) / 100)))
        assert search.highest is not None
        found.append(search.highest)
    assert sum(900 <= highest <= 1050 for highest in found) > 180


def test_what_was_tried_is_known_at_any_time_and_a_load_without_a_verdict_is_not_too_high() -> None:
    search = Search(lowest=16, most=1000, guess=100)
    for did in (True, True, False):
        load = search.next_load()
        assert load == 80
        search.note(load, did=did)
    (own,) = search.tried
    assert (own.load, own.tries, own.did, own.verdict) == (80, 3, 2, "undecided")
    assert (search.highest, search.too_high) == (None, None)
    assert search.tries_left() > 0
