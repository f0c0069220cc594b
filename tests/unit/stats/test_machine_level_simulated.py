"""What an interval over machines promises, held against runs on machines whose own ratios are known."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import pytest

from simulated_machines import Machines, missed, missed_by_stopping
from tlstax.results.interval import Interval
from tlstax.stats import pooling, stats
from tlstax.stats.pooling import Pooling

RUNS, STOPPED_RUNS = 800, 150
PROMISED = 0.05


def _beyond_chance(rate: float, runs: int) -> float:
    """The largest share that chance makes of this rate, at three standard deviations."""
    return rate + 3 * sqrt(rate * (1 - rate) / runs)


def blocks_alone(pooling: Pooling, values: Mapping[int, float]) -> Interval:
    """As if all blocks were of one machine."""
    return stats.difference_interval(list(values.values()), pooling.confidence)


@pytest.mark.parametrize("apart", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize(
    "blocks", [(5, 5), (2, 10), (5, 5, 5), (2, 2, 20), (2, 2, 10, 20), (2,) * 10], ids=str
)
def test_an_interval_over_machines_keeps_its_promise(blocks: tuple[int, ...], apart: float) -> None:
    assert missed(Machines(blocks, apart), runs=RUNS, seed=1) <= _beyond_chance(PROMISED, RUNS)


@pytest.mark.parametrize("blocks", [(5, 5, 5, 5), (2, 5, 5, 20)], ids=str)
def test_two_machines_of_one_kind_and_two_of_another_make_no_narrow_interval(blocks: tuple[int, ...]) -> None:
    """It is of machines of these kinds; blocks that count by themselves would have it narrower than that."""
    of_kinds = Machines(blocks, 1.0, kinds=2)
    assert missed(of_kinds, runs=RUNS, seed=2) <= _beyond_chance(PROMISED, RUNS)


def test_a_kind_that_has_most_blocks_does_not_decide() -> None:
    many = Machines((2, 2, 20, 20), 1.0, kinds=2)
    assert missed(many, runs=RUNS, seed=2) <= _beyond_chance(PROMISED, RUNS)
    assert missed(many, runs=RUNS, seed=2, pool=blocks_alone) > 0.9


def test_no_kind_is_promised_that_was_not_measured() -> None:
    """Why a report says of how many kinds its interval is: two kinds tell of a third what two machines do."""
    assert missed(Machines((5,) * 4, 100.0, kinds=2, drawn=True), runs=RUNS, seed=3) > 0.2


def test_blocks_that_count_by_themselves_would_break_the_promise() -> None:
    """That these simulations would notice."""
    assert missed(Machines((5, 5, 5), 1.0), runs=RUNS, seed=4, pool=blocks_alone) > 0.15
    assert missed(Machines((5, 5), 10.0), runs=RUNS, seed=4, pool=blocks_alone) > 0.4


STOPPED = [((40, 40), 0.1, 0.8), ((40, 40), 1.0, 1.5), ((30, 30, 30), 0.0, 0.5), ((25,) * 4, 0.1, 0.6)]


@pytest.mark.parametrize(("blocks", "apart", "precision"), STOPPED, ids=str)
def test_it_does_where_its_width_ends_the_run(
    blocks: tuple[int, ...], apart: float, precision: float
) -> None:
    found = missed_by_stopping(Machines(blocks, apart), precision, minimum=5, runs=STOPPED_RUNS, seed=5)
    assert found <= _beyond_chance(PROMISED, STOPPED_RUNS)


def test_means_that_are_close_together_by_luck_would_break_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why an interval is never narrower than the scatter of its blocks alone would make it."""
    means = pooling.means
    monkeypatch.setattr(pooling, "means", lambda *given: means(*given)[:1])
    alike = Machines((30, 30, 30), 0.0)
    found = missed_by_stopping(alike, 0.4, minimum=5, runs=STOPPED_RUNS, seed=5)
    assert found > _beyond_chance(PROMISED, STOPPED_RUNS)
