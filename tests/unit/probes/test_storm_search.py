"""The search for the largest storm: a planted limit is found, and a size is told by tries alone."""

from __future__ import annotations

from random import Random

import pytest

from tlstax.probes.storms.search import FINE, MOST_TRIES, Search, verdict_of


def test_five_of_five_tell_and_four_do_not() -> None:
    assert verdict_of(5, 5, 0.95) == "does"
    assert verdict_of(4, 4, 0.95) == "not told"
    assert verdict_of(0, 5, 0.95) == "does not"
    assert verdict_of(7, 8, 0.95) == "does"
    assert verdict_of(8, 15, 0.95) == "not told"


@pytest.mark.parametrize("limit", [64, 100, 777, 3_999])
def test_a_planted_limit_is_found_to_six_per_cent(limit: int) -> None:
    search = Search(smallest=16, largest=10_000)
    search.run(lambda size: size <= limit)
    assert search.does is not None
    assert search.too_many is not None
    assert search.does <= limit < search.too_many
    assert search.too_many <= search.does * FINE + 1
    assert len({own.connections for own in search.tried}) == len(search.tried)


def test_where_the_largest_does_there_is_no_limit_and_where_the_smallest_does_not_nothing_does() -> None:
    search = Search(smallest=16, largest=100)
    search.run(lambda _: True)
    assert (search.does, search.too_many) == (100, None)
    assert [own.connections for own in search.tried] == [16, 32, 64, 100]
    search = Search(smallest=16, largest=100)
    search.run(lambda _: False)
    assert (search.does, search.too_many) == (None, 16)
    assert len(search.tried) == 1


def test_a_size_that_does_as_often_as_not_is_left_and_counts_as_too_large() -> None:
    chance = Random(1)  # noqa: S311
    search = Search(smallest=16, largest=64)
    search.run(lambda size: size < 32 or chance.random() < 0.5)
    told = {own.connections: own for own in search.tried}
    assert told[32].tries <= MOST_TRIES
    assert search.does is not None
    assert search.does < 32


def test_what_was_tried_before_an_interruption_is_kept() -> None:
    search = Search(smallest=16, largest=1000)

    def attempt(size: int) -> bool:
        if size > 64:
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        search.run(attempt)
    assert search.does == 64
