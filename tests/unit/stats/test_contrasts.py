"""Cases that differ in one factor, alone and pooled over connections, and what floors they are judged by."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import exp, expm1, sqrt

import pytest

from fake_openssl_study import GAIN, openssl_run, openssl_study, small_openssl_run
from intervals import known
from planted_series import HALF_OF_WIGGLE, series_of, steady, wiggling
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.stats.contrasts import (
    CONTRASTED,
    Floor,
    Twins,
    contrasts,
    counterpart,
    group_counterpart,
    nearest,
    pooled_ratios,
    twins,
)
from tlstax.stats.series import Series
from tlstax.study import Case, Contrast, Level, load_study
from tlstax.study.factors import CaseLevels
from tlstax.topics.answer.document import document

BY_KEY = Contrast(factor="certificate", baseline="rsa-2048", within={"workload": "reconnect"})
TWIN = Contrast(factor="instance", baseline=1)
STUDY = load_study("pool-or-reconnect").model_copy(update={"contrasts": (TWIN, BY_KEY)})


def levels_of(certificate: str, *, instance: int = 1, workload: str = "reconnect") -> CaseLevels:
    return CaseLevels.of(
        {
            "server": "a",
            "instance": instance,
            "tls": "1.3",
            "certificate": certificate,
            "workload": workload,
            "connections": 8,
        }
    )


BASE, LONGER = levels_of("rsa-2048"), levels_of("rsa-4096")
SECOND = levels_of("rsa-2048", instance=2)


STEADY = {**steady(1000.0), 3: 9.0}


def of_keys(*speeds: tuple[CaseLevels, dict[int, float]]) -> Row:
    (found,) = [each for each in contrasts(series_of(STUDY, speeds)) if each.word("factor") == "certificate"]
    return found


def test_a_contrast_is_the_ratio_in_the_blocks_that_both_have() -> None:
    found = of_keys((BASE, STEADY), (LONGER, wiggling(500.0)))
    assert (found.role, found.word("factor")) == ("contrast", "certificate")
    assert (found.outcome, found.unit) == ("ops_per_s", "1/s")
    assert (found.case, found.baseline) == (LONGER, BASE)
    assert (found.value, found.baseline_value) == pytest.approx((500.0, 1000.0))
    ratio = found.ratio
    assert ratio.point == pytest.approx(0.5)
    assert (ratio.low, ratio.high) == pytest.approx(
        (0.5 * exp(-HALF_OF_WIGGLE), 0.5 * exp(HALF_OF_WIGGLE)), rel=1e-5
    )
    assert (ratio.blocks, ratio.confidence) == (3, 0.95)
    assert (found.noise_floor, found.word("noise_from"), found.judgement) == (None, "", "lower")


def test_it_is_judged_by_the_twins() -> None:
    """The twin is 25 % off, and so twice that in the floor: half as fast is less than that."""
    twin = steady(1250.0)
    found = of_keys((BASE, STEADY), (LONGER, wiggling(700.0)), (SECOND, twin))
    assert found.noise_floor == pytest.approx(1.25**2 - 1)
    assert found.word("noise_from") == "the twins of a"
    assert found.judgement == "inconclusive"
    assert of_keys((BASE, STEADY), (LONGER, wiggling(500.0)), (SECOND, twin)).judgement == "lower"


def test_twins_are_contrasts_themselves() -> None:
    (found,) = contrasts(series_of(STUDY, [(BASE, STEADY), (SECOND, wiggling(1010.0))]))
    assert (found.word("factor"), found.case, found.baseline) == ("instance", SECOND, BASE)
    assert found.ratio.point == pytest.approx(1.01)
    assert found.noise_floor == pytest.approx(max(1.01**2 - 1, expm1(HALF_OF_WIGGLE)), rel=1e-4)


def test_every_outcome_worth_it_is_contrasted_in_order() -> None:
    speeds = [(BASE, STEADY), (LONGER, wiggling(500.0))]
    both = series_of(STUDY, speeds)
    values = {
        at: {block: dict.fromkeys(["server_rss_bytes", *reversed(CONTRASTED)], 5.0) for block in blocks}
        for at, blocks in both.values.items()
    }
    found = list(contrasts(Series(study=STUDY, cases=both.cases, values=values, controls={})))
    assert [each.outcome for each in found] == list(CONTRASTED)
    assert {each.judgement for each in found} == {"alike"}
    assert {each.outcome: each.unit for each in found}["server_cpu_us_per_op"] == "us"


def test_without_a_block_in_common_nothing_is_said() -> None:
    assert list(contrasts(series_of(STUDY, [(BASE, {0: 5.0}), (LONGER, {1: 5.0})]))) == []


def test_a_study_without_contrasts_has_none() -> None:
    study = STUDY.model_copy(update={"contrasts": ()})
    assert list(contrasts(series_of(study, [(BASE, STEADY), (LONGER, STEADY)]))) == []


def test_which_case_another_is_contrasted_with() -> None:
    both = series_of(STUDY, [(BASE, STEADY), (LONGER, STEADY)])
    assert counterpart(both, BY_KEY, LONGER) == BASE
    assert counterpart(both, BY_KEY, BASE) is None, "the baseline itself"
    assert counterpart(both, BY_KEY, LONGER.without("certificate")) is None
    assert counterpart(both, BY_KEY, levels_of("rsa-4096", workload="point-select")) is None
    assert counterpart(both, BY_KEY, levels_of("rsa-4096", instance=2)) is None, "its counterpart is not run"


LADDERED = load_study("pool-or-reconnect").model_copy(
    update={
        "baseline": {"tls": "off"},
        "contrasts": (Contrast(factor="instance", baseline=1), Contrast(factor="certificate", baseline="c1")),
    }
)


def step(tls: str, connections: int, **more: Level) -> dict[str, Level]:
    plain: dict[str, Level] = {"server": "a", "workload": "w", "certificate": "c1", "instance": 1}
    return {**plain, "tls": tls, "connections": connections, **more}


Logs = list[tuple[dict[str, Level], float]]
"""The logarithm of each case's speed."""


def ladders(logs: Logs, controls: Logs | None = None) -> Series:
    """All but plaintext wiggle. Controls do not."""
    speeds = [
        (levels, (steady if levels["tls"] == "off" else wiggling)(exp(log_speed)))
        for levels, log_speed in logs
    ]
    again = [(levels, steady(exp(log_speed))) for levels, log_speed in controls or []]
    return series_of(LADDERED, speeds, controls=again)


PLAIN: Logs = [(step("off", 1), 0.0), (step("off", 8), 1.0)]
TLS: Logs = [(step("1.3", 1), -0.3), (step("1.3", 8), 0.9)]
"""A third slower on one connection and a tenth on eight: e^-0.2 together."""


def only(rows: Iterable[Row]) -> Row:
    (row,) = rows
    return row


def test_a_ladder_is_pooled_against_its_own_baseline() -> None:
    found = only(pooled_ratios(ladders([*PLAIN, *TLS])))
    assert (found.word("factor"), found.outcome, found.unit, found.more["pooled_connections"]) == (
        "",
        "ops_per_s",
        "1/s",
        (1, 8),
    )
    assert (found.role, found.case) == ("pooled", CaseLevels.of(TLS[0][0]).without("connections"))
    assert found.baseline == CaseLevels.of(PLAIN[0][0]).without("connections")
    ratio = found.ratio
    assert ratio.point == pytest.approx(exp(-0.2))
    assert (ratio.low, ratio.high) == pytest.approx(
        (exp(-0.2 - HALF_OF_WIGGLE), exp(-0.2 + HALF_OF_WIGGLE)), rel=1e-5
    )
    assert (ratio.blocks, ratio.confidence) == (3, 0.95)
    assert (found.noise_floor, found.word("noise_from"), found.judgement) == (None, "", "lower")


def test_it_is_judged_by_all_controls_under_its_workload_pooled() -> None:
    """One control strays up by 30 %, another down by 10 %, on other servers: e^0.1 together."""
    controls = [(step("off", 1), 0.3), (step("off", 8), 0.9)]
    found = only(pooled_ratios(ladders([*PLAIN, *TLS], controls)))
    assert (found.noise_floor, found.word("noise_from")) == (pytest.approx(expm1(0.1)), "the controls")
    assert found.judgement == "lower"
    loud = [(step("off", 1), 0.3), (step("off", 8), 1.3)]
    louder = only(pooled_ratios(ladders([*PLAIN, *TLS], loud)))
    assert (louder.noise_floor, louder.judgement) == (pytest.approx(expm1(0.3)), "inconclusive")
    elsewhere = [(step("off", 1, workload="v"), 0.0)]
    own = ladders([*PLAIN, *TLS, *elsewhere], [(step("off", 1, workload="v"), 0.3)])
    assert only(pooled_ratios(own)).noise_floor is None


def test_along_a_contrast_it_is_judged_by_the_twins() -> None:
    other = [(step("1.3", 1, certificate="c2"), 0.0), (step("1.3", 8, certificate="c2"), 1.2)]
    twin = [(step("1.3", 1, instance=2), -0.2), (step("1.3", 8, instance=2), 1.0)]
    found = {each.word("factor"): each for each in pooled_ratios(ladders([*TLS, *other, *twin]))}
    assert set(found) == {"instance", "certificate"}
    contrast = found["certificate"]
    assert contrast.ratio.point == pytest.approx(exp(0.3))
    assert (contrast.case["certificate"], contrast.baseline["certificate"]) == ("c2", "c1")
    assert (contrast.noise_floor, contrast.word("noise_from")) == (
        pytest.approx(expm1(0.2)),
        "the twins of a",
    )
    assert contrast.judgement == "higher"
    assert found["instance"].ratio.point == pytest.approx(exp(0.1))
    assert found["instance"].judgement == "inconclusive"


def test_only_steps_that_both_have_are_contrasted() -> None:
    other = [(step("1.3", 8, certificate="c2"), 1.2), (step("1.3", 64, certificate="c2"), 1.2)]
    found = only(pooled_ratios(ladders([*TLS, *other])))
    assert (found.more["pooled_connections"], found.ratio.point) == ((8,), pytest.approx(exp(0.3)))


def test_a_study_of_one_number_of_connections_is_a_ladder_of_one_step() -> None:
    nameless = [(CaseLevels.of(levels).without("connections"), log) for levels, log in (PLAIN[0], TLS[0])]
    assert only(pooled_ratios(ladders(nameless))).more["pooled_connections"] == (1,)


def test_every_outcome_has_its_ladders_and_what_was_not_measured_none() -> None:
    both = ladders([*PLAIN, *TLS])
    values = {at: {b: dict.fromkeys(CONTRASTED, 5.0) for b in range(3)} for at in both.values}
    found = pooled_ratios(Series(study=LADDERED, cases=both.cases, values=values, controls={}))
    assert [each.outcome for each in found] == list(CONTRASTED)
    nothing = Series(study=LADDERED, cases=both.cases, values={}, controls={})
    assert list(pooled_ratios(nothing)) == []


def test_the_baseline_is_no_ladder_of_its_own_where_it_has_no_other_factor() -> None:
    found = only(pooled_ratios(ladders([({"tls": "off"}, 0.0), ({"tls": "1.3"}, -0.3)])))
    assert (found.case, found.baseline) == ({"tls": "1.3"}, {"tls": "off"})


TWINNED = load_study("pool-or-reconnect")
OUTCOME = "ops_per_s"


def process(
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


def processes(
    logs: dict[tuple[int, str, int], float], *, twins_wiggle: bool = False, **changes: str
) -> Series:
    """Cases by instance, TLS and connections, each with the logarithm of its speed."""
    speeds = (
        (
            process(*place, **changes),
            (wiggling if twins_wiggle and place[0] == 2 else steady)(exp(log_speed)),
        )
        for place, log_speed in logs.items()
    )
    return series_of(TWINNED, speeds)


def together(*parts: Series) -> Series:
    cases = {at: case for part in parts for at, case in part.cases.items()}
    values = {at: blocks for part in parts for at, blocks in part.values.items()}
    return Series(study=TWINNED, cases=cases, values=values, controls={})


TWIN_LADDER = {(1, "1.3", 1): 0.0, (1, "1.3", 8): 0.0, (2, "1.3", 1): 0.03, (2, "1.3", 8): 0.01}


def test_the_floor_is_twice_what_the_twin_strays_over_its_ladder() -> None:
    """3 % on one connection and 1 % on eight are 2 % together, and the floor e^0.04 - 1."""
    floor = twins(processes(TWIN_LADDER), OUTCOME).floor(process(1, "1.3", 8))
    assert floor == Floor(pytest.approx(expm1(0.04)), "the twins of a")


def test_of_several_modes_it_is_the_root_of_the_mean_square() -> None:
    modes = {(1, "1.3", 1): 0.0, (2, "1.3", 1): 0.03, (1, "1.0", 1): 0.0, (2, "1.0", 1): -0.04}
    floor = twins(processes(modes), OUTCOME).floor(process(1, "1.3", 1))
    assert floor.relative == pytest.approx(expm1(2 * sqrt((0.03**2 + 0.04**2) / 2)))


def test_it_is_never_less_than_what_chance_could_do() -> None:
    even = dict.fromkeys(TWIN_LADDER, 0.0)
    floor = twins(processes(even, twins_wiggle=True), OUTCOME).floor(process(1, "1.3", 8))
    assert floor.relative == pytest.approx(expm1(HALF_OF_WIGGLE), rel=1e-4)
    strayed = twins(processes(TWIN_LADDER, twins_wiggle=True), OUTCOME).floor(process(1, "1.3", 8))
    assert strayed.relative == pytest.approx(expm1(0.04))


def test_one_block_strays_by_its_point_alone() -> None:
    whole = processes(TWIN_LADDER)
    values = {at: {0: blocks[0]} for at, blocks in whole.values.items()}
    one = Series(study=TWINNED, cases=whole.cases, values=values, controls={})
    assert twins(one, OUTCOME).floor(process(1, "1.3", 8)).relative == pytest.approx(expm1(0.04))


def test_to_its_own_baseline_a_processs_luck_cancels() -> None:
    """The twin is 5 % off in plaintext and 7 % under TLS: 2 % against its own baseline, which has none."""
    logs = {(1, "off", 1): 0.0, (2, "off", 1): 0.05, (1, "1.3", 1): 0.0, (2, "1.3", 1): 0.07}
    found = processes(logs)
    study = found.study.model_copy(update={"baseline": {"tls": "off"}})
    found = Series(study=study, cases=found.cases, values=found.values, controls={})
    own = twins(found, OUTCOME, to_own_baseline=True).floor(process(1, "1.3", 1))
    assert own.relative == pytest.approx(expm1(2 * 0.02))
    both = twins(found, OUTCOME).floor(process(1, "1.3", 1))
    assert both.relative == pytest.approx(expm1(2 * sqrt((0.05**2 + 0.07**2) / 2)))


def test_a_case_that_names_no_workload_has_the_default_ones_floor() -> None:
    found = twins(processes(TWIN_LADDER, workload="point-select"), OUTCOME)
    nameless = CaseLevels.of(process(1, "1.3", 8)).without("workload")
    assert found.floor(nameless) == Floor(pytest.approx(expm1(0.04)), "the twins of a")


def test_a_server_without_a_twin_takes_the_largest_floor_of_the_others() -> None:
    quiet = processes({(1, "1.3", 1): 0.0, (2, "1.3", 1): 0.01})
    noisy = processes({(1, "1.3", 1): 0.0, (2, "1.3", 1): 0.02}, server="b")
    elsewhere = processes({(1, "1.3", 1): 0.0, (2, "1.3", 1): 0.09}, server="c", workload="v")
    found = twins(together(quiet, noisy, elsewhere), OUTCOME)
    assert found.floor(process(1, "1.3", 1, server="d")) == Floor(
        pytest.approx(expm1(0.04)), "the twins of a and b"
    )
    assert found.floor(process(1, "1.3", 1)).relative == pytest.approx(expm1(0.02))
    assert found.floor(process(1, "1.3", 1, workload="u")) == Floor(None, "")


def test_a_study_of_one_server_names_no_other() -> None:
    nameless = Twins({(None, "w"): 0.03})
    assert nameless.floor({"workload": "w"}) == Floor(0.03, "the twins")


def test_without_a_second_process_there_is_no_floor() -> None:
    alone = processes({(1, "1.3", 1): 0.0, (1, "1.3", 8): 0.0})
    assert twins(alone, OUTCOME) == Twins({})
    orphan = processes({(2, "1.3", 1): 0.5})
    assert twins(orphan, OUTCOME) == Twins({})
    assert twins(processes(TWIN_LADDER), "latency_p50_us") == Twins({})
    without = processes(TWIN_LADDER)
    study = TWINNED.model_copy(update={"contrasts": TWINNED.contrasts[1:]})
    assert twins(
        Series(study=study, cases=without.cases, values=without.values, controls={}), OUTCOME
    ) == Twins({})


OWN = CaseLevels.of({"workload": "reconnect", "server": "mysql-9.7", "connections": 8})


def known_to(half_width: float) -> Interval:
    return known(1.0, exp(-half_width), exp(half_width), 8)


ONE_BLOCK = known(1.0, None, None, 1)


def with_levels(**levels: str | int) -> CaseLevels:
    return OWN | levels


def test_its_own_control_is_the_nearest_however_small_its_floor() -> None:
    own, other = known_to(0.001), known_to(0.1)
    assert nearest(OWN, {with_levels(connections=64): other, OWN: own}) is own


def test_another_that_shares_as_much_and_has_more_does_not_take_its_place() -> None:
    own, other = known_to(0.001), known_to(0.1)
    assert nearest(OWN, {with_levels(tls_library="openssl-3.5.5"): other, OWN: own}) is own


def test_of_two_alike_the_first_will_do() -> None:
    first, second = known(1.0, 0.98, 1 / 0.98, 8), known(1.001, 0.98, 1 / 0.98, 8)
    assert nearest(OWN, {with_levels(connections=1): first, with_levels(connections=64): second}) is first


def test_then_the_one_that_shares_most_levels() -> None:
    close, far = known_to(0.01), known_to(0.1)
    controls = {with_levels(connections=64): close, with_levels(connections=64, server="mariadb-11.8"): far}
    assert nearest(OWN, controls) is close
    assert nearest(OWN, dict(reversed(controls.items()))) is close


def test_of_several_as_near_the_one_with_the_largest_floor() -> None:
    quiet, noisy = known_to(0.01), known_to(0.02)
    controls = {with_levels(connections=1): quiet, with_levels(connections=64): noisy}
    assert nearest(OWN, controls) is noisy
    assert nearest(OWN, dict(reversed(controls.items()))) is noisy


def test_a_control_of_one_block_has_no_floor_and_stands_behind_one_that_has() -> None:
    quiet = known_to(0.01)
    controls = {with_levels(connections=1): quiet, with_levels(connections=64): ONE_BLOCK}
    assert nearest(OWN, controls) is quiet
    assert nearest(OWN, dict(reversed(controls.items()))) is quiet
    assert nearest(OWN, {with_levels(connections=64): ONE_BLOCK}) is ONE_BLOCK


def test_no_floor_is_carried_from_one_workload_to_another() -> None:
    elsewhere = {with_levels(workload="point-select"): known_to(0.01)}
    assert nearest(OWN, elsewhere) is None
    assert nearest(OWN, {}) is None
    far = known_to(0.02)
    assert nearest(OWN, {**elsewhere, with_levels(server="mariadb-11.8", connections=64): far}) is far


def test_a_study_of_one_workload_needs_none_named() -> None:
    floor = known_to(0.01)
    assert nearest(CaseLevels.of({"server": "mysql-9.7"}), {with_levels(): floor}) is floor


PLANTED = ("reconnect", "1.3", "off")
"""The workload, version and resumption in which the newer library gains."""


@cache
def shown() -> RunDocument:
    return document(small_openssl_run())


def mode(levels: dict[str, str | int]) -> tuple[str | int, ...]:
    return levels["workload"], levels["tls"], levels["resumption"]


def pooled_of(document: RunDocument) -> tuple[Row, ...]:
    """Ratios of the rate that are pooled over connections."""
    return document.rows_of("contrasts", "ops_per_s", role="pooled")


def test_a_planted_gain_is_found_where_it_is_and_nowhere_else() -> None:
    found = [f for f in pooled_of(shown()) if f.word("factor") == "tls_library"]
    higher = {
        (f.case["server"], f.case["tls_library"], *mode(f.case)) for f in found if f.judgement == "higher"
    }
    assert higher == {(server, "openssl-3.5.5", *PLANTED) for server in ("mysql-9.7", "mariadb-11.8")}
    assert not [f for f in found if f.judgement == "lower"]
    for f in found:
        if f.judgement == "higher":
            assert f.ratio.low is not None
            assert f.ratio.high is not None
            assert f.ratio.low < GAIN < f.ratio.high
            assert f.more["pooled_connections"] == (2, 8, 64)
            assert f.word("noise_from") == f"the twins of {f.case['server']}"


def test_the_same_is_found_in_single_cells_and_on_both_sides_of_cost() -> None:
    singles = [
        f for f in shown().rows_of("contrasts", role="contrast") if f.case["tls_library"] == "openssl-3.5.5"
    ]
    planted = [f for f in singles if mode(f.case) == PLANTED]
    assert {f.judgement for f in planted if f.outcome == "ops_per_s"} == {"higher"}
    assert {f.judgement for f in planted if f.outcome == "server_cpu_us_per_op"} == {"lower"}
    assert all({**f.case, "tls_library": "openssl-3.0"} == f.baseline for f in singles)


def test_a_difference_as_large_as_the_twins_is_none() -> None:
    """A gain of a hundredth that the twin shows too, without noise, so that every interval is narrow."""
    study = openssl_study(connections=(2, 8), tls_library=("openssl-3.0", "openssl-3.3", "own"))
    run = openssl_run(study, blocks=3, noise=0.0)
    faster = [
        record
        if record.trial.case.levels["tls_library"] != "openssl-3.3" or record.done is None
        else record.model_copy(
            update={"done": record.done.model_copy(update={"elapsed_s": record.done.elapsed_s / 1.01})}
        )
        for record in run.trials
    ]
    found = document(run.model_copy(update={"trials": tuple(faster)}))
    contrasts = [f for f in pooled_of(found) if f.word("factor") == "tls_library"]
    assert contrasts
    for f in contrasts:
        assert f.ratio.point == pytest.approx(1.01, rel=1e-3)
        assert f.noise_floor == pytest.approx(0.02, rel=0.1)
        assert f.judgement == "alike"


def test_groups_without_a_control_take_over_the_floor_of_the_nearest_that_has_one() -> None:
    run = small_openssl_run()
    only_at_8 = [
        r for r in run.trials if r.trial.case.role != "control" or r.trial.case.levels["connections"] == 8
    ]
    found = document(run.model_copy(update={"trials": tuple(only_at_8)}))
    floors = {
        (f.case["connections"], f.noise_floor)
        for f in found.findings
        if f.outcome == "ops_per_s"
        and f.case["server"] == "mysql-9.7"
        and f.case["tls_library"] == "openssl-3.6"
        and f.case["workload"] == "reconnect"
    }
    assert len({floor for _, floor in floors}) == 1
    assert {connections for connections, _ in floors} == {2, 8, 64}
    assert None not in {floor for _, floor in floors}


def test_the_floor_of_a_ladder_comes_from_all_controls_of_its_workload() -> None:
    own = [f for f in pooled_of(shown()) if not f.word("factor")]
    assert {f.word("noise_from") for f in own} == {"the controls"}
    floors = {(f.case["workload"], f.noise_floor) for f in own}
    assert {workload for workload, _ in floors} == {"point-select", "reconnect"}
    assert len(floors) == 2
    assert all(floor is not None and floor < 0.02 for _, floor in floors)


OF_GROUPS = {
    "workload": ("point-select", "reconnect"),
    "connections": (1, 8),
    "server": ("a", "b"),
    "tls_library": ("old", "new"),
    "client_tls_library": ("own", "other"),
}
FIRST: dict[str, Level] = {name: levels[0] for name, levels in OF_GROUPS.items()}


def group(role: str = "baseline", **levels: Level) -> Case:
    return Case.model_validate({"levels": {**FIRST, **levels}, "role": role})


BASELINES = (
    group(),
    *(group(**{name: levels[1]}) for name, levels in OF_GROUPS.items()),
    group(tls_library="new", client_tls_library="other"),
)
TREATMENT = group("treatment", tls="1.3")


@pytest.mark.parametrize(
    ("levels", "with_treatments", "without"),
    [
        ({}, {}, {}),
        ({"tls_library": "new"}, {}, {}),
        ({"client_tls_library": "other"}, {}, {}),
        # The client's library comes first of the two.
        (
            {"tls_library": "new", "client_tls_library": "other"},
            {"tls_library": "new"},
            {"tls_library": "new"},
        ),
        ({"server": "b"}, {"server": "b"}, {}),
        # Trials of another workload scatter otherwise, and of another number of connections.
        ({"workload": "reconnect"}, {"workload": "reconnect"}, {"workload": "reconnect"}),
        ({"connections": 8}, {"connections": 8}, {"connections": 8}),
        ({"server": "b", "tls_library": "new"}, {"server": "b"}, {"server": "b"}),
        # None differs in one library alone, but one in the server.
        (
            {"server": "b", "tls_library": "new", "client_tls_library": "other"},
            {"server": "b", "tls_library": "new", "client_tls_library": "other"},
            {"tls_library": "new", "client_tls_library": "other"},
        ),
    ],
)
def test_baselines_of_groups_are_set_against_those_over_the_first_library(
    levels: dict[str, Level], with_treatments: dict[str, Level], without: dict[str, Level]
) -> None:
    study = STUDY.model_copy(update={"factors": OF_GROUPS})
    own = group(**levels)
    control = group("control", server="a", tls_library="new", workload="reconnect")
    assert group_counterpart(own, (*BASELINES, control, TREATMENT), study) == group(**with_treatments)
    assert group_counterpart(own, iter((*BASELINES, control)), study) == group(**without)


def test_only_a_baseline_is_set_against_another() -> None:
    study = STUDY.model_copy(update={"factors": OF_GROUPS})
    new = group(tls_library="new")
    assert group_counterpart(new, (group("control"), new), study) == new
    assert group_counterpart(new, (new, group()), STUDY.model_copy(update={"factors": {}})) == new
