"""How long trials and blocks take: every estimate by hand from its parts."""

from __future__ import annotations

import pytest

from fake_trials import whole_tax
from tlstax.contract import OpenLoop
from tlstax.plan.order import cases
from tlstax.plan.timing import _shared_out, block_s, counted_s, overhead_s, trial_duration_s, window_s
from tlstax.study import Level, Study, override
from tlstax.study.factors import CaseLevels
from tlstax.study.workloads.user_defined import UserWorkload

TAX = whole_tax()
KEPT = CaseLevels.of({"workload": "point-select", "connections": 8, "tls": "1.3"})
RECONNECT = CaseLevels.of({**KEPT, "workload": "reconnect"})
STORM: dict[str, Level] = {**KEPT, "workload": "storm"}


def away(study: Study) -> Study:
    """The same study at 0 and 500 ms, which are compared with each other."""
    far = override(study, "rtt_ms", ["0", "500"])
    return far.model_copy(update={"baseline": {**far.baseline, "rtt_ms": 0}})


@pytest.mark.parametrize(
    ("levels", "shortest_s", "window"),
    [
        (KEPT, 0.1, 0.1),
        (KEPT, 0.12345, 0.123),
        ({}, 0.1, 0.1),
        (RECONNECT, 0.001, 0.024),
        ({**RECONNECT, "connections": 100}, 0.1, 0.3),
        ({"workload": "reconnect"}, 0.001, 0.003),
        ({**KEPT, "client": "pymysql-1.1"}, 0.1, 0.5),
        ({**RECONNECT, "client": "pymysql-1.1"}, 0.1, 0.5),
        ({**RECONNECT, "client": "pymysql-1.1", "connections": 200}, 0.1, 0.6),
        # Three operations, or ten round trips where those are more.
        ({**KEPT, "rtt_ms": 45}, 0.1, 0.45),
        ({**RECONNECT, "rtt_ms": 45}, 0.1, 3 * 8 * 0.045),
        ({**STORM, "rtt_ms": 45}, 0.1, 3 * 7 * 0.045),
        ({**KEPT, "rtt_ms": 45}, 0.6, 0.6),
        # One window beside slices is long enough for its ends to make no difference.
        ({**KEPT, "slice_ms": 0}, 0.1, 1.0),
        ({**KEPT, "slice_ms": 0}, 1.2, 1.2),
        ({**KEPT, "slice_ms": 1}, 0.1, 0.1),
    ],
)
def test_a_window_is_as_long_as_its_case_needs(
    levels: dict[str, Level], shortest_s: float, window: float
) -> None:
    assert window_s(CaseLevels.of(levels), shortest_s) == pytest.approx(window)


def test_who_reconnects_in_turns_works_twice_as_long() -> None:
    assert window_s(RECONNECT | {"tls": "off"}, 0.3, TAX) == pytest.approx(0.6)
    assert window_s(RECONNECT | {"tls": "off"}, 0.001, TAX) == pytest.approx(0.024)
    assert window_s(KEPT | {"tls": "off"}, 0.3, TAX) == pytest.approx(0.3)
    assert window_s(RECONNECT | {"tls": "off", "client": "sysbench"}, 0.3, TAX) == pytest.approx(0.3)


def test_windows_of_what_is_compared_are_alike() -> None:
    """The longest distance of the group, and whether the study has a driver at all."""
    near = {**cases(TAX)[0].levels, "rtt_ms": 0}
    assert window_s(CaseLevels.of(near), 0.1, away(TAX)) == 5.0
    apart = override(TAX, "rtt_ms", ["0", "45"])
    assert window_s(CaseLevels.of(near), 0.1, apart) == pytest.approx(0.1), (
        "distances that are groups of their own"
    )
    assert window_s(CaseLevels.of({**near, "rtt_ms": 45}), 0.1, apart) == pytest.approx(0.45)
    drivers = override(TAX, "client", ["engine", "pymysql-1.1"])
    assert window_s(KEPT | {"client": "engine"}, 0.1, drivers) == 0.5
    assert window_s(KEPT | {"client": "pymysql-1.1"}, 0.1, TAX) == 0.1
    assert window_s(KEPT | {"rtt_ms": 45}, 0.1, TAX) == pytest.approx(0.45)


@pytest.mark.parametrize(
    ("levels", "seconds"),
    [
        (KEPT, 0.0),
        ({**KEPT, "queries": 1000}, 0.2),
        ({**KEPT, "queries": 1000, "rtt_ms": 40}, 1000 * (0.0002 + 0.04 / 8)),
        ({"workload": "point-select", "queries": 1000, "rtt_ms": 40}, 1000 * (0.0002 + 0.04)),
        ({**RECONNECT, "queries": 1000, "rtt_ms": 40}, 1000 * (0.0002 + 8 * 0.04 / 8)),
        ({**KEPT, "workload": "update", "queries": 1000}, 1000 * 0.0012),
        ({**KEPT, "workload": "words-insert", "queries": 1000}, 1000 * 0.0002),
        ({**KEPT, "workload": "people-select", "queries": 10}, 10 * (0.0002 + 0.008)),
        ({**KEPT, "workload": "people-update", "queries": 10}, 10 * (0.0012 + 0.008)),
        ({**KEPT, "workload": "people-insert", "queries": 10}, 10 * 0.0012),
        (STORM, 80 * 0.0015),
        ({**STORM, "tls": "off"}, 80 * 0.0005),
        ({**STORM, "rtt_ms": 40, "rounds": 3}, 24 * 0.0015 + 3 * 7 * 0.04),
        # A copy more than is counted, each of ten thousand rows and twenty times its way.
        ({"workload": "stream", "queries": 2}, 3 * (0.3 + 0.04)),
        ({"workload": "stream", "queries": 2, "rtt_ms": 40}, 3 * (0.3 + 0.04 + 20 * 0.04)),
    ],
)
def test_so_many_operations_take_their_time(levels: dict[str, Level], seconds: float) -> None:
    rows = TAX.model_copy(update={"rows": 10_000})
    assert counted_s(CaseLevels.of(levels), rows) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("levels", "seconds"),
    [
        (KEPT, 0.047 + 8 * 0.0015),
        ({**KEPT, "tls": "off"}, 0.047 + 8 * 0.0005),
        ({"workload": "point-select"}, 0.047 + 0.0005),
        (RECONNECT, 0.047 + 3 * 8 * 0.0015),
        ({**KEPT, "client": "pymysql-1.1"}, 0.047 + 1.8 + 8 * 0.0015),
        ({**KEPT, "workload": "update"}, 0.047 + 8 * 0.0015 + 0.2 + 0.4),
        ({**KEPT, "rtt_ms": 40}, 0.07 + 8 * 0.0015 + 0.15 + 7 * 0.04),
        ({**RECONNECT, "rtt_ms": 40}, 0.07 + 3 * 8 * 0.0015 + 0.15 + 14 * 0.04),
    ],
)
def test_beside_its_window_a_trial_takes_its_time(levels: dict[str, Level], seconds: float) -> None:
    rows = TAX.model_copy(update={"rows": 10_000})
    assert overhead_s(CaseLevels.of(levels), rows) == pytest.approx(seconds)


def test_data_that_cases_change_in_turn_is_put_back_once_for_all_of_them() -> None:
    own = {"tls": "off", "connections": 8}
    shared, alone = (
        override(TAX.model_copy(update={"rows": 10_000}), "workload", [name]) for name in ("update", "delete")
    )
    kept_s, compared = 8 * 0.0005, len(list(shared.included()))
    assert compared == 4
    assert overhead_s(
        CaseLevels.of({**own, "workload": "update", "resumption": "off"}), shared
    ) == pytest.approx(0.047 + kept_s + 0.6 / 4)
    assert overhead_s(
        CaseLevels.of({**own, "workload": "delete", "resumption": "off"}), alone
    ) == pytest.approx(0.07 + kept_s + 0.6)


def test_who_writes_in_turn_has_time_for_the_fewest_slices() -> None:
    shared, alone = (override(TAX, "workload", [name]) for name in ("insert", "delete"))
    levels = {"tls": "off", "connections": 8, "resumption": "off"}
    assert window_s(CaseLevels.of({**levels, "workload": "insert"}), 0.1, shared) == pytest.approx(
        6 * 20 * (0.0008 + 0.004)
    )
    assert window_s(CaseLevels.of({**levels, "workload": "insert"}), 2.0, shared) == 2.0
    assert window_s(CaseLevels.of({**levels, "workload": "delete"}), 0.1, alone) == 0.1


def test_a_users_own_statements_that_write_have_time_for_the_fewest_slices_too() -> None:
    """Nine updates of each of eight connections, and a commit."""
    statements = [{"sql": "UPDATE {table} SET k=1 WHERE id={id}", "repeat": 9}]
    own = UserWorkload.model_validate(
        {"name": "mine", "transactions": [{"bracketed": True, "statements": statements}]}
    )
    study = TAX.model_copy(update={"workloads": {"mine": own}})
    levels: dict[str, Level] = {"tls": "off", "connections": 8, "resumption": "off", "workload": "mine"}
    assert window_s(CaseLevels.of(levels), 0.1, study) == pytest.approx(
        6 * 20 * (9 * 0.0008 + 0.004), abs=1e-3
    )


def test_without_the_study_nothing_is_put_back() -> None:
    assert overhead_s(KEPT | {"workload": "update"}) == pytest.approx(0.07 + 8 * 0.0015)


OF_KEPT = 2 * (0.047 + 8 * 0.0005) + 3 * (0.047 + 8 * 0.0015)
OF_RECONNECT = 2 * (0.047 + 24 * 0.0005) + 3 * (0.047 + 24 * 0.0015)
"""What the two groups of the tax study take beside their windows: baseline, control and three treatments."""
OVERHEAD_S = OF_KEPT + OF_RECONNECT
PROFILED = TAX.model_copy(update={"profile": True})
WITH_STORMS = override(TAX, "workload", ["point-select", "storm"])
STORMS_S = 2 * 80 * 0.0005 + 3 * 80 * 0.0015


def budgeted(study: Study, seconds: float) -> float:
    return trial_duration_s(study.model_copy(update={"budget_s": seconds}), cases(study))


@pytest.mark.parametrize(
    ("study", "budget_s", "duration_s"),
    [
        (TAX, 60.0, (60 / 16 - OVERHEAD_S) / 15),
        (TAX, 1.0, 0.1),
        (TAX, 1e6, 0.4),
        (override(TAX, "client", ["sysbench"]), 1e6, 10.0),
        (PROFILED, 180.0, (180 / 16 - 2 * OVERHEAD_S - 0.5 * 10) / 2.5 / 15),
        (WITH_STORMS, 36.0, (36 / 16 - 2 * OF_KEPT - STORMS_S) / 5),
        (override(TAX, "workload", ["storm"]), 1e6, 0.1),
    ],
)
def test_twenty_blocks_fit_the_budget_and_sixteen_of_turns(
    study: Study, budget_s: float, duration_s: float
) -> None:
    assert budgeted(study, budget_s) == pytest.approx(duration_s, abs=1e-3)


def test_trials_are_as_short_as_turns_ask_for_where_most_take_turns() -> None:
    both = override(TAX, "client", ["engine", "sysbench"]).model_copy(update={"budget_s": 1e6})
    turns = [case for case in cases(both) if case.levels.client == "engine"]
    alone = [case for case in cases(both) if case.levels.client == "sysbench"]
    assert trial_duration_s(both, [*turns[:3], *alone[:2]]) == 0.4
    assert trial_duration_s(both, [*turns[:3], *alone[:3]]) == 10.0


def test_a_duration_is_in_whole_milliseconds() -> None:
    assert budgeted(TAX, 60.0) == 0.206


@pytest.mark.parametrize(
    ("room_s", "least", "each_s"),
    [
        (1.0, [0.1, 0.5, 0.1], 0.25),
        (3.0, [0.1, 0.5, 0.1], 1.0),
        (1.5, [0.1, 0.5, 0.1], 0.5),
        (1.3, [0.6, 0.5, 0.1], 0.2),
        (1.0, [0.6, 0.5, 0.1], 0.0),
        (-1.0, [0.0], 0.0),
        (0.5, [0.5], 0.5),
    ],
)
def test_windows_that_need_more_leave_less_to_the_others(
    room_s: float, least: list[float], each_s: float
) -> None:
    assert _shared_out(room_s, [(seconds, 1) for seconds in least]) == pytest.approx(each_s)


@pytest.mark.parametrize(
    ("room_s", "shortest_s"), [(3.0, 0.75), (1.6, 0.4), (1.0, 0.1), (0.9, 0.05), (0.5, 0.0)]
)
def test_who_is_to_last_longer_gets_so_many_shares(room_s: float, shortest_s: float) -> None:
    """Two shares beside one and one, of which the first lasts at least 0.8 s."""
    assert _shared_out(room_s, [(0.0, 1), (0.8, 2), (0.0, 1)]) == pytest.approx(shortest_s)


def test_who_lasts_longest_for_each_of_its_shares_is_served_first() -> None:
    """0.5 s at least for one share leave 0.8 s to the two shares of the other, which needs only 0.6 s."""
    assert _shared_out(1.3, [(0.6, 2), (0.5, 1)]) == pytest.approx(0.4)


def test_a_block_has_the_windows_and_what_is_beside_them() -> None:
    assert block_s(TAX, cases(TAX), 0.2) == pytest.approx(15 * 0.2 + OVERHEAD_S)
    assert block_s(PROFILED, cases(TAX), 0.2) == pytest.approx(2 * (3.0 + OVERHEAD_S) + 0.5 * 10 + 0.5 * 3.0)
    assert block_s(WITH_STORMS, cases(WITH_STORMS), 0.2) == pytest.approx(5 * 0.2 + STORMS_S + 2 * OF_KEPT)


def mine(*, queries: int | None = None) -> Study:
    """Five statements of a user's own, which change data, half a second away, by the engine and a driver."""
    change = {"sql": "UPDATE {table} SET c = 1", "parameters": {}}
    own = UserWorkload.model_validate({"name": "mine", "transactions": [{"statements": [change] * 5}]})
    study = TAX.model_copy(update={"workloads": {"mine": own}, "rows": 10_000})
    factors = {"workload": ["mine"], "rtt_ms": ["500"], "client": ["engine", "pymysql-1.1"]}
    for name, levels in {**factors, **({"queries": [str(queries)]} if queries else {})}.items():
        study = override(study, name, levels)
    return study


def test_a_users_own_statements_each_take_their_round_trip() -> None:
    levels: dict[str, Level] = {"workload": "mine", "connections": 8, "tls": "off", "rtt_ms": 500}
    assert window_s(CaseLevels.of(levels), 0.1, mine()) == 3 * 5 * 0.5
    assert overhead_s(CaseLevels.of(levels), mine()) == pytest.approx(
        0.07 + 8 * 0.0005 + 0.2 + 0.4 + 0.15 + 11 * 0.5
    )
    counted = counted_s(CaseLevels.of({**levels, "queries": 100}), mine())
    assert counted == pytest.approx(100 * (0.0002 + 5 * 0.5 / 8 + 0.001))


def test_a_block_of_such_a_study_has_its_windows_and_what_is_beside_them() -> None:
    study = mine()
    of_all = cases(study)
    beside_s = sum(overhead_s(case.levels, study) for case in of_all)
    assert block_s(study, of_all, 0.2) == pytest.approx(len(of_all) * 7.5 + beside_s)
    budget_s = 20 * (beside_s + len(of_all) * 8.0)
    long = study.model_copy(update={"budget_s": budget_s})
    assert trial_duration_s(long, of_all) == pytest.approx(8.0)
    short = study.model_copy(update={"budget_s": 20 * (beside_s + len(of_all) * 7.0)})
    assert trial_duration_s(short, of_all) == 0.1, "no window can be as short as that"


def test_a_block_of_so_many_operations_has_their_time() -> None:
    study = mine(queries=100)
    of_all = cases(study)
    beside_s = sum(overhead_s(case.levels, study) for case in of_all)
    each_s = 100 * (0.0002 + 5 * 0.5 / 8 + 0.001)
    assert block_s(study, of_all, 0.2) == pytest.approx(len(of_all) * each_s + beside_s)


def test_what_is_counted_leaves_less_to_the_others() -> None:
    """Cases of a users own workload that are counted, beside plain ones that are timed."""
    study = mine()
    timed = [case for case in cases(study) if case.levels["client"] == "engine"]
    counted = [case.model_copy(update={"levels": case.levels | {"queries": 10}}) for case in timed]
    each_s = 10 * (0.0002 + 5 * 0.5 / 8 + 0.001)
    beside_s = 2 * sum(overhead_s(case.levels, study) for case in timed)
    room_s = beside_s + len(timed) * (each_s + 9.0)
    long = study.model_copy(update={"budget_s": 20 * room_s})
    assert trial_duration_s(long, [*timed, *counted]) == pytest.approx(9.0)


ANEW = TAX.model_copy(update={"new_processes": True})
EACH_ANEW = TAX.model_copy(update={"new_processes": "trial"})
ALONE_S = OVERHEAD_S + 10 * (0.07 - 0.047)
"""What the same trials take beside their windows where none takes turns."""


def test_new_processes_take_two_seconds_of_a_block_or_of_each_trial() -> None:
    """Ten trials on one server, or on two."""
    assert block_s(ANEW, cases(ANEW), 0.2) == pytest.approx(15 * 0.2 + OVERHEAD_S + 2.0)
    assert block_s(EACH_ANEW, cases(EACH_ANEW), 0.5) == pytest.approx(10 * 0.5 + ALONE_S + 10 * 2.0)
    of_two = override(ANEW, "server", ["mysql-9.7", "mariadb-11.8"])
    own = TAX.model_copy(update={"factors": of_two.factors})
    both = cases(of_two)
    assert block_s(of_two, both, 0.2) == pytest.approx(block_s(own, both, 0.2) + 4.0)


@pytest.mark.parametrize(("server", "started"), [(None, 10), ("mysql-9.7", 10), ("root@db:3306", 0)])
def test_an_external_server_goes_on_as_it_is(server: str | None, started: int) -> None:
    named = {} if server is None else {"server": server}
    there = [case.model_copy(update={"levels": case.levels | named}) for case in cases(EACH_ANEW)]
    assert block_s(EACH_ANEW, there, 0.5) == pytest.approx(10 * 0.5 + ALONE_S + 2.0 * started)


def test_a_profiled_trial_of_a_process_of_its_own_waits_for_one_as_well() -> None:
    for study, windows_s, beside_s, starts in ((ANEW, 7.5, OVERHEAD_S, 1), (EACH_ANEW, 5.0, ALONE_S, 20)):
        profiled = study.model_copy(update={"profile": True})
        assert block_s(profiled, cases(profiled), 0.5) == pytest.approx(
            2 * (windows_s + beside_s) + 0.5 * 10 + 0.5 * windows_s + 2.0 * starts
        )


def test_a_process_that_nobody_has_used_is_measured_for_half_a_second_at_the_least() -> None:
    plain: CaseLevels = KEPT | {"tls": "off"}
    assert window_s(plain, 0.1, EACH_ANEW) == 0.5
    assert window_s(plain, 0.7, EACH_ANEW) == 0.7
    assert window_s(plain, 0.1, ANEW) == 0.1
    assert window_s(RECONNECT | {"connections": 400, "tls": "off"}, 0.1, EACH_ANEW) == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("study", "longest_s"),
    [
        (ANEW, 1.0),
        (EACH_ANEW, 1.0),
        (override(ANEW, "client", ["sysbench"]), 10.0),
        (EACH_ANEW.model_copy(update={"schedule": OpenLoop(rate_per_s=100)}), 10.0),
    ],
)
def test_where_processes_are_new_trials_last_a_second_of_any_budget(study: Study, longest_s: float) -> None:
    assert budgeted(study, 1e6) == longest_s


def test_of_a_budget_for_fewer_blocks_each_has_more() -> None:
    few = TAX.model_copy(update={"maximum_blocks": 10})
    assert budgeted(few, 30.0) == pytest.approx((30 / 10 - OVERHEAD_S) / 15, abs=1e-3)
    many = TAX.model_copy(update={"maximum_blocks": 50})
    assert budgeted(many, 60.0) == budgeted(TAX, 60.0)
