"""When a tunnel is worth it: planted prices give the planted break-even point, planted equals give none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from fake_trials import fake_run
from planted_series import planted_series, wobble
from tlstax.findings.core.pooling import quotient
from tlstax.findings.core.series import Series
from tlstax.results.rows import Told
from tlstax.study import Levels, Study, load_study, override, parse_study, study_toml
from tlstax.topics.answer.document import document
from tlstax.topics.distance.tunnels import (
    LOST,
    NOT_FROM,
    SAVED,
    STATEMENTS,
    TOPIC,
    TUNNELS,
    WORTH_UNTIL,
    Worth,
    tunnel_tables,
    when,
    worths_of,
)
from tlstax.topics.statements import statement_rows
from told_runs import run_of

STUDY = override(load_study("tunnels"), "server", ["mysql-9.7"])

CONNECT_US = {"direct": 200.0, "tunnel": 260.0, "rsa-1024": 500.0, "rsa-2048": 1_200.0, "rsa-4096": 5_060.0}
STATEMENT_US = {"direct": 50.0, "tunnel": 110.0, "tls": 60.0}
"""What a connection and a statement take: a tunnel's statement loses 50 µs against one under TLS."""


def price(levels: Levels, prices: Mapping[str, float]) -> float:
    if levels["tls"] != "off":
        return prices.get("tls", prices.get(str(levels["certificate"]), 0.0))
    return prices["tunnel" if levels["path"] in TUNNELS else "direct"]


def planted(levels: Levels, block: int, statement_us: Mapping[str, float] = STATEMENT_US) -> dict[str, float]:
    """Time as in the tables above; CPU half of it on each side, and a tunnel's own 5 µs for everything."""
    connect, statement = price(levels, CONNECT_US), price(levels, statement_us)
    us = {"storm": connect, "reconnect": connect + statement, "point-select": statement}[
        str(levels["workload"])
    ] * wobble(block, 0.001)
    found = {
        "latency_p50_us": us,
        "ops_per_s": 1e6 / us,
        "server_cpu_us_per_op": us / 2,
        "client_cpu_us_per_op": us / 2,
    }
    if levels["workload"] != "point-select":
        found["connect_p50_us"] = connect * wobble(block, 0.001)
    if levels["path"] in TUNNELS:
        found["path_cpu_us_per_op"] = 5.0
    return found


def tunnels(series: Series) -> list[Worth]:
    return worths_of(TOPIC.told(run_of(series)).rows)


@cache
def told() -> Told:
    return TOPIC.told(run_of(planted_series(STUDY, planted)))


@cache
def found() -> list[Worth]:
    return worths_of(told().rows)


def point(of: Worth, outcome: str) -> float:
    """A figure that must be there."""
    interval = of.interval(outcome)
    assert interval is not None
    return interval.point


def bound(of: Worth, outcome: str) -> float | None:
    """How far a verdict reaches, where that is all that is known."""
    row = of.row(outcome)
    return None if row is None else row.value


def worth(measure: str, certificate: str, tunnel: str = "ssh-aes256-ctr") -> Worth:
    (one,) = (
        each
        for each in found()
        if (each.measure, each.tunnel, each.rows[0].baseline["certificate"]) == (measure, tunnel, certificate)
    )
    return one


@pytest.mark.parametrize("measure", ["time", "many"])
@pytest.mark.parametrize("certificate", ["rsa-1024", "rsa-2048", "rsa-4096"])
def test_the_planted_break_even_point_is_found(certificate: str, measure: str) -> None:
    told = worth(measure, certificate)
    expected = (CONNECT_US[certificate] - 260.0) / 50.0
    assert told.verdict == "below"
    assert point(told, STATEMENTS) == pytest.approx(expected)
    known = told.interval(STATEMENTS)
    assert known is not None
    assert known.low is not None
    assert known.high is not None
    assert known.low <= expected <= known.high
    assert point(told, SAVED) == pytest.approx(CONNECT_US[certificate] - 260.0)
    assert point(told, LOST) == pytest.approx(50.0)


def test_cpu_counts_all_sides_and_takes_the_statement_out_of_a_reconnect() -> None:
    """An operation of `reconnect` is a connection and a statement: its own tunnel costs 5 µs for both."""
    told = worth("CPU", "rsa-4096")
    assert told.rows[0].case["workload"] == "reconnect"
    assert point(told, SAVED) == pytest.approx(5_060.0 - 260.0)
    assert point(told, LOST) == pytest.approx(50.0 + 5.0)
    assert point(told, STATEMENTS) == pytest.approx(4_800.0 / 55.0)


def test_every_tunnel_stands_against_every_key_of_its_own_server() -> None:
    assert {each.tunnel for each in found()} == {
        level for level in STUDY.levels_of()["path"] if level in TUNNELS
    }
    assert {each.rows[0].baseline["certificate"] for each in found()} == {"rsa-1024", "rsa-2048", "rsa-4096"}
    assert {each.rows[0].baseline["path"] for each in found()} == {"direct"}, (
        "what a router makes of TLS is no rival"
    )
    assert len(found()) == 6 * 3 * 3


def test_a_tunnel_whose_statements_cost_less_is_always_worth_it() -> None:
    cheap = {**STATEMENT_US, "tunnel": 55.0}
    (told,) = against_rsa_2048(cheap)
    assert told.verdict == "always"
    assert told.interval(STATEMENTS) is None
    assert told.rows[0].caveats[0].endswith("in time: always worth it")


def test_a_tunnel_that_saves_nothing_is_never_worth_it() -> None:
    dear = {"direct": 200.0, "tunnel": 1_300.0, "rsa-2048": 1_200.0}

    def costly(levels: Levels, block: int) -> dict[str, float]:
        values = planted(levels, block)
        if "connect_p50_us" in values:
            values["connect_p50_us"] = dear.get(
                "rsa-2048" if levels["tls"] != "off" else "tunnel", 0.0
            ) * wobble(block, 0.001)
        return values

    (told,) = [each for each in tunnels(planted_series(one_of_each(), costly)) if each.measure == "time"]
    assert told.verdict == "never"


def test_where_statements_are_alike_only_a_bound_is_told() -> None:
    """Both scatter by themselves around the same time: it is worth it up to some number at least."""

    def alike(levels: Levels, block: int) -> dict[str, float]:
        values = planted(levels, block, {**STATEMENT_US, "tunnel": 60.0})
        values["latency_p50_us"] *= wobble(block + (1 if levels["tls"] != "off" else 2), 0.01)
        return values

    (told,) = [each for each in tunnels(planted_series(one_of_each(), alike)) if each.measure == "time"]
    assert told.verdict == "inconclusive"
    assert told.interval(STATEMENTS) is None
    assert (bound(told, WORTH_UNTIL) or 0) > 400
    assert when(told).startswith("worth it up to ")


def test_planted_equals_tell_nothing() -> None:
    def equal(levels: Levels, block: int) -> dict[str, float]:
        off = wobble(block + sum(map(ord, str(levels))) % 3, 0.01)
        return {"connect_p50_us": 300.0 * off, "latency_p50_us": 60.0 * off}

    (told,) = tunnels(planted_series(one_of_each(), equal))
    assert (told.verdict, bound(told, WORTH_UNTIL), bound(told, NOT_FROM)) == ("inconclusive", None, None)
    assert when(told) == "whether it is worth it is inconclusive"


def test_without_the_tunnels_own_cpu_time_nothing_is_told_of_cpu_time() -> None:
    def unseen(levels: Levels, block: int) -> dict[str, float]:
        return {name: value for name, value in planted(levels, block).items() if "path" not in name}

    assert {each.measure for each in tunnels(planted_series(STUDY, unseen))} == {"time", "many"}


def test_a_study_without_tunnels_says_nothing_of_them() -> None:
    assert "tunnels" not in document(fake_run()).topics


def test_the_words_tell_each_rival() -> None:
    said = told().sentences
    assert len(said) == 3, "of time with few and with many at a time, and of CPU time"
    assert said[0].startswith("mysql-9.7, on the same machine: through SSH (aes256-ctr), in time: ")
    assert said[0].count(" worth it below ") == 3
    assert "in place of TLS 1.3, RSA 4096 certificate worth it below 96" in said[0]


def test_one_verdict_against_all_is_said_once() -> None:
    always = [
        row.model_copy(update={"judgement": "always"})
        for row in told().rows
        if not row.outcome.endswith(STATEMENTS)
    ]
    said = list(TOPIC.sentences(run_of(planted_series(STUDY, planted)), always))
    assert said[0].endswith("in time: in place of any of 3 kinds of TLS always worth it")


def test_the_tables_have_a_line_for_each_tunnel() -> None:
    times, *others = tunnel_tables(found())
    assert [sum(bool(row[3]) for row in table.rows) for table in (times, *others)] == [18, 18, 18]
    assert times.rows[0][0].startswith("mysql-9.7, on the same machine, in place of TLS 1.3")
    assert times.lines(roomy=True)[1][1:3] == ["4.80 [4.79 … 4.81]", "0.05"]
    assert {row.judgement for row in told().rows} == {"below"}


def test_a_statement_sets_two_sides_apart_in_several_factors() -> None:
    """Through SSH 2.33 times as many connections as under TLS with RSA 4096, less than the published 4.7."""
    whole = load_study("tunnels")

    def storms(levels: Levels, block: int) -> dict[str, float]:
        rate = {"direct": 1000.0, "tunnel": 700.0, "rsa-4096": 300.0, "rsa-2048": 500.0, "rsa-1024": 600.0}
        return {"ops_per_s": price(levels, rate) * wobble(block, 0.001)}

    series = planted_series(whole, storms)
    fewer, by_much, alike, fastest = (statement_rows(series, statement) for statement in whole.statements)
    assert (fewer[0].judgement, len(fewer)) == ("held", 1 + 3)
    assert fewer[1].ratio.point == pytest.approx(700 / 300, rel=0.01)
    assert by_much[0].judgement == "did not hold"
    assert (whole.statements[2].kind, alike[0].judgement) == ("alike", "held")
    assert fastest[0].judgement == "held"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ('factor = "path"\nbetter = { path = "stunnel" }\nthan = ["direct"]', "either levels of its factor"),
        ('better = ["stunnel"]\nthan = ["direct"]', "either levels of its factor"),
        ('better = { pth = "stunnel" }\nthan = { path = "direct" }', "pth is not a factor of this study"),
    ],
)
def test_a_statement_of_sides_that_make_no_sense_is_a_mistake_at_the_door(wrong: str, told: str) -> None:
    text = study_toml(STUDY) + f'\n[[statements]]\nsays = "a"\nsource = "b"\n{wrong}\n'
    with pytest.raises(Exception, match=told):
        parse_study(text, where="mine.toml")


def test_a_quotient_has_the_interval_of_fieller() -> None:
    """By hand: means 100 and 10, variances of the means 4 and 0.04, no covariance worth telling."""
    above, below = [98.0, 102.0, 98.0, 102.0], [9.8, 9.8, 10.2, 10.2]
    found = quotient(above, below, 0.95)
    assert found.point == pytest.approx(10.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 10.0 < found.high
    assert found.high - 10.0 > 10.0 - found.low, "it reaches farther above, as quotients do"


def test_a_quotient_by_what_may_be_nothing_has_no_ends() -> None:
    found = quotient([1.0, 2.0, 3.0], [-1.0, 0.5, 1.0], 0.95)
    assert (found.low, found.high) == (None, None)
    assert quotient([4.0], [2.0], 0.95).low is None
    with pytest.raises(ValueError, match="as many blocks"):
        quotient([1.0], [], 0.95)


def one_of_each() -> Study:
    """Plaintext, one tunnel, and TLS with one key, on one server."""
    keys = {("direct", "off"), ("direct", "1.3"), ("ssh-aes256-ctr", "off")}
    kept = tuple(
        treatment
        for treatment in STUDY.treatments
        if (treatment["path"], treatment["tls"]) in keys
        and (treatment["tls"] == "off" or treatment["certificate"] == "rsa-2048")
        and treatment["instance"] == 1
    )
    return Study.model_validate({**dict(STUDY), "treatments": kept, "contrasts": ()})


def against_rsa_2048(statement_us: Mapping[str, float]) -> list[Worth]:
    def told(levels: Levels, block: int) -> dict[str, float]:
        return planted(levels, block, statement_us)

    return [each for each in tunnels(planted_series(one_of_each(), told)) if each.measure == "time"]
