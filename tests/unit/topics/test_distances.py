"""What distance makes of costs: by hand from two blocks of planted times, and the study in a fake world."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import exp, log
from typing import Any

import pytest

import golden
from fake_trials import Truth, fake_run, kept
from intervals import known
from planted_series import planted_series, wobble
from sampled_trials import INVALID, measured
from tlstax.records.trial import DistanceObservation, RoundTripTime, TrialRecord
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, RowSet, Told
from tlstax.stats.series import Series
from tlstax.study import Case, Levels, Study, load_study, override
from tlstax.support.grouping import grouped
from tlstax.topics.answer.headline import headline
from tlstax.topics.distance.curves import (
    CHANGE,
    CLAIM,
    CONNECT,
    CONNECT_TRIPS,
    EXTRA,
    EXTRA_TRIPS,
    FAR,
    FROM,
    KEEPING,
    KEPT,
    LIMIT,
    MEASURED,
    NEAR,
    PLAINTEXT,
    PLAINTEXT_TRIPS,
    RATIO_OF_RATES,
    STATEMENT,
    TIME,
    TO,
    TOPIC,
    TREATED,
    WORTH,
    Curve,
    Figure,
    Teller,
    Trend,
    claim_verdict,
    curves_of,
    distance_tables,
    growth_sentence,
    measured_round_trips_ms,
    trend,
)
from told_runs import run_of


def told_of(series: Series, records: Iterable[TrialRecord] = ()) -> Told:
    """All that the run shows whose trials measured this series."""
    run = run_of(series)
    run.stored.measured = tuple(records)  # type: ignore[misc] # A stand-in has no such property.
    return TOPIC.told(run)


def of(known: RowSet, figure: Figure) -> Interval:
    """A figure that must be there."""
    found = known.interval(*figure)
    assert found is not None
    return found


def judged(known: RowSet, figure: Figure) -> str:
    """What is said of a figure that must be there."""
    row = known.row(*figure)
    assert row is not None
    return row.judgement


def limit(known: RowSet) -> float | None:
    """What round trips alone would make of the loss."""
    row = known.row(*LIMIT)
    return None if row is None else row.value


def claims_of(told: Told) -> list[tuple[Row, Row]]:
    """Each claim in its two meanings: in time, in proportion."""
    rows = told.of(role=CLAIM)
    return list(zip(rows[::2], rows[1::2], strict=True))


T1 = 25.4517
"""t(1) at 98.75 %: the interval of two blocks reaches half their difference times this to each side."""


def study(**factors: list[str | int | float]) -> Study:
    """Plaintext and TLS 1.3 over these factors."""
    return Study.model_validate(
        {
            "name": "far",
            "title": "What distance costs",
            "question": "What does it?",
            "factors": factors,
            "treatments": [{"tls": "off"}, {"tls": "1.3"}],
            "baseline": {"tls": "off"},
            "growth_claims": [
                {"says": "it grows", "source": "somebody", "within": {"workload": "reconnect"}},
                {"says": "so do statements", "source": "another", "within": {"workload": "point-select"}},
            ]
            if "workload" in factors
            else [],
        }
    )


CONNECTING = study(workload=["reconnect"], server=["mysql-9.7"], connections=[4], rtt_ms=[10, 110])

CONNECT_MS = {
    ("off", 10.0): (41.0, 41.0),
    ("1.3", 10.0): (62.0, 64.0),
    ("off", 110.0): (441.0, 441.0),
    ("1.3", 110.0): (663.0, 673.0),
}
RATE = {
    ("off", 10.0): (100.0, 100.0),
    ("1.3", 10.0): (50.0, 49.9),
    ("off", 110.0): (10.0, 10.0),
    ("1.3", 110.0): (8.0, 8.0),
}


def planted(levels: Levels, block: int) -> dict[str, float]:
    """As in the tables; plaintext has a third block, which nothing stands beside."""
    at = str(levels["tls"]), float(levels["rtt_ms"])
    if block == 2:
        return {"connect_p50_us": 7.0, "ops_per_s": 7.0} if at[0] == "off" else {}
    return {"connect_p50_us": 1e3 * CONNECT_MS[at][block], "ops_per_s": RATE[at][block]}


Values = Callable[[Levels, int], dict[str, float]]


def curve_of(
    values: Values = planted,
    of: Study = CONNECTING,
    rtts: Iterable[float] = (10, 110),
    measured_ms: dict[float, float] | None = None,
) -> Curve | None:
    series = planted_series(of, values, blocks=3)
    treated = {
        float(case.levels["rtt_ms"]): case.levels
        for case in series.cases.values()
        if case.levels["tls"] == "1.3"
    }
    steps = {float(rtt): treated[float(rtt)] for rtt in rtts}
    return next(iter(curves_of(Teller(series, measured_ms or {}).curve(steps))), None)


def curve(*arguments: Any, **more: Any) -> Curve:
    found = curve_of(*arguments, **more)
    assert found is not None
    return found


def points(*arguments: Any, **more: Any) -> list[RowSet]:
    return list(curve(*arguments, **more).points.values())


def growth(*arguments: Any, **more: Any) -> RowSet:
    found = curve(*arguments, **more).growth
    assert found is not None
    return found


def test_a_curve_is_named_by_its_treatment_without_the_distance() -> None:
    found = curve()
    assert (found.kind, found.server, found.label) == ("connection", "mysql-9.7", "TLS 1.3")
    assert found.name == "mysql-9.7, TLS 1.3, 4 at a time"
    shared = {"workload": "reconnect", "server": "mysql-9.7", "connections": 4}
    assert found.case == {**shared, "tls": "1.3"}
    assert found.points[10].rows[0].baseline == {**shared, "tls": "off", "rtt_ms": 10}


def test_a_study_may_leave_server_and_connections_alone() -> None:
    found = curve(of=study(workload=["reconnect"], rtt_ms=[10, 110]))
    assert found.name == "TLS 1.3, 1 at a time"


def test_statements_are_timed_where_connections_are_kept() -> None:
    def asking(levels: Levels, _block: int) -> dict[str, float]:
        ms = {"off": 10.0, "1.3": 15.0}[str(levels["tls"])]
        return {"latency_p50_us": 1e3 * ms, "connect_p50_us": 1.0, "ops_per_s": 1.0}

    found = curve(asking, study(workload=["point-select"], rtt_ms=[10, 110]))
    assert (found.kind, of(found.points[10], PLAINTEXT).point) == ("statement", 10.0)


def test_a_study_without_workloads_keeps_its_connections() -> None:
    def asking(*_: object) -> dict[str, float]:
        return {"latency_p50_us": 1e3, "ops_per_s": 1.0}

    found = curve(asking, study(rtt_ms=[10, 110]))
    assert (found.kind, found.case) == ("statement", {"tls": "1.3"})


def test_a_point_has_times_their_difference_and_both_in_round_trips() -> None:
    near, far = points(measured_ms={10: 12.5})
    assert [row.case["rtt_ms"] for row in (near.rows[0], far.rows[0])] == [10, 110]
    assert [row.more[MEASURED] for row in (near.rows[0], far.rows[0])] == [12.5, 110]
    time = near.row(*TIME)
    assert time is not None
    assert (time.value, time.baseline_value) == (pytest.approx(63), pytest.approx(41))
    assert (of(near, PLAINTEXT).point, of(near, PLAINTEXT).blocks) == (pytest.approx(41), 2)
    assert (of(near, TREATED).point, of(near, EXTRA).point) == (pytest.approx(63), pytest.approx(22))
    assert of(near, EXTRA).high == pytest.approx(22 + T1, rel=1e-5)
    assert of(near, EXTRA).confidence == 0.95
    assert of(near, PLAINTEXT_TRIPS).point == pytest.approx(41 / 12.5)
    assert of(near, EXTRA_TRIPS).point == pytest.approx(22 / 12.5)
    assert of(near, EXTRA_TRIPS).high == pytest.approx((22 + T1) / 12.5, rel=1e-5)
    logs = log(62 / 41), log(64 / 41)
    assert of(near, TIME).point == pytest.approx(exp(sum(logs) / 2))
    assert of(near, TIME).high == pytest.approx(exp(sum(logs) / 2 + T1 * (logs[1] - logs[0]) / 2), rel=1e-5)
    assert of(near, RATIO_OF_RATES).point == pytest.approx((0.5 * 0.499) ** 0.5)
    assert of(far, RATIO_OF_RATES).point == pytest.approx(0.8)


def test_without_a_distance_there_are_no_round_trips() -> None:
    def close(levels: Levels, block: int) -> dict[str, float]:
        return planted({**levels, "rtt_ms": 10 if levels["rtt_ms"] == 0 else levels["rtt_ms"]}, block)

    nearby = study(workload=["reconnect"], rtt_ms=[0, 110])
    first, _ = points(close, nearby, (0, 110))
    assert first.rows[0].more[MEASURED] == 0
    assert first.row(*PLAINTEXT_TRIPS) is first.row(*EXTRA_TRIPS) is None
    short, _ = points(measured_ms={10: 0.5})
    assert of(short, EXTRA_TRIPS).point == pytest.approx(44)


def lacking(what: str, instead: float | None, rtts: Iterable[float] = (10, 110), tls: str = "any") -> Values:
    """What is planted, but for an outcome at these distances."""

    def values(levels: Levels, block: int) -> dict[str, float]:
        found = planted(levels, block)
        if levels["rtt_ms"] in rtts and tls in ("any", levels["tls"]):
            found.pop(what, None)
            if instead is not None:
                found[what] = instead
        return found

    return values


@pytest.mark.parametrize(
    "values",
    [
        lacking("connect_p50_us", None),
        lacking("ops_per_s", None),
        lacking("connect_p50_us", 0.0, tls="off"),
    ],
    ids=["no times", "no rates", "times of nothing"],
)
def test_where_nothing_can_be_compared_there_is_no_curve(values: Values) -> None:
    assert curve_of(values) is None


def test_growth_goes_from_the_shortest_distance_that_can_be_told_to_the_longest() -> None:
    def four(levels: Levels, block: int) -> dict[str, float]:
        at = {5.0: None, 10.0: 10.0, 50.0: 110.0, 110.0: 110.0}[float(levels["rtt_ms"])]
        return planted({**levels, "rtt_ms": at}, block) if at is not None else {}

    wide = study(workload=["reconnect"], rtt_ms=[5, 10, 50, 110])
    found = curve(four, wide, (5, 10, 50, 110))
    assert list(found.points) == [10, 50, 110]
    assert found.growth is not None
    assert (found.growth.rows[0].more[FROM], found.growth.rows[0].more[TO]) == (10, 110)
    assert curve(four, wide, (5, 110)).growth is None, "one distance alone"


def test_growth_is_told_in_time_and_in_proportion() -> None:
    """In blocks 0 and 1 TLS adds 201 and 209 ms more on a way of 100 ms more, plaintext 400 ms."""
    found = growth()
    assert of(found, EXTRA).point == pytest.approx(205)
    assert of(found, EXTRA).low == pytest.approx(205 - 4 * T1, rel=1e-5)
    assert of(found, EXTRA_TRIPS).point == pytest.approx(2.05)
    assert of(found, EXTRA_TRIPS).low == pytest.approx(2.05 - 0.04 * T1, rel=1e-5)
    assert (of(found, PLAINTEXT_TRIPS).point, of(found, PLAINTEXT_TRIPS).blocks) == (pytest.approx(4), 2)
    assert limit(found) == pytest.approx(6.05 / 4)
    assert of(found, NEAR).point == pytest.approx((2 * 100 / 49.9) ** 0.5)
    assert of(found, FAR).point == pytest.approx(1.25)
    assert of(found, CHANGE).point == pytest.approx(1.25 / (2 * 100 / 49.9) ** 0.5)
    assert (judged(found, EXTRA), judged(found, CHANGE)) == ("grows", "shrinks")
    assert {of(found, figure).confidence for figure in (NEAR, FAR, CHANGE)} == {0.95}


@pytest.mark.parametrize(
    ("far_ms", "words"),
    [
        ((663.0, 663.0), "becomes 200 ms more, 2.00 round trips beside the 4.00 of plaintext"),
        ((443.0, 443.0), "becomes 20.0 ms less, 0.20 round trips beside the 4.00 of plaintext"),
        ((450.0, 480.0), "changes by 2 (−380 to 384) ms, which is inconclusive"),
    ],
)
def test_growth_is_told_in_words(far_ms: tuple[float, float], words: str) -> None:
    """Near by TLS adds 22 ms, plaintext takes 400 ms more far away."""

    def values(levels: Levels, block: int) -> dict[str, float]:
        told = planted(levels, block)
        if levels["tls"] == "1.3" and block < 2:
            told["connect_p50_us"] = 1e3 * (63.0 if levels["rtt_ms"] == 10 else far_ms[block])
        return told

    rates = (
        "the loss shrinks: plaintext does 2.00 (1.95 to 2.05) times as many a second at 10 ms and 1.25 times "
        "as many at 110 ms; round trips alone would make it "
    )
    said = growth_sentence(curve(values))
    start, _, end = said.partition("; ")
    assert start == f"mysql-9.7, TLS 1.3, 4 at a time: from 10 to 110 ms what it adds {words}"
    assert end.startswith(rates)


def test_a_loss_that_grows_a_little_grows() -> None:
    """TLS takes a fifth of the rate near by and a third far away."""

    def values(levels: Levels, block: int) -> dict[str, float]:
        near = levels["rtt_ms"] == 10
        rate = 12.0 if levels["tls"] == "off" else 9.6 if near else 8.0
        return {**planted(levels, block), "ops_per_s": rate}

    found = growth(values)
    assert of(found, CHANGE).point == pytest.approx(1.2)
    assert judged(found, CHANGE) == "grows"


def test_growth_is_by_the_round_trips_that_were_measured() -> None:
    found = growth(measured_ms={10: 30.0, 110: 130.5})
    assert of(found, EXTRA_TRIPS).point == pytest.approx(205 / 100.5)
    assert of(found, PLAINTEXT_TRIPS).point == pytest.approx(400 / 100.5)
    half = growth(measured_ms={10: 110.0, 110: 110.5})
    assert of(half, EXTRA_TRIPS).point == pytest.approx(410)
    assert curve(measured_ms={10: 110.0}).growth is None, "no way apart"
    assert curve(measured_ms={10: 111.0}).growth is None


@pytest.mark.parametrize("outcome", ["connect_p50_us", "ops_per_s"])
def test_without_a_block_in_common_nothing_is_told_of_growth(outcome: str) -> None:
    def apart(levels: Levels, block: int) -> dict[str, float]:
        found = planted(levels, block)
        if block == (0 if levels["rtt_ms"] == 10 else 1):
            found.pop(outcome, None)
        return found

    found = curve(apart)
    assert len(found.points) == 2
    assert found.growth is None


def test_round_trips_alone_have_no_limit_where_plaintext_has_none() -> None:
    def constant(ms: float) -> Values:
        def values(levels: Levels, block: int) -> dict[str, float]:
            found = planted(levels, block)
            if levels["tls"] == "off" and block < 2:
                found["connect_p50_us"] = 1e3 * (30.0 + (ms if levels["rtt_ms"] == 110 else 0.0))
            return found

        return values

    assert limit(growth(constant(0.0))) is None
    half = growth(constant(50.0))
    assert of(half, PLAINTEXT_TRIPS).point == pytest.approx(0.5)
    assert limit(half) == pytest.approx((0.5 + of(half, EXTRA_TRIPS).point) / 0.5)


@pytest.mark.parametrize(
    ("low", "point", "high", "nothing", "told"),
    [
        (0.5, 1.0, 1.5, 0.0, "grows"),
        (0.5, 1.0, 1.5, 1.0, "inconclusive"),
        (0.5, 1.0, 1.5, 0.5, "inconclusive"),
        (0.5, 1.0, 1.5, 1.5, "inconclusive"),
        (0.5, 1.0, 1.5, 2.0, "shrinks"),
        (None, 1.0, None, 0.0, "inconclusive"),
    ],
)
def test_a_trend_is_what_differs_from_nothing(
    low: float | None, point: float, high: float | None, nothing: float, told: Trend
) -> None:
    assert trend(known(point, low, high, 4), nothing) == told


POOLING = study(
    workload=["reconnect", "point-select"],
    server=["mysql-9.7", "mysql-8.0.33"],
    connections=[1, 8],
    rtt_ms=[10],
)


def kept_and_made(levels: Levels, block: int) -> dict[str, float]:
    """A connect takes 50 and 54 ms in blocks 1 and 2, a statement 2 ms; each lacks one of four blocks."""
    if levels["workload"] == "reconnect":
        return {"connect_p50_us": (1.0, 50e3, 54e3, 0.0)[block]} if block < 3 else {}
    return {"latency_p50_us": 2e3} if block else {}


def slower_together(levels: Levels, block: int) -> dict[str, float]:
    """The same, but that all takes eight times as long with eight at a time."""
    return {name: us * int(levels["connections"]) for name, us in kept_and_made(levels, block).items()}


def pools(*made: tuple[str, int], values: Values = kept_and_made, ms: float | None = None) -> list[RowSet]:
    """Of a run in which connections were made to these servers, N at a time, under TLS."""
    whole = planted_series(POOLING, values, blocks=4)
    cases = {
        at: case
        for at, case in whole.cases.items()
        if case.levels["tls"] == "1.3"
        and (
            case.levels["workload"] == "point-select"
            or (case.levels["server"], case.levels["connections"]) in made
        )
    }
    return by_case(Teller(replace(whole, cases=cases), {} if ms is None else {10: ms}))


def by_case(teller: Teller) -> list[RowSet]:
    """What each treatment saves, in the plan's order."""
    own = grouped(teller.pools(), lambda row: tuple(row.case.items()))
    return [RowSet(rows) for rows in own.values()]


def test_what_keeping_a_connection_saves_in_time() -> None:
    (found,) = pools(("mysql-9.7", 1), ms=12.5)
    first = found.rows[0]
    assert (first.role, first.label, first.case["server"]) == (KEPT, "TLS 1.3", "mysql-9.7")
    assert (first.case["rtt_ms"], first.case["workload"]) == (10, "reconnect")
    assert first.more[KEEPING] == "point-select"
    assert (of(found, CONNECT).point, of(found, CONNECT).blocks) == (pytest.approx(52), 2)
    assert of(found, CONNECT_TRIPS).point == pytest.approx(52 / 12.5)
    assert of(found, STATEMENT).point == pytest.approx(2)
    assert of(found, WORTH).point == pytest.approx((25 * 27) ** 0.5)
    assert (of(found, WORTH).blocks, of(found, WORTH).confidence) == (2, 0.95)


def test_of_each_server_the_fewest_connections_at_a_time_count() -> None:
    made = (("mysql-9.7", 8), ("mysql-9.7", 1), ("mysql-8.0.33", 8))
    assert sorted(pool.rows[0].case["server"] for pool in pools(*made)) == ["mysql-8.0.33", "mysql-9.7"]
    (one,) = pools(("mysql-9.7", 8), ("mysql-9.7", 1), values=slower_together)
    assert of(one, CONNECT).point == pytest.approx(52), "of one at a time, not of eight"
    assert pools() == []


def test_without_a_block_in_common_nothing_is_saved() -> None:
    def apart(levels: Levels, block: int) -> dict[str, float]:
        return {} if block > 0 and levels["workload"] == "reconnect" else kept_and_made(levels, block)

    assert pools(("mysql-9.7", 1), values=apart) == []


def test_a_run_without_servers_and_connections_has_pools_too() -> None:
    bare = study(workload=["reconnect", "point-select"], rtt_ms=[10])
    series = planted_series(bare, kept_and_made, blocks=4)
    assert [pool.rows[0].label for pool in by_case(Teller(series, {}))] == ["plaintext", "TLS 1.3"]


def test_without_a_kept_connection_beside_it_nothing_is_saved() -> None:
    alone = study(workload=["reconnect"], rtt_ms=[10])
    assert by_case(Teller(planted_series(alone, kept_and_made, blocks=4), {})) == []


def trial(asked_ms: float, *medians_ms: float, block: int = 0) -> TrialRecord:
    """A trial over a distance that was measured before it, and after it where two are given."""
    seen = [RoundTripTime(median_ms=ms, lowest_ms=1.0, highest_ms=99.0, samples=9) for ms in medians_ms]
    distance = DistanceObservation(
        rtt_ms=asked_ms,
        jitter_ms=0.0,
        rate_mbit=0,
        made_by="netem",
        before=seen[0],
        after=seen[1] if len(seen) > 1 else None,
    )
    return measured(Case(levels={}, role="baseline"), block, distance=distance)


def test_round_trips_are_the_mean_of_what_was_measured_around_valid_trials() -> None:
    records = [
        trial(10, 99.0, 99.0).model_copy(update={"verdict": INVALID}),
        measured(Case(levels={}, role="baseline"), 0),
        trial(10, 11.0, 13.0),
        trial(10, 18.0),
        trial(110, 112.0),
    ]
    assert measured_round_trips_ms(records) == {10: 15.0, 110: 112.0}


def test_all_that_a_run_shows_of_distances() -> None:
    whole = study(workload=["reconnect", "point-select"], rtt_ms=[110, 10])

    def both(levels: Levels, block: int) -> dict[str, float]:
        found = planted(levels, block)
        return {**found, "latency_p50_us": 1e3} if found else {}

    told = told_of(planted_series(whole, both, blocks=3), [trial(10, 12.5)])
    found = curves_of(told.rows)
    assert [(each.kind, each.case["tls"]) for each in found] == [("connection", "1.3"), ("statement", "1.3")]
    assert list(found[0].points) == [10, 110]
    assert [point.rows[0].more[MEASURED] for point in found[0].points.values()] == [12.5, 110]
    assert {(row.label, row.case["rtt_ms"]) for row in told.of(role=KEPT)} == {
        (label, rtt) for label in ("plaintext", "TLS 1.3") for rtt in (10, 110)
    }
    (in_time, in_proportion), second = claims_of(told)
    assert (in_time.label, in_time.more) == ("it grows", {"source": "somebody", "curves": 1})
    assert (in_time.judgement, in_proportion.judgement) == ("held", "did not hold")
    assert in_time.caveats[0].startswith("of 1 treatment it grows in 1")
    assert "the loss shrinks" in in_proportion.caveats[0]
    assert second[0].more["source"] == "another"
    assert [row.judgement for row in second] == ["inconclusive", "did not hold"]


def test_a_claim_of_cases_without_growth_could_not_be_told() -> None:
    one = study(workload=["reconnect", "point-select"], rtt_ms=[10])
    told = told_of(planted_series(one, planted, blocks=3))
    for rows in claims_of(told):
        assert [(row.judgement, row.more["curves"]) for row in rows] == [("inconclusive", 0)] * 2
        assert rows[0].caveats[0] == "nothing that was measured bears on it"
    assert [growth_sentence(each) for each in curves_of(told.rows)] == [""]


def test_curves_of_which_nothing_is_known_are_left_out() -> None:
    assert curves_of(told_of(planted_series(CONNECTING, lambda *_: {}, blocks=3)).rows) == []


def test_a_study_without_distances_or_of_something_else_shows_none() -> None:
    assert told_of(planted_series(study(workload=["reconnect"]), lambda *_: {})).rows == ()
    other = CONNECTING.model_copy(update={"baseline": {"tls": "1.3"}})
    assert told_of(planted_series(other, planted, blocks=3)).rows == ()


@pytest.mark.parametrize(
    ("trends", "verdict"),
    [
        ([], "inconclusive"),
        (["grows", "grows"], "held"),
        (["grows", "shrinks"], "held in part"),
        (["grows", "inconclusive"], "held in part"),
        (["shrinks", "inconclusive"], "did not hold"),
        (["inconclusive"], "inconclusive"),
    ],
)
def test_a_claim_holds_where_every_curve_says_so(trends: list[str], verdict: str) -> None:
    assert claim_verdict(trends) == verdict


def with_workload(curve: Curve, workload: str) -> Curve:
    def changed(point: RowSet) -> RowSet:
        return RowSet(
            [row.model_copy(update={"case": row.case | {"workload": workload}}) for row in point.rows]
        )

    return Curve({rtt_ms: changed(point) for rtt_ms, point in curve.points.items()}, None)


def test_each_of_several_workloads_has_a_table_that_names_it() -> None:
    asking = curve(lambda *_: {"latency_p50_us": 1e3, "ops_per_s": 1.0}, study(rtt_ms=[10, 110]))
    several = [with_workload(asking, work) for work in ("rows-1x64", "rows-1x1048576")]
    titles = [table.title for table in distance_tables(several, ())]
    assert titles == [f"Selects of one row of {size} bytes, 1 at a time" for size in ("64", "1,048,576")]


BUILT_IN = load_study("distance")


def connect_ms(levels: Levels, *, round_trips: int = 2, work_ms: float = 1.6) -> float:
    """4 round trips and 0.4 ms of work; TLS adds to both."""
    is_tls = levels["tls"] != "off"
    return (4 + round_trips * is_tls) * float(levels["rtt_ms"]) + 0.4 + work_ms * is_tls


def nothing(levels: Levels, block: int) -> dict[str, float]:
    """TLS costs nothing at any distance; trials scatter, each case by itself."""
    off = wobble(block + sum(map(ord, str(sorted(levels.items())))) % 7, 0.01)
    ms = connect_ms({**levels, "tls": "off"}) * off
    return {"connect_p50_us": 1e3 * ms, "latency_p50_us": 1e3 * ms, "ops_per_s": 1e5 / ms}


def busy(levels: Levels, block: int) -> dict[str, float]:
    """As many round trips as plaintext, and 20 ms of work: the share of the rate shrinks, the time stays."""
    ms = connect_ms(levels, round_trips=0, work_ms=20.0)
    ms += 0.01 * (wobble(block + (levels["tls"] != "off") + int(float(levels["rtt_ms"]))) - 1)
    return {"connect_p50_us": 1e3 * ms, "ops_per_s": 1e5 / ms}


@pytest.mark.parametrize(
    ("values", "verdicts"),
    [(nothing, ("inconclusive", "inconclusive")), (busy, ("inconclusive", "did not hold"))],
)
def test_where_no_round_trip_is_planted_no_time_grows(values: Values, verdicts: tuple[str, str]) -> None:
    ((in_time, in_proportion),) = claims_of(told_of(planted_series(BUILT_IN, values)))
    assert (in_time.judgement, in_proportion.judgement) == verdicts
    assert "3 inconclusive" in in_time.caveats[0], "one for each server, of the published measure alone"


def truth(case: Case) -> Truth:
    levels = case.levels
    if levels["workload"] == "point-select":
        us = 1e3 * (float(levels["rtt_ms"]) + 0.1)
        return replace(kept(4e3, 30.0, 10.0, record_bytes=0), phase_us={"query": us, "operation": us})
    us = 1e3 * connect_ms(levels)
    made = kept(1e9 / us, 300.0, 100.0, record_bytes=0)
    return replace(made, phase_us={"connect": us, "operation": us})


def test_what_the_study_shows() -> None:
    """Over distances that were 2 % longer than asked for."""
    few = tuple(BUILT_IN.treatments[place] for place in (6, 8, 9))
    narrow = override(BUILT_IN.model_copy(update={"treatments": few}), "rtt_ms", ["0", "170"])
    run = fake_run(narrow, number_of_blocks=4, noise=0.002, truth=truth, invalid=False)
    trials = tuple(
        record.model_copy(update={"distance": trial(rtt, rtt * 1.02, rtt * 1.02).distance})
        for record in run.trials
        for rtt in [float(record.trial.case.levels["rtt_ms"])]
    )
    shown = golden.check("distance", run.model_copy(update={"trials": trials}), TOPIC)
    in_time, in_proportion = (said for said in headline(shown.document) if said.startswith("“As latency"))
    assert "taken as time per connection: held" in in_time
    assert "taken as a share of the rate: did not hold" in in_proportion
    assert shown.page.count("over the round trip time. plaintext") == 3, "of four, a hundred, and statements"
    assert shown.page.count("time against plaintext over the round trip time. ") == 3
