"""A sampled trial's stacks share out what the unsampled trial beside it cost."""

from __future__ import annotations

import pytest

from sampled_trials import INVALID, measured, profile, run_of, sampled
from tlstax.stats.stack_costs import in_kernel_percent, mean_costs, stack_costs, valid_by_block
from tlstax.study import Case

PLAIN = Case(levels={"tls": "off"}, role="baseline")
CONTROL = Case(levels={"tls": "off"}, role="control")


def test_each_stack_costs_its_part_of_the_samples() -> None:
    run = run_of(
        sampled(PLAIN, 0, profile({"a": 3, "b": 1}, {"c": 2})),
        measured(PLAIN, 0, server_us=100, client_us=10),
        sampled(PLAIN, 1, profile({"a": 1})),
        measured(PLAIN, 1, server_us=60, client_us=10),
    )
    assert stack_costs(run, PLAIN, "server") == {
        0: pytest.approx({"a": 75, "b": 25}),
        1: pytest.approx({"a": 60}),
    }
    assert stack_costs(run, PLAIN, "client") == {0: pytest.approx({"c": 10})}


def test_samples_of_user_space_share_out_user_time() -> None:
    run = run_of(
        measured(PLAIN, 0, server_us=100), sampled(PLAIN, 0, profile({"a": 3, "b": 1}, kernel=False))
    )
    assert stack_costs(run, PLAIN, "server") == {0: pytest.approx({"a": 75 * 0.75, "b": 25 * 0.75})}


def test_a_block_that_lacks_anything_of_it_is_left_out_and_later_ones_are_not() -> None:
    whole = profile({"a": 1}, {"c": 1})
    run = run_of(
        sampled(PLAIN, 0, None),
        sampled(PLAIN, 1, profile(None, {"c": 1})),
        sampled(PLAIN, 2, profile({}, {"c": 1})),
        sampled(PLAIN, 3, whole),
        sampled(PLAIN, 4, whole),
        sampled(PLAIN, 5, whole, verdict=INVALID),
        sampled(CONTROL, 6, whole),
        sampled(PLAIN, 7, whole),
        *(measured(PLAIN, block) for block in (0, 1, 2, 5, 6, 7)),
        measured(PLAIN, 4, server=None),
    )
    assert stack_costs(run, PLAIN, "server") == {7: {"a": pytest.approx(100)}}
    assert set(stack_costs(run, PLAIN, "client")) == {1, 2, 4, 7}
    assert set(stack_costs(run, CONTROL, "client")) == set()


def test_the_mean_counts_a_stack_that_a_block_never_saw_as_nothing() -> None:
    assert mean_costs([{"a": 4.0, "b": 3.0}, {"a": 2.0}, {}, {"c": 8.0}]) == {"a": 1.5, "b": 0.75, "c": 2.0}
    assert mean_costs([]) == {}


def test_what_the_kernel_takes_of_a_cost() -> None:
    assert in_kernel_percent({"main;[kernel]": 9.0, "main;read [kernel]": 3.0, "a [kernel];b": 1.0}) == (
        pytest.approx(100 * 3 / 13)
    )
    assert in_kernel_percent({"main": 2.0}) == 0


def test_valid_trials_of_a_case_by_their_block() -> None:
    kept = measured(PLAIN, 3)
    others = (measured(CONTROL, 4), measured(PLAIN, 5, verdict=INVALID))
    assert valid_by_block((*others, kept), PLAIN) == {3: kept}
