"""A trial in which another amount was burned than its case has, or none at all, is found out."""

from __future__ import annotations

from typing import Any

from test_settings_checks import PLAIN, trial

from tlstax.checks.complete import Doubt
from tlstax.checks.identity import burned
from tlstax.records.window import Burned


def judged(seen: Burned | None, **levels: Any) -> list[Doubt]:
    """What is said of a trial of a case with `burn` planted, in which this was counted."""
    made = trial(PLAIN, levels={"fault": "burn", **levels})
    return list(burned(made._replace(evidence=made.evidence.model_copy(update={"burned": seen}))))


def turns(*calls: int, asked_ns: int, burned_ns: int) -> Burned:
    """Turns with this many calls, each of which was to burn one amount and burned another."""
    return Burned(
        calls=calls,
        asked_ns=tuple(count * asked_ns for count in calls),
        burned_ns=tuple(count * burned_ns for count in calls),
    )


def test_each_call_of_each_turn_burns_the_cases_amount() -> None:
    assert judged(turns(100, 50, 70, asked_ns=400, burned_ns=412), burn="400ns") == []
    assert judged(turns(100, 50, 70, asked_ns=400, burned_ns=400), burn="400ns") == []


def test_nothing_is_burned_where_nothing_is_asked_for() -> None:
    nothing = turns(100, 50, asked_ns=0, burned_ns=0)
    assert judged(nothing, burn="off") == judged(nothing, burn="0ns") == judged(nothing) == []
    assert judged(turns(0, asked_ns=0, burned_ns=0), burn="off") == []


def test_another_amount_in_any_turn_is_found_out() -> None:
    other = Burned(calls=(10, 10, 10), asked_ns=(4000, 3999, 4001), burned_ns=(5000, 5000, 5000))
    assert judged(other, burn="400ns") == [
        Doubt(
            "invalid",
            "in 2 of 3 turns another amount was burned than 400 ns a call: 3999 ns in 10 calls",
        )
    ]
    for level in ("off", "0ns"):
        assert judged(turns(10, asked_ns=400, burned_ns=410), burn=level) == [
            Doubt(
                "invalid",
                "in 1 of 1 turns another amount was burned than 0 ns a call: 4000 ns in 10 calls",
            )
        ]


def test_less_than_was_asked_for_is_found_out() -> None:
    less = Burned(calls=(10, 10), asked_ns=(4000, 4000), burned_ns=(4000, 3999))
    assert judged(less, burn="400ns") == [
        Doubt("invalid", "the fault burn burned less than it was asked for")
    ]


def test_a_fault_that_nothing_calls_is_found_out() -> None:
    assert judged(turns(0, 0, asked_ns=0, burned_ns=0), burn="400ns") == [
        Doubt("invalid", "nothing of the server called the fault burn")
    ]
    assert judged(turns(0, 5, asked_ns=400, burned_ns=410), burn="400ns") == []


def test_what_was_not_counted_is_not_known() -> None:
    assert judged(None, burn="400ns") == [Doubt("unknown", "it is not known what the fault burn burned")]
    assert judged(None, burn="400ns", fault="none") == []
