"""How a run's blocks are pooled: by themselves on one machine, by machines on several."""

from __future__ import annotations

from math import exp, log

import pytest

from fake_trials import fake_run
from tlstax.records.trial import HEAD
from tlstax.stats import stats
from tlstax.stats.pooling import Pooling, machines_of, quotient

LOGS = {0: 0.1, 1: 0.3, 2: 0.15, 3: 0.35, 4: 0.5, 5: 0.6, 7: 0.55}
TWO = Pooling(0.95, {block: f"node-{'ab'[block % 2]}" for block in range(9)})
THREE = Pooling(0.95, {block: f"node-{'abc'[block % 3]}" for block in range(9)})


def test_one_machine_is_pooled_as_ever() -> None:
    pooling = Pooling(0.95)
    assert pooling.interval(LOGS) == stats.interval(list(LOGS.values()), 0.95)
    assert pooling.difference(LOGS) == stats.difference_interval(list(LOGS.values()), 0.95)
    below = {block: 2 + value for block, value in LOGS.items()}
    assert pooling.quotient(LOGS, below) == quotient(list(LOGS.values()), list(below.values()), 0.95)
    assert pooling.blocks_needed(LOGS, 0.02) == stats.blocks_needed(pooling.interval(LOGS), 0.02, 0.95)
    assert pooling.difference_by_chance(LOGS) is None


def test_what_one_of_several_has_measured_alone_is_its_own() -> None:
    own = {0: 0.1, 2: 0.15, 4: 0.5}
    assert TWO.difference(own) == stats.difference_interval([0.1, 0.15, 0.5], 0.95)
    assert TWO.interval(own) == stats.interval([0.1, 0.15, 0.5], 0.95)
    assert TWO.difference_by_chance(own) is None
    assert TWO.difference({0: 0.1}) == stats.difference_interval([0.1], 0.95)


def test_of_two_machines_it_is_from_the_lower_end_to_the_higher() -> None:
    a, b = (stats.interval([LOGS[block] for block in of], 0.95) for of in ((0, 2, 4), (1, 3, 5, 7)))
    found = TWO.interval(LOGS)
    assert found.point == pytest.approx((a.point * b.point) ** 0.5)
    assert found.low == pytest.approx(a.low)
    assert found.high == pytest.approx(max(a.high or 0, b.high or 0))
    assert (found.blocks, found.confidence) == (7, 0.95)
    assert TWO.at(0.5).interval(LOGS).high < found.high  # type: ignore[operator]
    assert TWO.difference(LOGS) == found.each(log).model_copy(
        update={name: pytest.approx(log(getattr(found, name))) for name in ("point", "low", "high")}
    )


def test_each_machine_counts_once() -> None:
    uneven = {0: 0.0, 3: 0.0, 6: 0.0, 1: 3.0, 2: 6.0, 5: 6.0}
    assert THREE.difference(uneven).point == pytest.approx(3.0)
    assert THREE.interval(uneven).point == pytest.approx(exp(3.0))


def test_single_blocks_of_two_machines_have_a_point_alone() -> None:
    found = TWO.difference({0: 1.0, 1: 2.0})
    assert (found.point, found.low, found.high, found.blocks) == (1.5, None, None, 2)
    with pytest.raises(ValueError, match="at least one block"):
        TWO.difference({})


def test_blocks_are_kept_by_machine_in_the_order_of_names() -> None:
    pooling = Pooling(0.95, {0: "b", 1: "a", 2: "b"})
    assert pooling.by_machine({0: 1.0, 1: 2.0, 2: 3.0}) == {"a": [2.0], "b": [1.0, 3.0]}
    assert list(pooling.by_machine({0: 1.0, 1: 2.0})) == ["a", "b"]
    assert Pooling(0.95).by_machine({0: 1.0}) == {HEAD: [1.0]}


@pytest.mark.parametrize("pooling", [TWO, THREE], ids=["two", "three"])
def test_a_quotient_ends_where_what_is_left_is_just_told_from_nothing(pooling: Pooling) -> None:
    """Fieller's theorem over machines: at either end, above - q * below has an interval that ends at 0."""
    below = {block: 2 + value * (-1) ** block for block, value in LOGS.items()}
    found = pooling.quotient(dict(reversed(LOGS.items())), below)
    assert found.low is not None
    assert found.high is not None
    above_mean, below_mean = (pooling.difference(values).point for values in (LOGS, below))
    assert found.point == pytest.approx(above_mean / below_mean)
    assert found.low < found.point < found.high
    for end in (found.low, found.high):
        left = pooling.difference({block: value - end * below[block] for block, value in LOGS.items()})
        assert min(abs(left.low or 0.0), abs(left.high or 0.0)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("b", "point"), [((1.0, -3.0), -1.0), ((-1.0, 3.0), 1.0)])
def test_a_quotient_holds_its_point_where_machines_have_opposite_signs(
    b: tuple[float, float], point: float
) -> None:
    """By themselves the machines show 1 and -1/3, or -1 and 1/3."""
    above = {block: 1.0 + 0.001 * (block // 2 - 1) for block in range(6)}
    found = TWO.quotient(above, {block: b[block % 2] + 0.001 * (block // 2 - 1) ** 2 for block in range(6)})
    assert found.point == pytest.approx(point, rel=0.01)
    assert found.point in {found.low, found.high}
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(2.0, rel=0.02)


def test_a_quotient_has_no_ends_where_one_machines_has_none() -> None:
    below = {block: 1.0 + 0.01 * block if block % 2 else (-1.0) ** block * block - 1.5 for block in LOGS}
    found = TWO.quotient(LOGS, below)
    assert (found.low, found.high, found.blocks) == (None, None, 7)
    with pytest.raises(ValueError, match="the same blocks"):
        TWO.quotient(LOGS, {0: 1.0})


def test_blocks_that_are_needed_and_chance_are_those_of_machines() -> None:
    apart = {block: (block % 3) + 0.1 * (block // 3) for block in range(9)}
    assert THREE.blocks_needed(apart, 0.02) is None
    assert THREE.blocks_needed(apart, 50.0) == 9
    assert THREE.difference_by_chance(apart) < 1e-4  # type: ignore[operator]


def test_the_machine_of_each_block_is_what_its_trials_say() -> None:
    run = fake_run(number_of_blocks=3)
    assert machines_of(run.trials) == {}
    named = [record.model_copy(update={"machine": "node-a"}) for record in run.trials]
    assert machines_of(named) == {}
    first = [record if record.trial.block else run.trials[at] for at, record in enumerate(named)]
    assert machines_of(first) == {0: HEAD, 1: "node-a", 2: "node-a"}
