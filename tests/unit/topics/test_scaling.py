"""The Universal Scalability Law of a server: found again where it was planted, by block, and put in words."""

from __future__ import annotations

from math import exp, sqrt
from random import Random

import pytest

import golden
from tlstax.contract import OpenLoop
from tlstax.results.rows import Row, Told
from tlstax.stats.series import Series
from tlstax.study import Case, Level, Study, load_study
from tlstax.study.factors import CaseLevels
from tlstax.topics.core.table import Table
from tlstax.topics.scaling import FEWEST_SIZES, MISFIT, OVER, PEAK, TOPIC, Law, fitted
from told_runs import run_of, shown

SIZES = (1, 2, 4, 8, 16, 32, 64)
PLANTED = Law(single=1000.0, contention=0.05, coherence=0.0004)
WIGGLE = (-0.01, 0.0, 0.01)
STUDY = load_study("pool-or-reconnect")


def laws(series: Series) -> list[tuple[Row, Row, Row]]:
    """The three rows of each law: throughput of one, contention, coherence."""
    rows = TOPIC.told(run_of(series)).rows
    return [(rows[at], rows[at + 1], rows[at + 2]) for at in range(0, len(rows), 3)]


def levels_of(connections: int, **more: Level) -> dict[str, Level]:
    return {"server": "a", "workload": "reconnect", "tls": "1.3", "connections": connections, **more}


def series_of(
    laws: dict[str, Law], *, study: Study = STUDY, without: tuple[int, int] | None = None
) -> Series:
    """Cases by TLS mode, whose throughputs are a law's; all sizes of a block wiggle together."""
    cases, values = {}, {}
    for tls, law in laws.items():
        for size in SIZES:
            levels = levels_of(size, tls=tls)
            cases[CaseLevels.of(levels)] = Case(levels=levels, role="treatment")
            values[CaseLevels.of(levels)] = {
                block: {"ops_per_s": law.at(size) * exp(WIGGLE[block])}
                for block in range(3)
                if (block, size) != without
            }
    return Series(study=study, cases=cases, values=values, controls={})


def test_throughputs_of_a_law_give_it_back() -> None:
    for planted in (PLANTED, Law(7.0, 0.0, 0.0), Law(20_000.0, 0.98, 0.0), Law(50.0, -0.05, 1e-5)):
        found = fitted({size: planted.at(size) for size in SIZES})
        assert found == pytest.approx(planted, abs=1e-9, rel=1e-6)


def test_one_alone_is_the_laws_own_figure_and_many_reach_its_peak() -> None:
    assert PLANTED.at(1) == 1000.0
    assert PLANTED.at(2) == pytest.approx(2000 / (1 + 0.05 + 2 * 0.0004))
    assert PLANTED.peak == pytest.approx(sqrt(0.95 / 0.0004))
    assert max(range(1, 200), key=PLANTED.at) == round(PLANTED.peak or 0)
    assert Law(1.0, 0.1, 0.0).peak is None
    assert Law(1.0, 0.1, -0.001).peak is None
    assert Law(1.0, 1.0, 0.001).peak is None


def test_too_few_sizes_show_no_law() -> None:
    rates = {size: PLANTED.at(size) for size in SIZES}
    assert fitted(dict(list(rates.items())[: FEWEST_SIZES - 1])) is None
    assert fitted(dict(list(rates.items())[:FEWEST_SIZES])) is not None


def test_throughputs_by_which_one_alone_would_do_less_than_nothing_are_no_law() -> None:
    assert fitted({8: 8000.0, 16: 16.0, 32: 16.0, 64: 16.0}) is None


def test_each_size_counts_by_its_relative_error() -> None:
    """A throughput ten times as high is not ten times as important: noise of 1 % leaves 1 % of everything."""
    generator, found = Random(3), []  # noqa: S311 (noise, not a secret)
    for _ in range(200):
        law = fitted({size: PLANTED.at(size) * exp(generator.gauss(0, 0.01)) for size in SIZES})
        assert law is not None
        found.append(law)
    for mean, planted, tolerance in zip(
        (sum(column) / len(found) for column in zip(*found, strict=True)),
        PLANTED,
        (5.0, 0.002, 2e-5),
        strict=True,
    ):
        assert mean == pytest.approx(planted, abs=tolerance)


def test_each_case_has_its_law_and_its_interval_over_blocks() -> None:
    plain, tls = laws(series_of({"off": Law(1000.0, 0.9, 0.0), "1.3": PLANTED}))
    assert (plain[0].label, tls[0].label) == ("a: reconnecting, plaintext", "a: reconnecting, TLS 1.3")
    assert [row.outcome for row in tls] == ["throughput of one", "contention", "coherence"]
    assert [row.unit for row in tls] == ["1/s", "1", "1"]
    for row, planted in zip(tls, PLANTED, strict=True):
        assert row.value == pytest.approx(planted)
        assert (row.blocks, row.more[OVER], row.more["sizes"]) == (3, "connections", SIZES)
        assert row.case == {name: level for name, level in levels_of(1).items() if name != "connections"}
        assert row.number(PEAK) == pytest.approx(PLANTED.peak, rel=1e-6)
        assert row.number(MISFIT) == pytest.approx(0, abs=1e-9)
    assert tls[0].interval is not None
    assert tls[0].interval.half_width == pytest.approx(exp(6.20535 * 0.0057735) - 1, rel=1e-3)
    assert plain[0].more[PEAK] is None


def test_a_block_that_lacks_a_size_has_no_law() -> None:
    ((_, contention, _),) = laws(series_of({"1.3": PLANTED}, without=(1, 8)))
    assert contention.blocks == 2


def test_how_far_a_ladder_is_off_its_law_is_told() -> None:
    series = series_of({"1.3": PLANTED})
    place = CaseLevels.of(levels_of(8))
    bent = {block: {"ops_per_s": 0.8 * one["ops_per_s"]} for block, one in series.values[place].items()}
    ((single, *_),) = laws(Series(STUDY, series.cases, {**series.values, place: bent}, {}))
    assert 0.1 < (single.number(MISFIT) or 0) < 0.2


@pytest.mark.parametrize("sizes", [(1, 2, 3), (8,)])
def test_a_short_ladder_has_none(sizes: tuple[int, ...]) -> None:
    series = series_of({"1.3": PLANTED})
    kept = {at: case for at, case in series.cases.items() if case.levels["connections"] in sizes}
    assert laws(Series(STUDY, kept, series.values, {})) == []


def test_processors_are_a_ladder_too() -> None:
    cases, values = {}, {}
    for size in (1, 2, 4, 8):
        levels = levels_of(64, server_cpus=size)
        cases[CaseLevels.of(levels)] = Case(levels=levels, role="treatment")
        values[CaseLevels.of(levels)] = {block: {"ops_per_s": PLANTED.at(size)} for block in range(3)}
    ((_, contention, _),) = laws(Series(STUDY, cases, values, {}))
    assert (contention.more[OVER], contention.more["sizes"]) == ("server_cpus", (1, 2, 4, 8))
    assert contention.case["connections"] == 64
    assert contention.value == pytest.approx(0.05)


def test_an_open_loop_and_a_storm_have_no_law() -> None:
    study = STUDY.model_copy(update={"schedule": OpenLoop(mode="open", rate_per_s=100.0)})
    assert laws(series_of({"1.3": PLANTED}, study=study)) == []
    series = series_of({"1.3": PLANTED})
    storms = {
        CaseLevels.of({**case.levels, "workload": "storm"}): Case(
            levels={**case.levels, "workload": "storm"}, role="treatment"
        )
        for case in series.cases.values()
    }
    values = {CaseLevels.of({**dict(at), "workload": "storm"}): one for at, one in series.values.items()}
    assert laws(Series(STUDY, storms, values, {})) == []


def test_what_a_ladder_shows() -> None:
    golden.check_series("scaling", series_of({"off": Law(1000.0, 0.9, 0.0), "1.3": PLANTED}), TOPIC)


def test_a_table_has_each_law_with_what_is_not_told_from_nothing_marked() -> None:
    series = series_of({"off": Law(1000.0, 0.9, 0.0), "1.3": PLANTED})
    told = TOPIC.told(run_of(series))
    uncertain = [
        row.model_copy(update={"interval": row.interval.model_copy(update={"low": -0.1})})
        for row in told.rows
        if row.interval is not None
    ]
    for rows, mark in ((told.rows, ""), (tuple(uncertain), "? ")):
        (section,) = shown(TOPIC, Told(title=told.title, rows=rows), series)
        table, _ = section.blocks
        assert isinstance(table, Table)
        assert table.title == "Connections: 1, 2, 4, 8, 16, 32, 64"
        plain, tls = table.lines(roomy=False)
        assert tls[:5] == ["a: reconnecting, TLS 1.3", "1,000", f"{mark}0.05", f"{mark}0.0004", "49"]
        assert tls[5] in {"0 %", "under 0.01 %"}
        assert plain[:3] == ["a: reconnecting, plaintext", "1,000", f"{mark}0.9"]
        assert plain[4] == "–"
        assert table.lines(roomy=True)[1][2].startswith(f"{mark}0.05 [")


def test_each_size_of_processors_and_connections_has_a_table_of_its_own() -> None:
    """Two factors, and two ladders of one: four laws of which none is beside another's sizes."""
    series = series_of({"1.3": PLANTED})
    (own,) = laws(series)
    more = [{}, {"sizes": (1, 2, 4, 8)}, {OVER: "server_cpus"}]
    rows = [row.model_copy(update={"more": {**row.more, **changed}}) for changed in more for row in own]
    (section,) = shown(TOPIC, Told(title=TOPIC.title, rows=tuple(rows)), series)
    assert [block.title for block in section.blocks if isinstance(block, Table)] == [
        "Connections: 1, 2, 4, 8, 16, 32, 64",
        "Connections: 1, 2, 4, 8",
        "Processors of the server: 1, 2, 4, 8, 16, 32, 64",
    ]
