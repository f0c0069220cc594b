"""A plan has every case once in each block, in an order that is random, repeatable and fair."""

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trials import whole_tax
from tlstax.plan.order import blocks, captures, cases, plan
from tlstax.plan.timing import SHORTEST_S, WANTED_BLOCKS_IN_TURNS, overhead_s, window_s
from tlstax.study import Exclusion, Level, Study, load_study, override
from tlstax.study.factors import CaseLevels


@st.composite
def studies(draw: st.DrawFn) -> Study:
    """Studies of up to three factors and some bundles, with a baseline among their levels."""
    names = draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1))
    factors = {name: tuple(range(draw(st.integers(1, 3)))) for name in names}
    servers = draw(st.integers(0, 3))
    treatments = tuple({"server": f"s{i}", "library": f"l{i}"} for i in range(servers))
    baseline: dict[str, int | str] = {names[0]: 0}
    if servers and draw(st.booleans()):
        baseline = {"server": "s0", "library": "l0"}
    return Study(name="s", title="", question="", factors=factors, treatments=treatments, baseline=baseline)


def test_the_tax_study_resumes_only_where_connections_are_made() -> None:
    found = [(case.levels["workload"], case.role) for case in cases(load_study("tax"))]
    kept = ["baseline", "control", "treatment", "treatment"]
    made = [*kept, "treatment"]
    assert found == [("point-select", role) for role in kept] + [("reconnect", role) for role in made]


@given(studies())
def test_every_group_has_one_baseline_one_control_and_its_treatments(study: Study) -> None:
    groups: dict[str, list[str]] = {}
    for case in cases(study):
        groups.setdefault(str(study.group_of(case.levels)), []).append(case.role)
    for roles in groups.values():
        assert roles[:2] == ["baseline", "control"]
        assert set(roles[2:]) <= {"treatment"}
    assert len({case.key() for case in cases(study)}) == len(cases(study))
    assert len(cases(study)) == len(list(study.product())) + len(groups)


@given(studies(), st.integers(0, 2**64))
def test_a_block_has_every_case_exactly_once(study: Study, seed: int) -> None:
    for number, block in enumerate(islice(blocks(study, seed), 5)):
        assert Counter(t.case.key() for t in block) == Counter(case.key() for case in cases(study))
        assert [trial.position for trial in block] == list(range(len(block)))
        assert {trial.block for trial in block} == {number}


@given(studies(), st.integers(0, 2**64))
def test_the_same_seed_gives_the_same_order(study: Study, seed: int) -> None:
    assert list(islice(blocks(study, seed), 4)) == list(islice(blocks(study, seed), 4))


def test_orders_differ_between_blocks_and_seeds() -> None:
    study = whole_tax()
    orders = {
        tuple(trial.case.key() for trial in block)
        for seed in range(20)
        for block in islice(blocks(study, seed), 20)
    }
    assert len(orders) == 400


def test_the_order_of_a_seed_is_the_same_on_every_machine_and_python() -> None:
    """The first order of seed 7, written down once: a stored seed must always give back its plan."""
    known = cases(whole_tax())
    first = next(blocks(whole_tax(), 7))
    assert [known.index(trial.case) for trial in first] == [8, 6, 3, 1, 0, 5, 9, 7, 4, 2]


def test_positions_are_balanced_over_many_blocks() -> None:
    """Each of 10 cases is 200 times in each of 10 places, within 5 standard deviations of chance."""
    places: Counter[tuple[str, int]] = Counter()
    for block in islice(blocks(whole_tax(), 1), 2000):
        places.update((trial.case.key(), trial.position) for trial in block)
    assert len(places) == 100
    deviation = (2000 * 0.1 * 0.9) ** 0.5
    assert all(abs(times - 200) < 5 * deviation for times in places.values())


@given(st.integers(0, 2**32), st.sets(st.tuples(st.integers(0, 3), st.integers(0, 9))))
def test_a_resumed_run_does_what_is_left_in_the_order_it_had(seed: int, done: set[tuple[int, int]]) -> None:
    study = whole_tax()
    whole = [trial for block in islice(blocks(study, seed), 6) for trial in block]
    left = [trial for trial in whole if (trial.block, trial.position) not in done]
    resumed = [trial for block in islice(blocks(study, seed, done), 6) for trial in block]
    assert resumed[: len(left)] == left
    assert all(block for block in islice(blocks(study, seed, done), 6))


def test_a_plan_says_what_is_left_out_and_why() -> None:
    kept = Exclusion(levels={"workload": "point-select", "resumption": "on"}, why="nothing reconnects")
    study = Study.model_validate({**dict(whole_tax()), "exclude": (kept,)})
    summary = plan(study)
    assert [(excluded.case["tls"], excluded.why) for excluded in summary.excluded] == [
        ("1.3", "nothing reconnects")
    ]
    assert len(summary.cases) == 9
    assert summary.trials == 9 * summary.blocks


def test_a_plan_fits_its_budget_and_says_so() -> None:
    summary = plan(whole_tax())
    assert WANTED_BLOCKS_IN_TURNS - 1 <= summary.blocks <= WANTED_BLOCKS_IN_TURNS
    assert summary.blocks * summary.block_s <= 60
    assert summary.estimated_s == pytest.approx(summary.starting_s + summary.blocks * summary.block_s)
    assert (summary.servers, summary.specimens) == (("the default server",), ())


def test_a_study_that_is_too_big_for_its_budget_is_planned_with_one_block() -> None:
    summary = plan(load_study("openssl-versions").model_copy(update={"budget_s": 10.0}))
    assert summary.blocks == 1
    assert summary.block_s > 10
    assert summary.trial_duration_s == SHORTEST_S


def test_many_connections_that_reconnect_are_given_the_time_and_counted_with_it() -> None:
    levels: dict[str, Level] = {"workload": "reconnect", "connections": 256, "tls": "1.3"}
    few = {**levels, "connections": 1}
    assert (
        window_s(CaseLevels.of(levels), 0.1)
        == window_s(CaseLevels.of({**levels, "tls": "off"}), 0.1)
        > window_s(CaseLevels.of(few), 0.1)
        == 0.1
    )
    assert window_s(CaseLevels.of({**levels, "workload": "point-select"}), 0.1) == 0.1
    assert (
        overhead_s(CaseLevels.of(levels))
        > overhead_s(CaseLevels.of({**levels, "tls": "off"}))
        > overhead_s(CaseLevels.of(few))
    )


def test_the_study_of_openssl_versions_starts_each_server_once() -> None:
    summary = plan(load_study("openssl-versions"))
    assert len(summary.servers) == len(set(summary.servers)) == 25
    assert "mariadb-11.8 over openssl-3.0, a second one" in summary.servers
    assert "mariadb-11.4-wolfssl" in summary.servers
    assert {"mysql-8.0.33", "openssl-1.1.1l", "openssl-3.5.5"} <= set(summary.specimens)
    assert "own" not in summary.specimens


def test_controls_are_where_the_study_wants_them() -> None:
    study = load_study("openssl-versions")
    controls = [case for case in cases(study) if case.role == "control"]
    assert {case.levels["connections"] for case in controls} == {8, 16}
    assert len(controls) == 25 * 2 * 2


def test_where_no_group_is_among_the_wanted_ones_all_have_a_control() -> None:
    study = override(load_study("openssl-versions"), "connections", ["1", "64"])
    roles = Counter(case.role for case in cases(study))
    assert roles["control"] == roles["baseline"] > 0


def test_data_that_is_put_back_and_operations_that_are_counted_take_their_time() -> None:
    tax = whole_tax()
    reading, writing = override(tax, "workload", ["select-range"]), override(tax, "workload", ["update"])
    assert plan(writing).block_s > plan(reading).block_s
    few, many = (override(reading, "queries", [str(queries)]) for queries in (1_000, 100_000))
    assert plan(many).block_s > 10 * plan(few).block_s
    assert plan(many).blocks < plan(few).blocks


def test_a_plans_figures_are_those_of_its_parts() -> None:
    """Five windows of 0.206 s, five of 0.412 s and 0.646 s beside them, and seven seconds for the server."""
    tax = whole_tax()
    found = plan(tax)
    assert found.study == "tax"
    assert (found.trial_duration_s, found.block_s) == (0.206, pytest.approx(3.736))
    assert (found.blocks, found.trials, found.profiled, found.captured) == (16, 160, 0, 0)
    assert (found.starting_s, found.estimated_s) == (7.0, pytest.approx(7 + 16 * 3.736))
    assert plan(load_study("auth-rng")).starting_s == 6 * 7.0
    profiled = plan(tax.model_copy(update={"profile": True, "budget_s": 480.0}))
    assert (profiled.trials, profiled.profiled) == (profiled.blocks * 20, profiled.blocks * 10)
    assert plan(tax.model_copy(update={"capture": True})).captured == 8, "none of the two controls"


def test_what_a_study_names_must_be_there_each_once() -> None:
    assert plan(load_study("auth-rng")).specimens == (
        "mysql-9.7",
        "mysql-8.0.33",
        "mysql-5.6.14",
        "mysql-5.5.34",
        "openssl-3.5.5",
        "openssl-3.0",
        "rand-per-byte",
    )
    clients = override(whole_tax(), "client", ["engine", "sysbench"])
    assert plan(clients).specimens == ("sysbench",)


def test_a_profiled_block_has_every_case_twice_once_sampled() -> None:
    study = whole_tax().model_copy(update={"profile": True})
    known = cases(study)
    for block in islice(blocks(study, 7), 3):
        assert Counter((t.case.key(), t.profiled) for t in block) == Counter(
            (case.key(), profiled) for case in known for profiled in (False, True)
        )
        assert not any(trial.captured for trial in block)


def test_captured_trials_come_before_all_blocks() -> None:
    study = whole_tax().model_copy(update={"capture": True})
    first, second, third = islice(blocks(study, 7), 3)
    assert first == captures(study)
    assert [(trial.block, trial.position) for trial in first] == [(-1, place) for place in range(8)]
    assert [trial.case for trial in first] == [case for case in cases(study) if case.role != "control"]
    assert {(trial.captured, trial.profiled) for trial in first} == {(True, False)}
    assert ({trial.block for trial in second}, {trial.block for trial in third}) == ({0}, {1})
    left = next(blocks(study, 7, {(-1, 0), (-1, 7)}))
    assert [trial.position for trial in left] == list(range(1, 7))
    done = {(-1, place) for place in range(8)}
    assert next(blocks(study, 7, done)) == second


def test_where_a_tap_cannot_stand_nothing_is_captured() -> None:
    study = whole_tax().model_copy(update={"capture": True})
    assert captures(override(study, "rtt_ms", ["0", "45"])) == ()
    assert captures(whole_tax()) == ()
    paths = override(study, "path", ["direct", "unix-socket"])
    assert {trial.case.levels["path"] for trial in captures(paths)} == {"direct"}
    assert [trial.position for trial in captures(paths)] == list(range(len(captures(paths))))


def test_groups_are_in_the_order_of_their_factors_whatever_stands_first_in_them() -> None:
    """The baseline leads its group also where it is not the first of its levels."""
    study = Study(
        name="s",
        title="",
        question="",
        factors={"workload": ("a", "b"), "tls": ("1.3", "off")},
        baseline={"tls": "off"},
        control_within={"workload": "b"},
    )
    assert [(case.levels["workload"], case.levels["tls"], case.role) for case in cases(study)] == [
        ("a", "off", "baseline"),
        ("a", "1.3", "treatment"),
        ("b", "off", "baseline"),
        ("b", "off", "control"),
        ("b", "1.3", "treatment"),
    ]
