"""How much two processes of one kind differ: floors by hand from planted twins."""

from __future__ import annotations

from math import exp, expm1, sqrt

import pytest

from tlstax.stats.contrasts import Floor, Twins, twins
from tlstax.stats.series import Series
from tlstax.study import Case, Level, load_study
from tlstax.study.factors import CaseLevels

STUDY = load_study("pool-or-reconnect")
OUTCOME = "ops_per_s"
WIGGLE = (-0.01, 0.0, 0.01)
BY_CHANCE = 6.20535 * 0.0057735
"""How far three blocks that wiggle so could stray: t(2) at 97.5 % times their standard error."""


def levels_of(
    instance: int, tls: str, connections: int, server: str = "a", workload: str = "w"
) -> dict[str, Level]:
    return {
        "server": server,
        "instance": instance,
        "tls": tls,
        "certificate": "rsa-2048",
        "workload": workload,
        "connections": connections,
    }


def series_of(logs: dict[tuple[int, str, int], float], **changes: str) -> Series:
    """Cases by instance, TLS and connections, each with the logarithm of its speed; all blocks alike."""
    cases, values = {}, {}
    for (instance, tls, connections), log_speed in logs.items():
        levels = levels_of(instance, tls, connections, **changes)
        role = "baseline" if tls == "off" else "treatment"
        cases[CaseLevels.of(levels)] = Case(levels=levels, role=role)  # type: ignore[arg-type]
        values[CaseLevels.of(levels)] = {block: {OUTCOME: exp(log_speed)} for block in range(3)}
    return Series(study=STUDY, cases=cases, values=values, controls={})


def wiggling(found: Series) -> Series:
    """The same, but the twins' blocks are off by WIGGLE."""
    values = {
        at: {
            block: {OUTCOME: one[OUTCOME] * exp(WIGGLE[block] if dict(at)["instance"] == 2 else 0)}
            for block, one in blocks.items()
        }
        for at, blocks in found.values.items()
    }
    return Series(study=STUDY, cases=found.cases, values=values, controls={})


def together(*parts: Series) -> Series:
    cases = {at: case for part in parts for at, case in part.cases.items()}
    values = {at: blocks for part in parts for at, blocks in part.values.items()}
    return Series(study=STUDY, cases=cases, values=values, controls={})


LADDER = {(1, "1.3", 1): 0.0, (1, "1.3", 8): 0.0, (2, "1.3", 1): 0.03, (2, "1.3", 8): 0.01}


def test_the_floor_is_twice_what_the_twin_strays_over_its_ladder() -> None:
    """3 % on one connection and 1 % on eight are 2 % together, and the floor e^0.04 - 1."""
    floor = twins(series_of(LADDER), OUTCOME).floor(levels_of(1, "1.3", 8))
    assert floor == Floor(pytest.approx(expm1(0.04)), "the twins of a")


def test_of_several_modes_it_is_the_root_of_the_mean_square() -> None:
    modes = {(1, "1.3", 1): 0.0, (2, "1.3", 1): 0.03, (1, "1.0", 1): 0.0, (2, "1.0", 1): -0.04}
    floor = twins(series_of(modes), OUTCOME).floor(levels_of(1, "1.3", 1))
    assert floor.relative == pytest.approx(expm1(2 * sqrt((0.03**2 + 0.04**2) / 2)))


def test_it_is_never_less_than_what_chance_could_do() -> None:
    even = dict.fromkeys(LADDER, 0.0)
    floor = twins(wiggling(series_of(even)), OUTCOME).floor(levels_of(1, "1.3", 8))
    assert floor.relative == pytest.approx(expm1(BY_CHANCE), rel=1e-4)
    strayed = twins(wiggling(series_of(LADDER)), OUTCOME).floor(levels_of(1, "1.3", 8))
    assert strayed.relative == pytest.approx(expm1(0.04))


def test_one_block_strays_by_its_point_alone() -> None:
    whole = series_of(LADDER)
    values = {at: {0: blocks[0]} for at, blocks in whole.values.items()}
    one = Series(study=STUDY, cases=whole.cases, values=values, controls={})
    assert twins(one, OUTCOME).floor(levels_of(1, "1.3", 8)).relative == pytest.approx(expm1(0.04))


def test_to_its_own_baseline_a_processs_luck_cancels() -> None:
    """The twin is 5 % off in plaintext and 7 % under TLS: 2 % against its own baseline, which has none."""
    logs = {(1, "off", 1): 0.0, (2, "off", 1): 0.05, (1, "1.3", 1): 0.0, (2, "1.3", 1): 0.07}
    found = series_of(logs)
    study = found.study.model_copy(update={"baseline": {"tls": "off"}})
    found = Series(study=study, cases=found.cases, values=found.values, controls={})
    own = twins(found, OUTCOME, to_own_baseline=True).floor(levels_of(1, "1.3", 1))
    assert own.relative == pytest.approx(expm1(2 * 0.02))
    both = twins(found, OUTCOME).floor(levels_of(1, "1.3", 1))
    assert both.relative == pytest.approx(expm1(2 * sqrt((0.05**2 + 0.07**2) / 2)))


def test_a_case_that_names_no_workload_has_the_default_ones_floor() -> None:
    found = twins(series_of(LADDER, workload="point-select"), OUTCOME)
    nameless = CaseLevels.of(levels_of(1, "1.3", 8)).without("workload")
    assert found.floor(nameless) == Floor(pytest.approx(expm1(0.04)), "the twins of a")


def test_a_server_without_a_twin_takes_the_largest_floor_of_the_others() -> None:
    quiet = series_of({(1, "1.3", 1): 0.0, (2, "1.3", 1): 0.01})
    noisy = series_of({(1, "1.3", 1): 0.0, (2, "1.3", 1): 0.02}, server="b")
    elsewhere = series_of({(1, "1.3", 1): 0.0, (2, "1.3", 1): 0.09}, server="c", workload="v")
    found = twins(together(quiet, noisy, elsewhere), OUTCOME)
    assert found.floor(levels_of(1, "1.3", 1, server="d")) == Floor(
        pytest.approx(expm1(0.04)), "the twins of a and b"
    )
    assert found.floor(levels_of(1, "1.3", 1)).relative == pytest.approx(expm1(0.02))
    assert found.floor(levels_of(1, "1.3", 1, workload="u")) == Floor(None, "")


def test_a_study_of_one_server_names_no_other() -> None:
    nameless = Twins({(None, "w"): 0.03})
    assert nameless.floor({"workload": "w"}) == Floor(0.03, "the twins")


def test_without_a_second_process_there_is_no_floor() -> None:
    alone = series_of({(1, "1.3", 1): 0.0, (1, "1.3", 8): 0.0})
    assert twins(alone, OUTCOME) == Twins({})
    orphan = series_of({(2, "1.3", 1): 0.5})
    assert twins(orphan, OUTCOME) == Twins({})
    assert twins(series_of(LADDER), "latency_p50_us") == Twins({})
    without = series_of(LADDER)
    study = STUDY.model_copy(update={"contrasts": STUDY.contrasts[1:]})
    assert twins(
        Series(study=study, cases=without.cases, values=without.values, controls={}), OUTCOME
    ) == Twins({})
