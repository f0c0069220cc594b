"""Blocks are handed out whole, in their order, each to one machine, and none is lost with its machine."""

from __future__ import annotations

from itertools import islice

from tlstax.machines.cluster import Dispatch
from tlstax.plan.order import CAPTURE_BLOCK, blocks
from tlstax.records.trial import Trial
from tlstax.study import load_study

STUDY = load_study("tax")
CAPTURED = STUDY.model_copy(update={"capture": True})


def number(block: tuple[Trial, ...]) -> int:
    return block[0].block


def test_blocks_go_out_in_their_order_to_whoever_asks() -> None:
    dispatch = Dispatch(blocks(STUDY, 1))
    first, second = next(islice(blocks(STUDY, 1), 0, 1)), next(islice(blocks(STUDY, 1), 1, 2))
    assert dispatch.next_for("a") == first
    assert dispatch.next_for("b") == second
    assert dispatch.under_way == {"a": first, "b": second}
    assert dispatch.done("a") == first
    assert number(dispatch.next_for("a")) == 2


def test_a_block_of_which_nothing_was_measured_goes_to_the_next_who_asks() -> None:
    dispatch = Dispatch(blocks(STUDY, 1))
    lost = dispatch.next_for("a")
    dispatch.next_for("b")
    assert dispatch.lost("a", set()) == lost
    dispatch.done("b")
    assert dispatch.next_for("b") == lost
    assert number(dispatch.next_for("c")) == 2


def test_a_block_that_was_measured_in_part_is_not_measured_again() -> None:
    dispatch = Dispatch(blocks(STUDY, 1))
    lost = dispatch.next_for("a")
    assert dispatch.lost("a", {lost[3].position}) == lost
    assert number(dispatch.next_for("b")) == 1


def test_of_captured_trials_the_rest_is_done() -> None:
    dispatch = Dispatch(blocks(CAPTURED, 1))
    lost = dispatch.next_for("a")
    assert number(lost) == CAPTURE_BLOCK
    dispatch.lost("a", {lost[0].position})
    assert dispatch.next_for("b") == lost[1:]


def test_a_machine_that_is_done_with_far_less_than_the_others_is_said_to_be_slow() -> None:
    dispatch = Dispatch(blocks(STUDY, 1))
    for name, count in (("a", 9), ("b", 8), ("c", 2), ("d", 1)):
        for _ in range(count):
            dispatch.next_for(name)
            dispatch.done(name)
    assert list(dispatch.slow(["a", "b", "c"])) == []
    assert list(dispatch.slow(["d", "c", "b", "a", "e"])) == [
        "e is slow: it measured no block while the median machine measured 2",
    ]
    assert list(dispatch.slow(["d", "b", "a"])) == [
        "d is slow: it measured 1 block while the median machine measured 8",
    ]
    assert list(dispatch.slow([])) == []


def test_a_machine_that_is_lost_with_nothing_to_do_takes_nothing_along() -> None:
    assert Dispatch(blocks(STUDY, 1)).lost("a", set()) is None


def test_a_block_that_was_begun_before_goes_on_where_it_was_begun() -> None:
    done = {(0, 0), (0, 1)}
    dispatch = Dispatch(blocks(STUDY, 1, done), {0: "b"})
    assert number(dispatch.next_for("a")) == 1
    rest = dispatch.next_for("b")
    assert number(rest) == 0
    assert {trial.position for trial in rest}.isdisjoint({0, 1})
    assert number(dispatch.next_for("b")) == 2


def test_a_block_that_nobody_may_go_on_with_holds_up_nobody() -> None:
    dispatch = Dispatch(blocks(STUDY, 1, {(0, 0)}), {0: "gone"})
    assert [number(dispatch.next_for("a")) for _ in range(3)] == [1, 2, 3]
