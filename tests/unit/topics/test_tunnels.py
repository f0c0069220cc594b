"""When a tunnel is worth it: by hand from two blocks of planted prices, and the study in a fake world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

import golden
from fake_trials import fake_run
from planted_series import planted_series, wobble
from tlstax.results.interval import Interval
from tlstax.stats.series import Series
from tlstax.study import Levels, Study, load_study, override, parse_study, study_toml
from tlstax.study.factors import CaseLevels
from tlstax.topics.answer.document import document
from tlstax.topics.distance.tunnels import (
    KEEPING,
    LOST,
    NOT_FROM,
    SAVED,
    STATEMENTS,
    TOPIC,
    TUNNELS,
    WORTH_UNTIL,
    Worth,
    is_direct_tls,
    is_tunnel,
    rows,
    when,
    worths_of,
)
from tlstax.topics.statements import statement_rows
from told_runs import run_of

T1 = 25.4517
"""t(1) at 98.75 %: the interval of two blocks reaches half their difference times this to each side."""


def tunnels(series: Series) -> list[Worth]:
    return worths_of(list(rows(run_of(series))))


def of(found: Worth, outcome: str) -> Interval:
    """A figure that must be there."""
    interval = found.interval(outcome)
    assert interval is not None
    return interval


def bound(found: Worth, outcome: str) -> float | None:
    """How far a verdict reaches, where that is all that is known."""
    row = found.row(outcome)
    return None if row is None else row.value


Values = Callable[[Levels, int], dict[str, float]]


def study(**factors: list[str | int | float]) -> Study:
    """Plaintext, TLS 1.3 and two tunnels without it over these factors."""
    return Study.model_validate(
        {
            "name": "ways",
            "title": "TLS or a tunnel",
            "question": "Which?",
            "factors": factors,
            "treatments": [
                {"path": "direct", "tls": "off"},
                {"path": "direct", "tls": "1.3"},
                {"path": "stunnel", "tls": "off"},
                {"path": "haproxy", "tls": "off"},
            ],
            "baseline": {"path": "direct", "tls": "off"},
        }
    )


STUDY = study(workload=["reconnect", "point-select"], server=["mysql-9.7"], connections=[1], rtt_ms=[3])


def prices(saved: Iterable[float], lost: Iterable[float]) -> Values:
    """A tunnel that saves this on a connection in each block and loses that on a statement, in µs."""
    savings, losses = tuple(saved), tuple(lost)

    def values(levels: Levels, block: int) -> dict[str, float]:
        through = is_tunnel(levels)
        if block >= len(savings if levels["workload"] == "reconnect" else losses):
            return {}
        if levels["workload"] == "reconnect":
            return {"connect_p50_us": 1000.0 - savings[block] if through else 1000.0, "latency_p50_us": 1.0}
        return {"latency_p50_us": 500.0 + losses[block] if through else 500.0, "connect_p50_us": 1.0}

    return values


def worths(values: Values, of: Study = STUDY) -> dict[str, Worth]:
    """By measure, of the one tunnel and the one TLS."""
    found = tunnels(planted_series(of, values, blocks=3))
    assert len({each.measure for each in found}) == len(found)
    return {each.measure: each for each in found}


def by_time(saved: Iterable[float], lost: Iterable[float]) -> Worth:
    (found,) = worths(prices(saved, lost)).values()
    assert found.measure == "time"
    return found


def test_who_is_compared_is_named() -> None:
    found = by_time((240, 250), (50, 52))
    assert (found.place, found.tunnel, found.rival) == ("mysql-9.7, 3 ms away", "stunnel", "TLS 1.3")
    shared = {"workload": "reconnect", "server": "mysql-9.7", "connections": 1, "rtt_ms": 3}
    assert found.rows[0].case == {**shared, "path": "stunnel", "tls": "off"}
    assert found.rows[0].baseline == {**shared, "path": "direct", "tls": "1.3"}
    assert {(row.role, row.more[KEEPING]) for row in found.rows} == {("tunnel", "point-select")}
    (said,) = {row.caveats for row in found.rows}
    assert said[0].startswith("mysql-9.7, 3 ms away: ")
    assert "in place of TLS 1.3, in time: " in said[0]


def test_what_is_saved_and_lost_are_means_over_the_blocks_that_have_both() -> None:
    found = by_time((240, 244, 9000), (50, 51))
    saved, lost = of(found, SAVED), of(found, LOST)
    assert (saved.point, lost.point) == (pytest.approx(242), pytest.approx(50.5))
    assert (saved.low, saved.high) == pytest.approx((242 - 2 * T1, 242 + 2 * T1), rel=1e-5)
    assert (lost.low, lost.high) == pytest.approx((50.5 - T1 / 2, 50.5 + T1 / 2), rel=1e-5)
    assert (saved.confidence, lost.confidence, saved.blocks, lost.blocks) == (0.95, 0.95, 2, 2)
    assert of(found, STATEMENTS).point == pytest.approx(242 / 50.5)
    assert of(found, STATEMENTS).confidence == 0.95


@pytest.mark.parametrize(
    ("saved", "lost", "verdict", "words", "briefly"),
    [
        ((240, 240), (50, 50), "below", "worth it below 4.80 statements a connection", "below 4.80"),
        ((-240, -240), (-50, -50), "above", "worth it above 4.80 statements a connection", "above 4.80"),
        ((240, 240), (-50, -50), "always", "always worth it", "always"),
        ((-240, -240), (50, 50), "never", "never worth it", "never"),
        ((0.5, 0.5), (0.25, 0.25), "below", "worth it below 2.00 statements a connection", "below 2.00"),
    ],
)
def test_the_verdict_is_by_both_signs(
    saved: tuple[float, ...], lost: tuple[float, ...], verdict: str, words: str, briefly: str
) -> None:
    found = by_time(saved, lost)
    assert found.verdict == verdict
    assert (found.interval(STATEMENTS) is None) == (verdict in {"always", "never"})
    assert (bound(found, WORTH_UNTIL), bound(found, NOT_FROM)) == (None, None)
    assert (when(found), when(found, briefly=True)) == (words, briefly)


UNKNOWN = "whether it is worth it is inconclusive"
UNTIL = "worth it up to 8 statements a connection; beyond that is inconclusive"
FROM = "not worth it from 1 statement a connection on; below that is inconclusive"


@pytest.mark.parametrize(
    ("saved", "lost", "until", "not_from", "words", "briefly"),
    [
        ((240, 240), (1, 3), 240 / (2 + T1), None, UNTIL, "up to 8 or more"),
        ((240, 240), (100, 300), 240 / (200 + 100 * T1), None, UNKNOWN, "inconclusive"),
        ((1, 3), (50, 50), None, (2 + T1) / 50, FROM, "not from 1 on"),
        ((240,), (50,), None, None, UNKNOWN, "inconclusive"),
        ((-240, -240), (1, 3), None, None, UNKNOWN, "inconclusive"),
        ((1, 3), (-50, -50), None, None, UNKNOWN, "inconclusive"),
        ((1, 3), (1, 3), None, None, UNKNOWN, "inconclusive"),
        ((240, 240), (0, 0), None, None, UNKNOWN, "inconclusive"),
        ((0, 0), (0, 0), None, None, UNKNOWN, "inconclusive"),
    ],
)
def test_where_one_sign_is_not_known_a_bound_may_be(  # noqa: PLR0913 (a row of the table)
    *,
    saved: tuple[float, ...],
    lost: tuple[float, ...],
    until: float | None,
    not_from: float | None,
    words: str,
    briefly: str,
) -> None:
    found = by_time(saved, lost)
    assert (found.verdict, found.interval(STATEMENTS)) == ("inconclusive", None)
    assert bound(found, WORTH_UNTIL) == (until and pytest.approx(until, rel=1e-5))
    assert bound(found, NOT_FROM) == (not_from and pytest.approx(not_from, rel=1e-5))
    assert (when(found), when(found, briefly=True)) == (words, briefly)


def test_without_a_block_in_common_nothing_is_told() -> None:
    def apart(levels: Levels, block: int) -> dict[str, float]:
        wanted = 0 if levels["workload"] == "reconnect" else 1
        return prices((1, 1), (1, 1))(levels, block) if block == wanted else {}

    assert worths(apart) == {}


def cpu(levels: Levels, _block: int) -> dict[str, float]:
    """Statements cost 30 µs under TLS and 40 through the tunnel, connections 400 and 100 more than that."""
    through, both = is_tunnel(levels), 31.0 if is_tunnel(levels) else 30.0
    if levels["workload"] == "reconnect":
        both += 91.0 if through else 400.0
    found = {"client_cpu_us_per_op": both / 3, "server_cpu_us_per_op": both * 2 / 3}
    if through:
        found["path_cpu_us_per_op"] = 9.0 if levels["workload"] != "reconnect" else 18.0
    else:
        found["path_cpu_us_per_op"] = 1e6
    return found


def test_cpu_time_is_that_of_all_sides_less_the_statement_of_a_reconnect() -> None:
    found = worths(cpu)["CPU"]
    assert of(found, SAVED).point == pytest.approx(400 - 100)
    assert of(found, LOST).point == pytest.approx(40 - 30)


@pytest.mark.parametrize("name", ["client_cpu_us_per_op", "server_cpu_us_per_op", "path_cpu_us_per_op"])
def test_cpu_time_needs_every_side(name: str) -> None:
    def values(levels: Levels, block: int) -> dict[str, float]:
        return {each: us for each, us in cpu(levels, block).items() if block or each != name}

    assert of(worths(values)["CPU"], SAVED).blocks == 2


WIDE = study(workload=["reconnect", "point-select"], server=["mysql-9.7"], connections=[1, 2, 31, 32])


def rates(levels: Levels, block: int) -> dict[str, float]:
    """An operation through the tunnel takes a µs more for each connection; there is none in block 0."""
    through, many = is_tunnel(levels), int(levels.get("connections", 1))
    if levels["workload"] == "reconnect":
        us = (300.0 if through else 500.0) + (many if through else 0)
    else:
        us = (90.0 if through else 60.0) + (many if through else 0)
    return {"ops_per_s": 1e6 / us if block else 0.0}


def test_with_many_at_a_time_each_takes_its_part_of_a_second() -> None:
    """On 32 connections: a reconnect takes 500 or 332 µs, of which a statement is 60 or 122."""
    found = worths(rates, WIDE)
    assert set(found) == {"many"}
    told = found["many"]
    assert told.rows[0].case["connections"] == 32
    assert of(told, SAVED).point == pytest.approx((500 - 60) - (332 - 122))
    assert of(told, LOST).point == pytest.approx(122 - 60)
    assert of(told, SAVED).blocks == 2, "a block without any is left out"


def test_slow_ways_have_a_rate_as_well() -> None:
    def slow(levels: Levels, block: int) -> dict[str, float]:
        return {"ops_per_s": rates(levels, block)["ops_per_s"] / 1e5}

    assert of(worths(slow, WIDE)["many"], LOST).point == pytest.approx(1e5 * 62)


def of_connections(*connections: int) -> set[str]:
    of = study(workload=["reconnect", "point-select"], connections=list(connections))
    return set(worths(rates, of))


def test_many_are_32_made_and_2_kept_or_more() -> None:
    assert of_connections(1, 2, 31) == set()
    assert of_connections(2, 32) == {"many"}
    whole = planted_series(study(workload=["reconnect", "point-select"], connections=[1, 2, 32]), rates)
    for kept, number in ((2, 1), (1, 0)):
        cases = {
            at: case
            for at, case in whole.cases.items()
            if case.levels["connections"] == (32 if case.levels["workload"] == "reconnect" else kept)
        }
        assert len(tunnels(replace(whole, cases=cases))) == number
    bare = study(workload=["reconnect", "point-select"])
    assert worths(rates, bare) == {}


def test_a_study_without_servers_has_none_to_name() -> None:
    bare = study(workload=["reconnect", "point-select"])
    found = worths(prices((240, 240), (50, 50)), bare)["time"]
    assert found.place == "on the same machine"


def test_reconnects_are_taken_before_storms_and_few_before_many() -> None:
    of = study(workload=["storm", "reconnect", "point-select"], connections=[8, 1])
    told: dict[str, Any] = worths(prices((240, 240), (50, 50)), of)["time"].rows[0].case
    assert (told["workload"], told["connections"]) == ("reconnect", 1)
    whole = planted_series(of, lambda *_: {"connect_p50_us": 9.0, "latency_p50_us": 3.0})
    left = {
        at: case
        for at, case in whole.cases.items()
        if (case.levels["workload"], case.levels["connections"]) != ("reconnect", 1)
    }
    (found,) = tunnels(replace(whole, cases=left))
    assert (found.rows[0].case["workload"], found.rows[0].case["connections"]) == ("reconnect", 8)
    assert found.rows[0].more[KEEPING] == "point-select"


def test_what_a_storm_makes_is_a_connection_alone() -> None:
    def storm(levels: CaseLevels, block: int) -> dict[str, float]:
        return cpu(levels | {"workload": levels.workload.replace("storm", "reconnect")}, block)

    found = worths(storm, study(workload=["storm", "point-select"], connections=[1]))["CPU"]
    assert of(found, SAVED).point == pytest.approx(430 - 140)


def test_ways_are_compared_at_one_place() -> None:
    of = study(workload=["reconnect", "point-select"], server=["mysql-9.7", "mysql-8.0.33"], rtt_ms=[3, 45])
    found = tunnels(planted_series(of, prices((240, 240), (50, 50))))
    for each in found:
        own, other = each.rows[0].case, each.rows[0].baseline
        assert (own["server"], own["rtt_ms"]) == (other["server"], other["rtt_ms"])
    assert len({each.place for each in found}) == len(found) == 4


def test_without_kept_connections_there_is_nothing_to_set_against() -> None:
    assert worths(prices((240, 240), (50, 50)), study(workload=["reconnect"])) == {}


@pytest.mark.parametrize(
    ("path", "tls", "tunnel", "direct"),
    [
        ("direct", "off", False, False),
        ("direct", "1.3", False, True),
        ("ssh-aes256-ctr", "off", True, False),
        ("stunnel", "1.3", False, False),
        ("haproxy-tls", "off", True, False),
        ("haproxy", "off", False, False),
    ],
)
def test_a_tunnel_protects_alone_and_so_does_direct_tls(
    path: str, tls: str, tunnel: bool, direct: bool
) -> None:
    case = CaseLevels.of({"path": path, "tls": tls})
    assert is_tunnel(case) is tunnel
    assert is_direct_tls(case) is direct
    assert "stunnel" in TUNNELS


BUILT_IN = override(load_study("tunnels"), "server", ["mysql-9.7"])

CONNECT_US = {"direct": 200.0, "tunnel": 260.0, "rsa-1024": 500.0, "rsa-2048": 1_200.0, "rsa-4096": 5_060.0}
STATEMENT_US = {"direct": 50.0, "tunnel": 110.0, "tls": 60.0}
"""What a connection and a statement take: a tunnel's statement loses 50 µs against one under TLS."""


def price(levels: Levels, prices: Mapping[str, float]) -> float:
    if levels["tls"] != "off":
        return prices.get("tls", prices.get(str(levels["certificate"]), 0.0))
    return prices["tunnel" if levels["path"] in TUNNELS else "direct"]


def planted(levels: Levels, block: int) -> dict[str, float]:
    """Time as in the tables above; CPU half of it on each side, and a tunnel's own 5 µs for everything."""
    connect, statement = price(levels, CONNECT_US), price(levels, STATEMENT_US)
    us = {"storm": connect, "reconnect": connect + statement, "point-select": statement}[
        str(levels["workload"])
    ] * wobble(block, 0.001)
    each = {"latency_p50_us": us, "ops_per_s": 1e6 / us}
    each |= {"server_cpu_us_per_op": us / 2, "client_cpu_us_per_op": us / 2}
    each |= {"connect_p50_us": connect * wobble(block, 0.001)} if levels["workload"] != "point-select" else {}
    return {**each, "path_cpu_us_per_op": 5.0} if levels["path"] in TUNNELS else each


def test_what_the_study_shows() -> None:
    """Of one tunnel beside TLS with two keys: worth it below (CONNECT_US[key] − 260) / 50 statements."""
    ways = {("direct", "off"), ("direct", "1.3"), ("ssh-aes256-ctr", "off")}
    few = tuple(
        levels
        for levels in BUILT_IN.treatments
        if (levels["path"], levels["tls"]) in ways
        and (levels["instance"], levels["certificate"] == "rsa-1024") == (1, False)
    )
    study = Study.model_validate({**dict(BUILT_IN), "treatments": few, "contrasts": ()})
    golden.check_series("tunnels", planted_series(study, planted), TOPIC)


def test_every_tunnel_stands_against_every_key_of_its_own_server_and_no_routers_tls() -> None:
    series = planted_series(BUILT_IN, planted)
    found = tunnels(series)
    assert {each.tunnel for each in found} == {
        level for level in BUILT_IN.levels_of()["path"] if level in TUNNELS
    }
    beside = {(each.rows[0].baseline["path"], each.rows[0].baseline["certificate"]) for each in found}
    assert beside == {("direct", f"rsa-{bits}") for bits in (1024, 2048, 4096)}
    assert len(found) == 6 * 3 * 3
    rows_of_all = [row for each in found for row in each.rows if not row.outcome.endswith(STATEMENTS)]
    always = [row.model_copy(update={"judgement": "always"}) for row in rows_of_all]
    first, *_ = TOPIC.sentences(run_of(series), always)
    assert first.endswith("in time: in place of any of 3 kinds of TLS always worth it")


def test_a_study_without_tunnels_says_nothing_of_them() -> None:
    assert "tunnels" not in document(fake_run()).topics


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
    text = study_toml(BUILT_IN) + f'\n[[statements]]\nsays = "a"\nsource = "b"\n{wrong}\n'
    with pytest.raises(Exception, match=told):
        parse_study(text, where="mine.toml")
