"""What a limit is of, whether a change keeps to it, and how sure all intervals are together."""

from __future__ import annotations

import pytest

from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.stats.limits import Limit, Limits, confidence_of_each, regression_limit, verdict_of, worst
from tlstax.support.errors import UserMistake

CPU, RATE, TIME = "server_cpu_us_per_op", "ops_per_s", "latency_p50_us"
RISE, FALL = Limit(outcome=CPU, most=0.05), Limit(outcome=RATE, least=-0.05)


def between(low: float | None, high: float | None) -> Interval:
    return Interval(point=1.0, low=low, high=high, confidence=0.95, blocks=5)


@pytest.mark.parametrize(
    ("limit", "low", "high", "verdict"),
    [
        (RISE, 0.99, 1.05, "PASS"),
        (RISE, 1.0, 1.0501, "INCONCLUSIVE"),
        (RISE, 1.05, 1.2, "INCONCLUSIVE"),
        (RISE, 1.051, 1.2, "FAIL"),
        (RISE, 0.1, 0.2, "PASS"),
        (RISE, None, None, "INCONCLUSIVE"),
        (RISE, 0.99, None, "INCONCLUSIVE"),
        (RISE, None, 1.0, "INCONCLUSIVE"),
        (FALL, 0.95, 1.2, "PASS"),
        (FALL, 0.9499, 1.2, "INCONCLUSIVE"),
        (FALL, 0.8, 0.95, "INCONCLUSIVE"),
        (FALL, 0.8, 0.949, "FAIL"),
        (FALL, 2.0, 3.0, "PASS"),
    ],
)
def test_a_verdict_is_where_the_interval_lies(
    limit: Limit, low: float | None, high: float | None, verdict: str
) -> None:
    assert verdict_of(between(low, high), limit) == verdict
    row = limit.judged(Row(outcome=limit.outcome, interval=between(low, high), of="ratio"))
    side = {"most": 0.05} if limit is RISE else {"least": -0.05}
    assert row.more == {**side, "verdict": verdict}


def test_without_an_interval_it_is_inconclusive() -> None:
    assert verdict_of(None, RISE) == "INCONCLUSIVE"


@pytest.mark.parametrize(
    ("verdicts", "all_together"),
    [
        (("PASS", "PASS"), "PASS"),
        (("PASS", "INCONCLUSIVE"), "INCONCLUSIVE"),
        (("INCONCLUSIVE", "FAIL", "PASS"), "FAIL"),
        ((), "PASS"),
    ],
)
def test_a_failure_weighs_more_than_what_is_inconclusive(
    verdicts: tuple[str, ...], all_together: str
) -> None:
    assert worst([Row(more={"verdict": verdict}) for verdict in verdicts]) == all_together


@pytest.mark.parametrize(
    ("outcome", "limit"), [(CPU, Limit(outcome=CPU, most=0.05)), (RATE, Limit(outcome=RATE, least=-0.05))]
)
def test_a_cost_may_rise_and_a_speed_may_fall_by_the_share(outcome: str, limit: Limit) -> None:
    assert regression_limit(outcome, 0.05) == limit


def test_what_cannot_become_worse_has_no_such_limit() -> None:
    with pytest.raises(UserMistake) as mistake:
        regression_limit("server_cpu_share", 0.05)
    assert str(mistake.value) == (
        "neither more nor less of server_cpu_share is better, so that it cannot become worse"
    )
    assert mistake.value.remedy == "limit it by --max or --min"


@pytest.mark.parametrize(
    ("limits", "deciding", "wanted"),
    [
        (Limits(), CPU, ()),
        (Limits((RISE,)), CPU, (RISE,)),
        (
            Limits(regression=0.1),
            TIME,
            (Limit(TIME, most=0.1), Limit(RATE, least=-0.1), Limit(CPU, most=0.1)),
        ),
        (
            Limits((RISE,), regression=0.1),
            "connect_p50_us",
            (RISE, Limit("connect_p50_us", most=0.1), Limit(RATE, least=-0.1), Limit(TIME, most=0.1)),
        ),
        (
            Limits((Limit(RATE, most=0.2),), regression=0.1),
            "server_cpu_share",
            (
                Limit(RATE, most=0.2),
                Limit(RATE, least=-0.1),
                Limit(CPU, most=0.1),
                Limit(TIME, most=0.1),
            ),
        ),
    ],
)
def test_a_named_limit_takes_the_place_of_the_general_one_on_its_side(
    limits: Limits, deciding: str, wanted: tuple[Limit, ...]
) -> None:
    assert limits.of(deciding) == wanted


@pytest.mark.parametrize(
    ("limits", "is_any"),
    [(Limits(), False), (Limits((RISE,)), True), (Limits(regression=0.0), True)],
)
def test_a_limit_of_nothing_at_all_is_one(limits: Limits, *, is_any: bool) -> None:
    assert bool(limits) is is_any


@pytest.mark.parametrize(
    ("limits", "of_cases", "measured", "said", "remedy"),
    [
        (
            Limits((Limit("latency_p5_us", most=1),)),
            (),
            (TIME, RATE, "connect_p50_us"),
            "no case of the two has latency_p5_us",
            "it has latency_p50_us and ops_per_s",
        ),
        (
            Limits((RISE, FALL)),
            (FALL,),
            ("a", "b", "c", "d", "e", "f"),
            f"no case of the two has {CPU}",
            "it has a, b, c, d and e",
        ),
        (Limits((RISE,)), (), (), f"no case of the two has {CPU}", "measure it again"),
        (
            Limits(regression=0.1),
            (),
            ("a",),
            f"no case of the two has {RATE}, {CPU} and {TIME}",
            "it has a",
        ),
    ],
)
def test_a_limit_for_nothing_is_a_mistake(
    limits: Limits, of_cases: tuple[Limit, ...], measured: tuple[str, ...], said: str, remedy: str
) -> None:
    with pytest.raises(UserMistake) as mistake:
        limits.check_each_has_a_case(of_cases, "case of the two", measured)
    assert (str(mistake.value), mistake.value.remedy) == (said, remedy)


def test_limits_that_each_have_a_case_are_none() -> None:
    Limits((RISE,), regression=0.1).check_each_has_a_case((RISE,), "case", (CPU,))
    Limits().check_each_has_a_case((), "case", ())


@pytest.mark.parametrize(("number", "each"), [(0, 0.95), (1, 0.95), (2, 0.975), (10, 0.995)])
def test_of_more_intervals_each_is_surer(number: int, each: float) -> None:
    assert confidence_of_each(0.95, number) == pytest.approx(each)
