"""Costs by component, what each case is explained against, and which two equal cases show the noise."""

from __future__ import annotations

from math import log

import pytest

from fake_samples import sampled_study
from intervals import known
from sampled_trials import measured, profile, run_of, sampled
from tlstax.records.trial import TrialRecord
from tlstax.results.interval import Interval
from tlstax.stats import stats
from tlstax.stats.pooling import Pooling
from tlstax.study import Case
from tlstax.topics.explain.costs import (
    Costs,
    Noise,
    by_component,
    cost_us,
    is_clear,
    mean,
)

SQL, NETWORK = "do_command [mysqld]", "do_command [mysqld];tcp_sendmsg [kernel]"
IN_SQL, IN_NETWORK = ("server", "SQL and storage"), ("server", "kernel network")
CLIENTS = ("client", "the client's own work")

T1 = 25.4517
"""t(1) at 98.75 %: an interval of two blocks with 95 % is this many standard errors wide to each side."""

STUDY = sampled_study(
    {"tls": "off", "fault": "none"},
    {"tls": "1.3", "fault": "none"},
    factors={"workload": ["reconnect", "point-select"], "connections": [1, 8, 64]},
)


def case(role: str = "baseline", **levels: str | int) -> Case:
    """A case with these levels; on one connection that reconnects, in plaintext."""
    usual = {"workload": "reconnect", "connections": 1, "tls": "off", "fault": "none"}
    return Case.model_validate({"role": role, "levels": {**usual, **levels}})


BASE, CONTROL, TLS = case(), case("control"), case("treatment", tls="1.3")


def of_blocks(of: Case, *server_us: float, client_us: float = 10.0) -> list[TrialRecord]:
    """Measured trials, a block each, of what the server needs an operation."""
    return [measured(of, block, us, client_us) for block, us in enumerate(server_us)]


def pair(straying_us: float, baseline_us: float = 100.0, **levels: str | int) -> list[TrialRecord]:
    """A baseline, and its control that costs as much more in block 0 and as much less in block 1."""
    return [
        *of_blocks(case(**levels), baseline_us, baseline_us),
        *of_blocks(case("control", **levels), baseline_us + straying_us, baseline_us - straying_us),
    ]


def test_a_case_is_known_by_its_stacks_on_each_side_and_its_measured_trials() -> None:
    trials = [*of_blocks(BASE, 100, 60), sampled(BASE, 0, profile({SQL: 3, NETWORK: 1}, {"x": 1}))]
    found = Costs(run_of(*trials, study=STUDY)).of(BASE)
    assert found.stacks == {"server": {0: {SQL: 75, NETWORK: 25}}, "client": {0: {"x": 10}}}
    assert found.measured == {0: trials[0], 1: trials[1]}
    assert [cost_us(trial) for trial in found.measured.values()] == [pytest.approx(110), pytest.approx(70)]


def test_the_cost_of_a_trial_is_that_of_the_sides_that_can_be_seen() -> None:
    assert cost_us(measured(BASE, 0, 100, 10)) == pytest.approx(110)
    assert cost_us(measured(BASE, 0, 100, 10, server=None)) == pytest.approx(10)
    assert cost_us(measured(BASE, 0, done=None)) is None


FAULTS = sampled_study(
    {"tls": "off", "fault": "none"},
    {"tls": "1.3", "fault": "none"},
    {"tls": "1.3", "fault": "rand-per-byte"},
    {"tls": "1.3", "fault": "groups-lifted"},
    {"tls": "1.2", "fault": "rand-per-byte"},
    factors={"workload": ["reconnect"], "connections": [1, 8]},
)


@pytest.mark.parametrize(
    ("of", "against"),
    [
        (case("treatment", tls="1.3", connections=8), case(connections=8)),
        (case("treatment", tls="1.3"), case()),
        (case("control", connections=8), case(connections=8)),
        (
            case("treatment", tls="1.3", fault="rand-per-byte", connections=8),
            case("treatment", tls="1.3", connections=8),
        ),
        (case("treatment", tls="1.3", fault="groups-lifted", connections=8), case(connections=8)),
        (case("treatment", tls="1.2", fault="rand-per-byte", connections=8), case(connections=8)),
    ],
    ids=["a treatment", "on one connection", "a control", "a fault", "a variant", "a fault by itself"],
)
def test_what_a_case_is_explained_against(of: Case, against: Case) -> None:
    assert Costs(run_of(study=FAULTS)).baseline_of(of) == against


def test_a_baseline_that_has_a_fault_itself_is_its_controls_all_the_same() -> None:
    study = sampled_study(
        {"tls": "off", "fault": "rand-per-byte"},
        {"tls": "off", "fault": "none"},
        factors={"workload": ["reconnect"], "connections": [1]},
    )
    costs = Costs(run_of(study=study))
    assert costs.baseline_of(case("control", fault="rand-per-byte")) == case(fault="rand-per-byte")


def test_costs_of_the_whole_are_taken_block_by_block_where_both_have_a_result() -> None:
    trials = [
        *(measured(TLS, block, us) for block, us in ((3, 300), (0, 150), (1, 170), (2, 190), (5, 1))),
        *(measured(BASE, block, 100) for block in (0, 3, 4)),
        measured(BASE, 1, done=None),
        measured(BASE, 2, 150, 20),
    ]
    assert Costs(run_of(*trials, study=STUDY)).total_costs(TLS, BASE) == {
        0: (pytest.approx(160), pytest.approx(110)),
        2: (pytest.approx(200), pytest.approx(170)),
        3: (pytest.approx(310), pytest.approx(110)),
    }
    assert Costs(run_of(*trials, study=STUDY)).total_logs(TLS, BASE) == pytest.approx(
        {0: log(160 / 110), 2: log(200 / 170), 3: log(310 / 110)}
    )
    without = [measured(TLS, 0, done=None), measured(BASE, 0), measured(TLS, 1, 101), measured(BASE, 1, 100)]
    assert Costs(run_of(*without, study=STUDY)).total_costs(TLS, BASE).keys() == {1}


def test_differences_by_component_have_a_value_for_each_block_of_the_side() -> None:
    trials = [
        *(measured(of, block, us) for of, us in ((TLS, 200), (BASE, 100)) for block in (0, 1, 2)),
        sampled(TLS, 0, profile({SQL: 1, NETWORK: 1}, {"main [tlstax-engine]": 1})),
        sampled(TLS, 1, profile({SQL: 1})),
        sampled(TLS, 2, profile({NETWORK: 1})),
        sampled(BASE, 0, profile({SQL: 1}, {"main [tlstax-engine]": 1})),
        sampled(BASE, 1, profile({NETWORK: 1})),
    ]
    costs = Costs(run_of(*trials, study=STUDY))
    found = costs.component_differences(TLS, BASE)
    assert found == {
        IN_SQL: pytest.approx({0: 0, 1: 200}),
        IN_NETWORK: pytest.approx({0: 100, 1: -100}),
        CLIENTS: pytest.approx({0: 0}),
    }
    assert costs.component_differences(TLS, BASE) is found, "it is worked out once"
    assert costs.component_differences(BASE, TLS)[IN_SQL] == pytest.approx({0: 0, 1: -200})


def test_noise_is_seen_at_the_nearest_equals() -> None:
    own, near, far = pair(1), pair(2, connections=8), pair(3, workload="point-select")
    assert Costs(run_of(*own, *near, *far, study=STUDY)).gauge(TLS, BASE) == (CONTROL, BASE)
    assert Costs(run_of(*own, *pair(9, connections=8), study=STUDY)).gauge(TLS, BASE) == (CONTROL, BASE)
    at_8 = (case("control", connections=8), case(connections=8))
    assert Costs(run_of(*near, *far, study=STUDY)).gauge(TLS, BASE) == at_8
    one_block = [*of_blocks(BASE, 100), *of_blocks(CONTROL, 101)]
    assert Costs(run_of(*one_block, *near, *far, study=STUDY)).gauge(TLS, BASE) == at_8
    assert Costs(run_of(*one_block, *far, study=STUDY)).gauge(TLS, BASE) is None, "of no other workload"
    assert Costs(run_of(study=STUDY)).gauge(TLS, BASE) is None


@pytest.mark.parametrize(
    ("at_8", "at_64", "noisier"), [(2, 1, 8), (1, 2, 64), (1, 1, 8), (0.01, 0, 8), (0, 0.01, 64)]
)
def test_of_equals_as_near_the_noisier_shows_the_noise(at_8: float, at_64: float, noisier: int) -> None:
    costs = Costs(run_of(*pair(at_8, connections=8), *pair(at_64, connections=64), study=STUDY))
    found = costs.gauge(TLS, BASE)
    assert found == (case("control", connections=noisier), case(connections=noisier))


def test_a_control_has_no_gauge() -> None:
    costs = Costs(run_of(*pair(1), *pair(1, connections=8), study=STUDY))
    assert costs.gauge(CONTROL, BASE) is None
    assert costs.noise(CONTROL, BASE) is None


TWINS = sampled_study(
    {"tls": "off", "instance": 1},
    {"tls": "off", "instance": 2},
    {"tls": "1.3", "instance": 1},
    {"tls": "1.3", "instance": 2},
    factors={"workload": ["reconnect"], "connections": [1]},
)


def twin(instance: int, tls: str = "off", role: str = "treatment") -> Case:
    levels = {"workload": "reconnect", "connections": 1, "tls": tls, "instance": instance}
    return Case.model_validate({"role": role, "levels": levels})


def test_a_twin_shows_the_noise_too_but_not_its_own() -> None:
    base = twin(1, role="baseline")
    plain = [*of_blocks(base, 100, 100), *of_blocks(twin(2), 101, 99)]
    secure = [*of_blocks(twin(1, "1.3"), 200, 200), *of_blocks(twin(2, "1.3"), 205, 195)]
    costs = Costs(run_of(*plain, *secure, study=TWINS))
    assert costs.gauge(twin(1, "1.3"), base) == (twin(2), base), "it shares most with the baseline"
    assert costs.gauge(twin(2), base) == (twin(2, "1.3"), twin(1, "1.3")), "the next best, as it is the case"
    assert Costs(run_of(*plain, study=TWINS)).gauge(twin(2), base) is None
    control = of_blocks(twin(1, role="control"), 150, 50)
    with_control = Costs(run_of(*plain, *control, study=TWINS))
    assert with_control.gauge(twin(1, "1.3"), base) == (twin(1, role="control"), base)
    alone = Costs(run_of(*of_blocks(twin(2), 101, 99), *control, study=TWINS))
    assert alone.gauge(twin(1, "1.3"), base) is None, "a twin is not held against a control"


def test_noise_is_how_far_equals_stray_scaled_to_what_the_baseline_costs() -> None:
    """The gauge costs 100 µs and strays by 4 % each way; the baseline costs twice that."""
    gauge = [
        *of_blocks(case(connections=8), 100, 100, client_us=0),
        *of_blocks(case("control", connections=8), 104, 96, client_us=0),
        *(sampled(case(connections=8), block, profile({SQL: 1, NETWORK: 1})) for block in (0, 1)),
        *(sampled(case("control", connections=8), block, profile({SQL: 1, NETWORK: 1})) for block in (0, 1)),
    ]
    base = [*of_blocks(BASE, 150, 250, 200, client_us=0), measured(BASE, 3, done=None)]
    found = Costs(run_of(*gauge, *base, study=STUDY)).noise(TLS, BASE)
    assert found is not None
    assert found.floor == stats.noise_floor(stats.interval([log(1.04), log(0.96)], STUDY.confidence))
    half = pytest.approx(2 * T1 * 2, rel=1e-5)
    assert found.by_place == {IN_SQL: half, IN_NETWORK: half}


def test_noise_of_blocks_on_several_machines_is_pooled_over_these() -> None:
    straying = (1, 2, 3, 5)
    pair_of = [*of_blocks(BASE, *[100] * 4), *of_blocks(CONTROL, *(100 + us for us in straying))]
    names = ["one", "other", "one", "other"]
    trials = [record.model_copy(update={"machine": names[record.trial.block]}) for record in pair_of]
    logs = {block: log((110 + us) / 110) for block, us in enumerate(straying)}
    apart = Pooling(STUDY.confidence, dict(enumerate(names))).interval(logs)
    found = Costs(run_of(*trials, study=STUDY)).noise(TLS, BASE)
    assert found is not None
    assert found.floor == pytest.approx(stats.noise_floor(apart))
    assert found.floor != pytest.approx(stats.noise_floor(Pooling(STUDY.confidence).interval(logs)))


def test_without_any_straying_the_noise_is_nothing() -> None:
    seen = profile({SQL: 1})
    trials = [
        *pair(0),
        *(sampled(of, block, seen) for of in (BASE, CONTROL) for block in (0, 1)),
    ]
    assert Costs(run_of(*trials, study=STUDY)).noise(TLS, BASE) == Noise(0.0, {IN_SQL: 0.0})
    lone = [*pair(0), *(sampled(of, 0, seen) for of in (BASE, CONTROL))]
    assert Costs(run_of(*lone, study=STUDY)).noise(TLS, BASE) == Noise(0.0, {IN_SQL: 0.0}), "of one block"


def test_noise_of_what_costs_nothing_is_not_known() -> None:
    free = of_blocks(case(connections=8), 0, 0, client_us=0)
    others = of_blocks(case("control", connections=8), 1, 2, client_us=0)
    assert Costs(run_of(*free, *others, *of_blocks(BASE, 10, 10), study=STUDY)).noise(TLS, BASE) is None
    cheap = of_blocks(case(connections=8), 0.5, 0.5, client_us=0)
    told = Costs(run_of(*cheap, *others, *of_blocks(BASE, 10, 10), study=STUDY)).noise(TLS, BASE)
    assert told is not None
    assert told.floor == stats.noise_floor(stats.interval([log(2), log(4)], STUDY.confidence))
    unseen = Costs(run_of(*pair(1, connections=8), study=STUDY)).noise(TLS, BASE)
    assert unseen is not None
    assert unseen.floor > 0, "a share, whatever the baseline costs"


def test_stacks_of_one_component_are_added_up() -> None:
    other = "do_command [mysqld];helper [mysqld]"
    found = by_component({SQL: 1.5, NETWORK: 4.0, other: 2.0, "who [where]": 8.0})
    assert found == {"SQL and storage": 3.5, "kernel network": 4.0, "unattributed": 8.0}


def test_blocks_in_common_are_those_of_the_side_in_their_order() -> None:
    trials = [
        *(measured(of, block) for of in (TLS, BASE) for block in range(4)),
        *(sampled(TLS, block, profile({SQL: 1}, {SQL: 1})) for block in (3, 2, 0)),
        *(sampled(BASE, block, profile({SQL: 1})) for block in (3, 1, 0)),
    ]
    costs = Costs(run_of(*trials, study=STUDY))
    assert list(costs.stacks(TLS, BASE, "server")) == [0, 3]
    assert list(costs.stacks(TLS, BASE, "client")) == []


@pytest.mark.parametrize(
    ("difference", "noise_us", "clear"),
    [
        (known(5, 1, 9, 4), None, True),
        (known(5, -1, 11, 4), None, False),
        (known(5, 1, 9, 4), 4.9, True),
        (known(5, 1, 9, 4), 5, False),
        (known(-5, -9, -1, 4), 4.9, True),
        (known(-5, -9, -1, 4), 5, False),
        (known(5, -1, 11, 4), 4, False),
        (known(5, None, None, 1), None, False),
    ],
)
def test_a_difference_is_clear_of_zero_and_of_the_noise(
    difference: Interval, noise_us: float | None, clear: bool
) -> None:
    assert is_clear(difference, noise_us) is clear


def test_the_mean_is_arithmetic_and_nothing_of_none() -> None:
    assert mean(iter([1.0, 2.0, 6.0])) == 3.0
    assert mean([]) == 0.0


def counterparts(*treatments: dict[str, str | int], **factors: list[str | int]) -> dict[str, str]:
    """What each baseline of a study over these factors is set against: the level of each that differs."""
    own = {"workload": ["reconnect"], "connections": [8], **factors}
    known = Costs(run_of(study=sampled_study(*(treatments or ({"tls": "off"},)), factors=own)))
    said = {}
    for of in (of for of in known.cases if of.role == "baseline"):
        other = known.baseline_of(of)
        named = "/".join(str(of.levels[name]) for name in factors)
        said[named] = ", ".join(f"{n}={v}" for n, v in other.levels.items() if of.levels[n] != v)
        assert other.role == "baseline"
    return said


TLS_TOO = ({"tls": "off"}, {"tls": "1.3"})


def test_baselines_over_other_libraries_are_set_against_the_first() -> None:
    two = {"client_tls_library": ["openssl-3.0", "openssl-3.5"]}
    expected = {"openssl-3.0": "", "openssl-3.5": "client_tls_library=openssl-3.0"}
    assert counterparts(**two) == counterparts(*TLS_TOO, **two) == expected
    both = counterparts(tls_library=["openssl-3.0", "openssl-3.5"], **two)
    assert both["openssl-3.5/openssl-3.5"] == "client_tls_library=openssl-3.0"
    assert both["openssl-3.5/openssl-3.0"] == "tls_library=openssl-3.0"
    assert both["openssl-3.0/openssl-3.0"] == ""


def test_baselines_of_other_kinds_are_set_against_the_first_where_there_are_no_treatments() -> None:
    two = {"server": ["postgresql-17", "postgresql-18"]}
    assert counterparts(**two) == {"postgresql-17": "", "postgresql-18": "server=postgresql-17"}
    assert set(counterparts(*TLS_TOO, **two).values()) == {""}
    assert set(counterparts(workload=["reconnect", "point-select"]).values()) == {""}
    assert set(counterparts(connections=[8, 64]).values()) == {""}
