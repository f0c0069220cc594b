"""Who sits together, how long a slice is, and in which order turns are taken."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tlstax.contract import OpenLoop
from tlstax.plan.order import blocks
from tlstax.plan.sittings import FEWEST_ROUNDS, MOST_IN_ROUND, Sitting, most_held, order, sittings
from tlstax.plan.turns import MOST_CONNECTIONS, STORM_ROUND_S
from tlstax.records.trial import Trial
from tlstax.study import Case, Study
from tlstax.study.workloads.user_defined import UserWorkload


def study(**changed: Any) -> Study:
    terms: dict[str, Any] = {
        "name": "made-up",
        "title": "Made up",
        "question": "What?",
        "factors": {"tls": ("off", "1.2", "1.3"), "workload": ("point-select", "reconnect")},
        "baseline": {"tls": "off"},
        "control_within": {},
    }
    return Study(**(terms | changed))


def first_block(of: Study) -> tuple[Trial, ...]:
    return next(blocks(of, seed=7))


def test_cases_that_are_compared_sit_together_and_each_trial_sits_once() -> None:
    made_up = study()
    block = first_block(made_up)
    found = sittings(made_up, block, window_s=0.3)
    assert [{trial.case.levels.workload for trial in sitting.trials} for sitting in found] in (
        [{"point-select"}, {"reconnect"}],
        [{"reconnect"}, {"point-select"}],
    )
    assert sorted(trial.position for sitting in found for trial in sitting.trials) == list(range(len(block)))
    assert all(sitting.takes_turns and len(sitting.trials) == 4 for sitting in found)
    assert len({sitting.number for sitting in found}) == 2


def test_full_load_counts_where_every_client_reports_it() -> None:
    clients = study(factors={"client": ("engine", "pymysql-1.1")}, baseline={"client": "engine"})
    for made_up, full_load in ((study(), True), (clients, False)):
        found = sittings(made_up, first_block(made_up), window_s=0.3)
        assert {sitting.full_load for sitting in found} == {full_load}


def test_where_machines_share_the_load_whole_slices_count_and_last_as_long_as_they_need() -> None:
    made_up = study()
    alone = {sitting.slice_s for sitting in sittings(made_up, first_block(made_up), window_s=0.3)}
    found = sittings(made_up, first_block(made_up), window_s=0.3, shared_slice_s=0.05)
    assert not any(sitting.full_load for sitting in found)
    kept, reconnecting = sorted(sitting.slice_s for sitting in found)
    assert kept == 0.05
    assert reconnecting >= 0.05
    long = sittings(made_up, first_block(made_up), window_s=0.3, shared_slice_s=7.0)
    assert {sitting.slice_s for sitting in long} == {7.0}
    many = study(factors={"tls": ("off", "1.3"), "workload": ("reconnect",), "connections": (8,)})
    (parts,), (whole,) = (
        sittings(many, first_block(many), window_s=0.3, shared_slice_s=shared_slice_s)
        for shared_slice_s in (None, 0.0)
    )
    assert whole.slice_s > parts.slice_s >= max(alone)


@pytest.mark.parametrize(
    ("changed", "alone"),
    [
        ({"factors": {"tls": ("off", "1.3"), "client": ("engine", "sysbench")}}, {"sysbench"}),
        ({"schedule": OpenLoop(rate_per_s=100), "deciding_outcome": "latency_p99_us"}, {"engine"}),
        ({"factors": {"tls": ("off", "1.3"), "workload": ("delete",)}}, {"engine"}),
        ({"factors": {"tls": ("off", "1.3"), "rtt_ms": (5,)}}, {"engine"}),
        ({"factors": {"tls": ("off", "1.3"), "connections": (MOST_CONNECTIONS,)}}, {"engine"}),
    ],
)
def test_what_cannot_be_changed_in_a_millisecond_has_the_server_to_itself(
    changed: dict[str, Any], alone: set[str]
) -> None:
    made_up = study(**changed)
    found = sittings(made_up, first_block(made_up), window_s=0.3)
    by_itself = [sitting.trials[0].case.levels.client for sitting in found if not sitting.takes_turns]
    assert set(by_itself) == alone


def test_no_two_who_take_turns_share_the_programs_of_a_path() -> None:
    made_up = study(
        factors={"tls": ("off", "1.3"), "path": ("direct", "stunnel", "haproxy")},
        baseline={"tls": "off", "path": "direct"},
    )
    found = sittings(made_up, first_block(made_up), window_s=0.3)
    together, *alone = sorted(found, key=lambda one: -len(one.trials))
    paths = [trial.case.levels.path for trial in together.trials if trial.case.levels.path != "direct"]
    assert sorted(paths) == sorted(set(paths)) != []
    assert all(len(sitting.trials) == 1 for sitting in alone)


def test_trials_that_are_sampled_have_the_server_to_themselves_beside_those_that_take_turns() -> None:
    made_up = study(profile=True)
    found = sittings(made_up, first_block(made_up), window_s=0.3)
    profiled = [sitting for sitting in found if any(trial.profiled for trial in sitting.trials)]
    assert all(len(sitting.trials) == 1 for sitting in profiled)
    assert sum(sitting.takes_turns for sitting in found) == 2


def test_a_sitting_is_as_long_as_its_windows_and_has_rounds_enough_however_short_they_are() -> None:
    made_up = study(factors={"tls": ("off", "1.3"), "connections": (8,)})
    block = first_block(made_up)
    (long,), (short,) = (sittings(made_up, block, window_s) for window_s in (2.0, 0.1))
    assert long.work_s == pytest.approx(2.0, rel=0.01)
    assert short.rounds == FEWEST_ROUNDS


def test_of_a_storm_every_round_is_a_slice_but_the_one_that_is_watched() -> None:
    made_up = study(factors={"tls": ("off", "1.2", "1.3"), "workload": ("storm",), "rounds": (12,)})
    (sitting,) = sittings(made_up, first_block(made_up), window_s=3.0)
    assert sitting.rounds == 11
    assert sitting.watched_s == sitting.slice_s == STORM_ROUND_S
    assert {sitting.slices_of(trial) for trial in sitting.trials} == {11}
    assert sitting.number == min(trial.position for trial in sitting.trials)


def test_storms_take_turns_with_storms_alone() -> None:
    made_up = study(
        factors={"tls": ("off", "1.3"), "workload": ("storm", "reconnect"), "connections": (8,)},
        baseline={"tls": "off", "workload": "reconnect"},
    )
    found = sittings(made_up, first_block(made_up), window_s=0.3)
    workloads = [{trial.case.levels.workload for trial in sitting.trials} for sitting in found]
    assert workloads.count({"storm"}) == 2
    assert all(len(each) == 1 for each in workloads)


def test_who_changes_data_takes_turns_with_those_that_change_it_alike() -> None:
    factors = {"tls": ("off", "1.3"), "workload": ("update", "insert", "point-select"), "connections": (8,)}
    apart = study(factors=factors)
    found = sittings(apart, first_block(apart), window_s=0.3)
    assert all(sitting.takes_turns for sitting in found)
    assert len(found) == 3
    compared = study(factors=factors, baseline={"tls": "off", "workload": "point-select"})
    alone = [sitting for sitting in sittings(compared, first_block(compared), 0.3) if not sitting.takes_turns]
    assert {sitting.trials[0].case.levels.workload for sitting in alone} == {"update", "insert"}


def test_two_are_company_and_one_is_not() -> None:
    made_up = study(factors={"tls": ("off", "1.3"), "connections": (8,)})
    baseline, treatment = (one_of(first_block(made_up), role) for role in ("baseline", "treatment"))
    (together,) = sittings(made_up, [baseline, treatment], window_s=0.3)
    assert together.takes_turns
    assert together.number == min(baseline.position, treatment.position)
    (alone,) = sittings(made_up, [baseline], window_s=0.3)
    assert (alone.takes_turns, alone.slice_s, alone.number) == (False, 0.0, baseline.position)


def test_one_whose_slices_are_named_has_them_alone_where_it_has_no_company() -> None:
    factors = {"tls": ("off", "1.3"), "connections": (8,), "slice_ms": (50,)}
    made_up = study(factors=factors)
    for role in ("baseline", "treatment"):
        trial = one_of(first_block(made_up), role)
        (alone,) = sittings(made_up, [trial], window_s=0.5)
        assert (alone.takes_turns, alone.slice_s, alone.trials) == (True, 0.05, (trial,))
        turns = list(order(alone, seed=7))
        assert turns == [(trial,)] * alone.rounds
        assert alone.slices_of(trial) == alone.rounds >= FEWEST_ROUNDS
        assert alone.work_s == pytest.approx(alone.watched_s + alone.rounds * 0.05)
    many = study(factors={**factors, "connections": (MOST_CONNECTIONS,)})
    found = sittings(many, first_block(many), window_s=0.5)
    assert all(sitting.takes_turns and len(sitting.trials) == 1 for sitting in found)


def test_a_server_is_asked_for_as_many_connections_as_it_has_threads_for_and_no_more() -> None:
    """Four cases, each of whose clients keeps its connections."""
    for connections, together in ((MOST_CONNECTIONS // 4, True), (MOST_CONNECTIONS // 4 + 1, False)):
        made_up = study(factors={"tls": ("off", "1.2", "1.3"), "connections": (connections,)})
        found = sittings(made_up, first_block(made_up), window_s=0.3)
        assert {sitting.takes_turns for sitting in found} == {together}


def test_a_server_must_have_room_for_all_who_take_turns_and_for_the_largest_case() -> None:
    """Four kept cases of eight; of those that reconnect one at a time has its connections."""
    assert most_held(study(factors={"tls": ("off", "1.2", "1.3"), "connections": (8,)}), seed=7) == 32
    reconnecting = {"tls": ("off", "1.3"), "connections": (8,), "workload": ("reconnect",)}
    assert most_held(study(factors=reconnecting), seed=7) == 8
    alone = study(factors={"tls": ("off", "1.3"), "connections": (MOST_CONNECTIONS,)})
    assert most_held(alone, seed=7) == MOST_CONNECTIONS


@pytest.mark.parametrize("before", [{"capture": True}, {"count": "locks"}])
def test_what_goes_before_all_blocks_does_not_hide_who_takes_turns(before: dict[str, Any]) -> None:
    made_up = study(factors={"tls": ("off", "1.2", "1.3"), "connections": (8,)}, **before)
    assert not first_block(made_up)[0].is_measured
    assert most_held(made_up, seed=7) == 32


def test_room_is_made_for_those_who_sit_together_by_the_runs_own_seed() -> None:
    """Of four cases that share the programs of a path one sits: which keeps its connections, or does not."""
    factors = {
        "tls": ("off", "1.3"),
        "path": ("direct", "stunnel"),
        "workload": ("point-select", "reconnect"),
    }
    made_up = study(
        factors={**factors, "connections": (8,)}, baseline={name: of[0] for name, of in factors.items()}
    )
    held = []
    for seed in range(16):
        (together,) = (one for one in sittings(made_up, next(blocks(made_up, seed)), 0.3) if one.takes_turns)
        kept = sum(trial.case.levels.workload == "point-select" for trial in together.trials)
        assert most_held(made_up, seed) == 8 * kept + 8
        held.append(kept)
    assert set(held) == {3, 4}


def test_workloads_that_are_compared_and_only_read_take_turns_for_as_long_as_the_slowest_needs() -> None:
    made_up = study(
        factors={"tls": ("off", "1.3"), "workload": ("point-select", "reconnect"), "connections": (16,)},
        baseline={"tls": "off", "workload": "point-select"},
    )
    (sitting,) = sittings(made_up, first_block(made_up), window_s=1.0)
    assert sitting.slice_s == pytest.approx(16 * 0.0075)
    assert sitting.watched_s == pytest.approx(16 * 0.0075 / 3)
    # Who reconnects is to work for twice as long as others.
    assert sitting.rounds == round((2.0 - sitting.watched_s) / sitting.slice_s)


def test_however_short_a_slice_each_client_is_watched_for_a_while() -> None:
    made_up = study(factors={"tls": ("off", "1.3"), "connections": (8,), "slice_ms": (5,)})
    (sitting,) = sittings(made_up, first_block(made_up), window_s=1.0)
    assert (sitting.slice_s, sitting.watched_s) == (0.005, 0.02)


@pytest.mark.parametrize("seed", range(8))
def test_of_those_who_share_the_programs_of_a_path_the_baseline_sits(seed: int) -> None:
    made_up = study(
        factors={"tls": ("off", "1.3"), "path": ("stunnel", "direct")},
        baseline={"tls": "off", "path": "stunnel"},
    )
    found = sittings(made_up, next(blocks(made_up, seed)), window_s=0.3)
    (together,) = (sitting for sitting in found if sitting.takes_turns)
    assert "baseline" in {trial.case.role for trial in together.trials}


def test_the_workloads_of_a_users_own_have_slices_as_long_as_their_transactions_need() -> None:
    own = UserWorkload.model_validate(
        {
            "name": "mine",
            "transactions": [
                {
                    "bracketed": True,
                    "statements": [{"sql": "UPDATE {table} SET k=1 WHERE id={id}", "repeat": 9}],
                }
            ],
        }
    )
    made_up = study(
        factors={"tls": ("off", "1.3"), "workload": ("mine",), "connections": (8,)}, workloads={"mine": own}
    )
    (sitting,) = sittings(made_up, first_block(made_up), window_s=0.3)
    assert sitting.slice_s == pytest.approx(20 * (9 * 0.0008 + 0.004))


def test_each_round_has_every_case_once_in_fresh_order_and_the_same_for_the_same_seed() -> None:
    made_up = study(factors={"tls": ("off", "1.2", "1.3")})
    (sitting,) = sittings(made_up, first_block(made_up), window_s=5.0)
    rounds = list(order(sitting, seed=1))
    assert len(rounds) == sitting.rounds
    assert all(Counter(at(one)) == Counter(at(sitting.trials)) for one in rounds)
    assert len({at(one) for one in rounds}) == 24  # every order of four
    assert at_all(order(sitting, seed=1)) == at_all(rounds) != at_all(order(sitting, seed=2))
    later = [trial.model_copy(update={"block": trial.block + 1}) for trial in sitting.trials]
    assert at_all(order(replace(sitting, trials=tuple(later)), seed=1)) != at_all(rounds)


@pytest.mark.parametrize(("cases", "parts"), [(2, 1), (6, 1), (7, 2), (11, 2), (12, 3)])
def test_a_round_has_six_slices_at_the_most(cases: int, parts: int) -> None:
    (trial, *_) = first_block(study())
    assert Sitting(0, (trial,) * cases).parts == parts


def test_with_many_cases_every_round_has_the_baseline_and_few_others_and_all_come_as_often() -> None:
    made_up = study(factors={"tls": ("off", "1.3"), "connections": (1,)})
    baseline, treatment = first_block(made_up)[:2]
    if baseline.case.role != "baseline":
        baseline, treatment = treatment, baseline
    many = [
        treatment.model_copy(update={"position": 2 + place, "case": another(treatment.case, place)})
        for place in range(11)
    ]
    sitting = Sitting(0, (baseline, *many), slice_s=0.005, rounds=20, watched_s=0.05)
    rounds = list(order(sitting, seed=1))
    assert len(rounds) == 20 * 3
    assert all(len(one) <= MOST_IN_ROUND and baseline in one for one in rounds)
    assert set(Counter(trial.position for one in rounds for trial in one if trial != baseline).values()) == {
        20
    }
    assert sitting.work_s == pytest.approx(0.05 + 60 * 0.005)
    assert [sitting.slices_of(trial) for trial in (baseline, many[0])] == [60, 20]


def one_of(block: tuple[Trial, ...], role: str) -> Trial:
    return next(trial for trial in block if trial.case.role == role)


def another(case: Case, place: int) -> Case:
    return case.model_copy(update={"levels": case.levels | {"connections": place + 2}})


def at(trials: tuple[Trial, ...]) -> tuple[int, ...]:
    return tuple(trial.position for trial in trials)


def at_all(rounds: Any) -> list[tuple[int, ...]]:
    return [at(one) for one in rounds]
