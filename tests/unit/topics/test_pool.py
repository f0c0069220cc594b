"""What a connection is worth in operations: prices by hand, ladder by ladder."""

from __future__ import annotations

from math import exp

import pytest

from tlstax.findings.core.series import Series, frozen
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.study import Case, Levels, Study, load_study
from tlstax.topics.pool import TOPIC
from told_runs import run_of

STUDY = load_study("pool-or-reconnect")
KEPT, MADE = "oltp-read-only", "reconnect"
WIGGLE = (-0.01, 0.0, 0.01)
"""What three blocks are off: a standard error of 0.0057735; t(2) at 97.5 % is 6.20535."""
HALF = 6.20535 * 0.0057735


def levels_of(workload: str, tls: str, connections: int) -> dict[str, str | int]:
    certificate = "rsa-2048"
    return {
        "server": "mysql-9.7",
        "instance": 1,
        "tls": tls,
        "certificate": certificate,
        "workload": workload,
        "connections": connections,
    }


def series_of(
    prices_us: dict[tuple[str, str, int], float], *, study: Study = STUDY, blocks: int = 3
) -> Series:
    """Cases by workload, TLS and connections; what is made wiggles, what is kept does not."""
    cases, values = {}, {}
    for (workload, tls, connections), us in prices_us.items():
        levels: Levels = levels_of(workload, tls, connections)
        cases[frozen(levels)] = Case(levels=dict(levels), role="treatment")
        values[frozen(levels)] = {
            block: {"server_cpu_us_per_op": us * exp(WIGGLE[block] if workload == MADE else 0.0)}
            for block in range(blocks)
        }
    return Series(study=study, cases=cases, values=values, controls={})


PRICES = {
    (KEPT, "off", 1): 10.0,
    (MADE, "off", 1): 40.0,
    (KEPT, "1.3", 1): 20.0,
    (MADE, "1.3", 1): 200.0,
    (KEPT, "1.3", 8): 20.0,
    (MADE, "1.3", 8): 800.0,
    (KEPT, "off", 8): 10.0,
    (MADE, "off", 8): 160.0,
    (KEPT, "1.3", 64): 20.0,
}


def rows(series: Series) -> tuple[Row, ...]:
    return TOPIC.told(run_of(series)).rows


def found(tls: str, *, study: Study = STUDY, blocks: int = 3) -> dict[str, Row]:
    """The rows of one case, by their outcomes."""
    series = series_of(PRICES, study=study, blocks=blocks)
    return {row.outcome: row for row in rows(series) if row.case["tls"] == tls}


def interval(row: Row) -> Interval:
    assert row.interval is not None
    return row.interval


def test_a_connection_is_worth_the_ratio_of_prices_pooled_connections_the_ladder() -> None:
    """Ten times on 1 connection and forty times on 8 is twenty times together; 64 makes no connections."""
    worth = interval(found("1.3")["operations_worth"])
    assert worth.point == pytest.approx(20.0)
    assert (worth.low, worth.high) == pytest.approx((20 * exp(-HALF), 20 * exp(HALF)), rel=1e-5)
    assert (worth.blocks, worth.confidence) == (3, 0.95)


def test_nineteen_times_as_many_make_its_share_a_twentieth() -> None:
    row = found("1.3")["operations_needed"]
    needed = interval(row)
    assert (row.number("making_share"), row.of, row.value) == (0.05, "value", needed.point)
    assert needed.point == pytest.approx(19 * 20.0)
    assert (needed.low, needed.high) == pytest.approx((380 * exp(-HALF), 380 * exp(HALF)), rel=1e-5)
    assert STUDY.pool is not None
    quarter = STUDY.model_copy(update={"pool": STUDY.pool.model_copy(update={"share": 0.25})})
    assert found("1.3", study=quarter)["operations_needed"].value == pytest.approx(3 * 20.0)


def test_what_it_is_told_of() -> None:
    for row in found("1.3").values():
        assert row.case == {"server": "mysql-9.7", "instance": 1, "tls": "1.3", "certificate": "rsa-2048"}
        assert [row.word(name) for name in ("kept", "made", "pooled_connections")] == [KEPT, MADE, "1, 8"]
        assert row.label.endswith("RSA 2048 certificate, TLS 1.3")


def test_what_tls_adds_to_both_is_told_but_not_of_plaintext() -> None:
    kept, made = (found("1.3")[name] for name in ("kept_to_plaintext", "made_to_plaintext"))
    assert (kept.of, interval(kept).point) == ("ratio", pytest.approx(2.0))
    assert (interval(made).point, interval(made).confidence) == (pytest.approx(5.0), 0.95)
    assert found("off").keys() == {"operations_worth", "operations_needed"}


def test_without_plaintext_there_is_nothing_to_set_tls_against() -> None:
    only_tls = {place: us for place, us in PRICES.items() if place[1] == "1.3"}
    assert [row.outcome for row in rows(series_of(only_tls))] == ["operations_worth", "operations_needed"]


def test_one_block_has_points_alone() -> None:
    needed = interval(found("1.3", blocks=1)["operations_needed"])
    assert needed.point == pytest.approx(19 * 20.0 * exp(-0.01))
    assert (needed.low, needed.high) == (None, None)


def test_what_was_not_measured_on_both_sides_saves_nothing() -> None:
    assert rows(series_of({(MADE, "1.3", 1): 200.0, (KEPT, "1.3", 8): 20.0})) == ()
    assert rows(series_of({(MADE, "1.3", 1): 200.0})) == ()
    assert rows(series_of({(MADE, "1.3", 1): 200.0, (KEPT, "1.3", 1): 0.0})) == ()


def test_a_study_that_does_not_ask_is_not_told() -> None:
    assert rows(series_of(PRICES, study=STUDY.model_copy(update={"pool": None}))) == ()


def test_a_study_of_one_number_of_connections_and_no_tls_names_neither() -> None:
    """What is not a factor of the study is one connection, in plaintext."""
    whole = series_of({(MADE, "off", 1): 40.0, (KEPT, "off", 1): 10.0})
    cases, values = {}, {}
    for at, case in whole.cases.items():
        fewer = {name: level for name, level in case.levels.items() if name not in {"connections", "tls"}}
        cases[frozen(fewer)] = Case(levels=fewer, role="treatment")
        values[frozen(fewer)] = whole.values[at]
    worth, needed = rows(Series(study=STUDY, cases=cases, values=values, controls={}))
    assert worth.value == pytest.approx(4.0)
    assert (worth.word("pooled_connections"), needed.outcome) == ("1", "operations_needed")
