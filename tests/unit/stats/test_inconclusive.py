"""What would tell a statement that is inconclusive: how many more blocks, where that is known."""

from __future__ import annotations

from math import exp, expm1, inf, log

import pytest

from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.study import Statement
from tlstax.topics.statements import bound_words, times_needed, what_would_tell

BETTER = Statement(
    says="new is better",
    source="somebody",
    factor="tls_library",
    better=("new",),
    than=("old",),
    alike_within=exp(0.05),
)
ALIKE = Statement(**{**dict(BETTER), "kind": "alike", "by": exp(0.1)})
TWICE = Statement(**{**dict(BETTER), "by": 2.0})


def case(
    log_ratio: float, half: float | None, *, floor: float | None = None, outcome: str = "inconclusive"
) -> Row:
    ends = (None, None) if half is None else (exp(log_ratio - half), exp(log_ratio + half))
    ratio = Interval(
        point=exp(log_ratio), low=ends[0], high=ends[1], confidence=0.95, blocks=9 if half else 1
    )
    return Row(interval=ratio, of="ratio", noise_floor=floor, judgement=outcome)


@pytest.mark.parametrize(
    ("statement", "log_ratio", "half", "times"),
    [
        (BETTER, 0.0, 0.1, 4.0),
        (BETTER, 0.0, 0.11, 5.0),
        (BETTER, 0.01, 0.12, 9.0),
        (BETTER, 0.04, 0.12, 9.0),
        (BETTER, -0.04, 0.12, 9.0),
        (BETTER, 0.2, 0.21, 2.0),
        (ALIKE, 0.0, 0.2, 4.0),
        (ALIKE, 0.16, 0.18, 9.0),
        (TWICE, log(2.0) + 0.1, 0.3, 9.0),
        (TWICE, log(2.0) - 0.1, 0.3, 9.0),
        (TWICE, -log(2.0) + 0.1, 0.3, 9.0),
    ],
)
def test_an_interval_shrinks_with_the_root_of_the_blocks(
    statement: Statement, log_ratio: float, half: float, times: float
) -> None:
    assert times_needed(statement, case(log_ratio, half - 1e-9)) == times


def test_on_the_line_no_number_of_blocks_is_enough() -> None:
    assert times_needed(TWICE, case(log(2.0), 0.1)) == inf
    assert times_needed(BETTER, case(0.0, None)) == inf


@pytest.mark.parametrize(
    ("statement", "log_ratio", "floor", "times"),
    [
        (BETTER, 0.1, 0.06, 4.0),
        (BETTER, 0.04, 0.045, 400.0),
        (BETTER, 0.04, 0.2, None),
        (BETTER, 0.0, 0.2, None),
        (TWICE, log(2.0) + 0.1, 0.2, None),
        (TWICE, log(2.0) + 0.1, 0.05, 4.0),
        (ALIKE, 0.0, 0.2, 4.0),
        (BETTER, 0.1, expm1(log(exp(0.1))), None),
        (BETTER, 0.0, exp(0.05) - 1, None),
        (TWICE, log(2.0) + 0.1, expm1(log(exp(log(2.0) + 0.1)) - log(2.0)), None),
    ],
)
def test_what_twins_hide_takes_an_unknown_number(
    statement: Statement, log_ratio: float, floor: float, times: float | None
) -> None:
    assert times_needed(statement, case(log_ratio, 0.2 - 1e-9, floor=floor)) == times


def words(statement: Statement, *cases: Row) -> list[str]:
    return list(what_would_tell(statement, cases))


def test_it_is_said_in_words() -> None:
    told = case(0.3, 0.1, outcome="held")
    four, hidden, far = case(0.0, 0.0999), case(0.0, 0.1, floor=0.2), case(0.025, 0.4)
    assert words(BETTER, told) == []
    assert words(BETTER, case(0.0, 0.4999)) == ["about 100 times as many blocks would tell them"]
    assert words(BETTER, four, case(0.0, 0.1499))[0].startswith("about 9 times as many blocks")
    assert words(BETTER, told, four) == ["about 4 times as many blocks would tell them"]
    assert words(BETTER, four, far, hidden, case(0.0, None)) == [
        "one block shows no scatter, and more blocks would tell",
        "about 4 times as many blocks would tell 1 of them",
        "1 would take more than 100 times as many",
        "in 1 equal things differ by as much: more blocks show whether by chance",
    ]


def test_how_much_may_be_hidden_is_the_farthest_end_of_all_that_were_not_told() -> None:
    held, near, far = case(0.3, 0.9, outcome="held"), case(0.0, 0.05), case(-0.1, 0.1)
    assert bound_words([held, near, far]) == " (a difference above 22 % is ruled out there)"
    assert bound_words([near, case(0.0, 3.0)]) == "", "nothing is ruled out of one of them"
    assert bound_words([held]) == ""
    assert bound_words([case(0.0, None)]) == ""
    assert bound_words([case(0.0, log(10.5))]) == ""
    assert bound_words([case(0.0, 3.0)]) == "", "of a factor of ten and more nothing is ruled out"
