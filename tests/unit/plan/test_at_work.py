"""Where others are at work the load is raised until more connections only fill the server."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tlstax.plan import at_work
from tlstax.plan.admission import admit, beside_others, without_room
from tlstax.plan.at_work import LEAST_PER_S, crowds, is_enough, load_case, steps_to, taken, words
from tlstax.plan.elsewhere import Room
from tlstax.records.beforehand import AtWork, AtWorkStep
from tlstax.study import load_study, override
from tlstax.study.factors import CaseLevels

OTHERS = 120.0


def steps(*per_s: float, others: Sequence[float] = (), took_s: float = 0.5) -> list[AtWorkStep]:
    """What 1, 2, 4 … connections brought."""
    return [
        AtWorkStep(
            connections=2**place,
            per_s=brought,
            others_per_s=others[place] if others else OTHERS,
            took_s=took_s,
        )
        for place, brought in enumerate(per_s)
    ]


@pytest.mark.parametrize(
    ("most", "tried"), [(1, [1]), (2, [1, 2]), (8, [1, 2, 4, 8]), (6, [1, 2, 4, 6]), (5, [1, 2, 4, 5])]
)
def test_the_load_begins_with_one_connection_and_is_doubled(most: int, tried: list[int]) -> None:
    assert steps_to(most) == tried


@pytest.mark.parametrize(
    ("per_s", "connections"),
    [
        ((1000, 1999, 3900, 7000), 8),
        ((1000, 1900, 3600, 4000), 4),
        ((1000, 1100), 1),
        ((1000,), 1),
        ((1000, 1500), 2),
        ((1000, 1499), 1),
    ],
)
def test_the_last_number_is_taken_that_still_brings_more(per_s: tuple[float, ...], connections: int) -> None:
    assert taken(steps(*per_s), OTHERS) == connections
    assert is_enough(steps(*per_s), OTHERS) == (connections < 2 ** (len(per_s) - 1))


def test_fewer_connections_between_two_steps_are_asked_no_more_than_their_part() -> None:
    four, five = AtWorkStep(connections=4, per_s=4000, others_per_s=OTHERS, took_s=0.5), 4000 * 1.125
    last = AtWorkStep(connections=5, per_s=five, others_per_s=OTHERS, took_s=0.5)
    assert taken([four, last], OTHERS) == 5
    assert taken([four, last.model_copy(update={"per_s": five - 1})], OTHERS) == 4


def test_others_who_clearly_get_less_end_it() -> None:
    suffering = steps(1000, 2000, 4000, others=(120, 118, 40))
    assert crowds(suffering[-1], OTHERS)
    assert taken(suffering, OTHERS) == 2
    assert is_enough(suffering, OTHERS)
    assert not is_enough(suffering[:2], OTHERS)


def test_one_connection_is_the_least_even_where_others_suffer_beside_it() -> None:
    suffering = steps(1000, others=(20,))
    assert is_enough(suffering, OTHERS)
    assert taken(suffering, OTHERS) == 1


@pytest.mark.parametrize(
    ("others_before", "beside", "took_s", "less"),
    [
        (8, 2, 0.5, False),  # one statement in place of four: chance
        (8, 2, 10, True),
        (400, 301, 0.5, False),  # more than three quarters
        (400, 250, 0.5, True),
        (400, 300, 1.0, False),  # three quarters, which is not less
        (20, 10, 0.5, False),  # five in place of ten: chance
        (36, 18, 1.0, False),  # three standard deviations, which is not more
        (36, 17, 1.0, True),
    ],
)
def test_what_may_be_chance_is_no_crowding(
    others_before: float, beside: float, took_s: float, less: bool
) -> None:
    (step,) = steps(1000, others=(beside,), took_s=took_s)
    assert crowds(step, others_before) is less


def test_the_line_says_what_was_found_and_what_is_taken() -> None:
    def said(found: list[AtWorkStep]) -> str:
        return words(AtWork(others_per_s=OTHERS, most=8, taken=taken(found, OTHERS), steps=tuple(found)))

    beginning = "others run about 120 statements a second there; "
    assert said(steps(1000, 1900, 3600, 4000)) == (
        f"{beginning}8 connections bring 1.1 times what 4 do: 4 are taken for each case (--full-load takes 8)"
    )
    assert said(steps(1000, 1100)) == (
        f"{beginning}2 connections bring 1.1 times what one does: 1 is taken for each case "
        "(--full-load takes 8)"
    )
    assert said(steps(1000, 1999, 3900, 7000)) == (
        f"{beginning}8 connections bring 1.8 times what 4 do: 8 are taken for each case"
    )
    assert said(steps(1000, 1999, 3900)) == (
        f"{beginning}4 connections bring 2.0 times what 2 do: 4 are taken for each case (--full-load takes 8)"
    )
    assert said(steps(1000, 2000, 4000, others=(120, 118, 40))) == (
        f"{beginning}beside 4 connections they run 40: 2 are taken for each case (--full-load takes 8)"
    )
    assert said(steps(1000, others=(20,))) == (
        f"{beginning}beside one connection they run 20: 1 is taken for each case (--full-load takes 8)"
    )
    counted = AtWork(others_per_s=OTHERS, most=3, taken=3, transactions=True)
    assert words(counted).startswith("others run about 120 transactions a second there; ")
    assert words(AtWork(others_per_s=OTHERS, most=3, taken=3)) == (
        f"{beginning}every case has 3 connections all the same"
    )
    assert words(AtWork(others_per_s=LEAST_PER_S - 0.1, most=8, taken=8)) == ""
    one = steps(1000)
    assert words(AtWork(others_per_s=OTHERS, most=1, taken=1, steps=tuple(one))) == (
        f"{beginning}beside one connection they run as many: 1 is taken for each case"
    )


def test_the_load_is_raised_by_a_case_that_keeps_connections_under_any_tls() -> None:
    levels = load_case(load_study("tax"))
    assert levels is not None
    case = CaseLevels.of(levels)
    assert (case.workload, case.tls) == ("point-select", "default")
    reconnecting = load_case(override(load_study("tax"), "workload", ["reconnect"]))
    assert reconnecting is not None
    assert reconnecting["workload"] == "reconnect"
    in_the_clear = load_case(override(load_study("tax"), "tls", ["off"]))
    assert in_the_clear is not None
    assert in_the_clear["tls"] == "off"
    by_driver = load_case(override(load_study("tax"), "client", ["pymysql-1.2"]))
    assert by_driver is not None
    assert by_driver["client"] == "engine"


@pytest.mark.parametrize("workload", ["insert", "storm"])
def test_what_cannot_be_done_again_and_again_raises_no_load(workload: str) -> None:
    assert load_case(override(load_study("tax"), "workload", [workload])) is None


def test_fewer_connections_beside_others_keep_the_promise_and_its_reason() -> None:
    room = Room(max_connections=151, in_use=3)
    study, (admission,) = admit(load_study("tax"), {None: room}, fewer=True)
    most = int(study.levels_of()["connections"][0])
    seen = AtWork(others_per_s=OTHERS, most=most, taken=2, steps=tuple(steps(1000, 2000, 2100)))
    changed = beside_others(study, [seen])
    assert changed.levels_of()["connections"] == (2,)
    record = admission.record(0.001, "", "").model_copy(update={"at_work": seen})
    fewer = record.model_copy(update={"fewer_than": 2 * most})
    assert f"{most} of {2 * most} connections" in next(without_room(changed, [fewer]))
    unhindered = seen.model_copy(update={"taken": most})
    assert beside_others(study, [unhindered]) == study
    assert beside_others(study, [unhindered, seen]) == changed, "what one server bears holds for all"


def test_a_look_is_long_enough_for_what_counts_as_work() -> None:
    assert LEAST_PER_S * at_work.LOOK_S >= 5
    assert at_work.is_at_work(LEAST_PER_S)
    assert not at_work.is_at_work(LEAST_PER_S - 0.1)
