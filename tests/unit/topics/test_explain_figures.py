"""What an explanation says of two cases, in figures worked out by hand from two blocks of trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fake_samples import sampled_study
from fake_trials import histogram
from sampled_trials import INVALID, measured, profile, run_of, sampled
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.explanation import Explanation
from tlstax.study import Case, Study
from tlstax.study.labels import finding_levels
from tlstax.support.errors import UserMistake
from tlstax.topics.explain.explanation import explain
from told_runs import explained, removals

STUDY = sampled_study(
    {"tls": "off", "fault": "none"},
    {"tls": "off", "fault": "rand-per-byte"},
    {"tls": "off", "fault": "groups-lifted"},
    {"tls": "1.3", "fault": "none"},
    factors={"workload": ["reconnect", "point-select"], "connections": [8]},
)


def case(role: str = "treatment", **levels: str | int) -> Case:
    """A case of the study; a reconnect in plaintext unless told otherwise."""
    usual = {"workload": "reconnect", "connections": 8, "tls": "off", "fault": "none"}
    return Case.model_validate({"role": role, "levels": {**usual, **levels}})


BASE, CONTROL, FAULTY = case("baseline"), case("control"), case(fault="rand-per-byte")
TLS = case(tls="1.3")

WORK = "_start [mysqld];work [mysqld]"
DRAW = "_start [mysqld];draw [libtale.so]"
RANDOM = f"{DRAW};read [libc.so.6];chacha [kernel]"
NETWORK = "_start [mysqld];send [libc.so.6];tcp_sendmsg [kernel]"
NOBODYS = "who [where]"
CLIENT = "main [tlstax-engine]"

PLAIN = {WORK: 900, NETWORK: 50, NOBODYS: 50}
DRAWING = {WORK: 900, NETWORK: 60, RANDOM: 140, NOBODYS: 100}
"""What each stack costs the server: 1000 µs and 1200 µs."""


def trials(
    of: Case, server: Mapping[str, int], client_us: int = 10, blocks: int = 2, **more: Any
) -> list[TrialRecord]:
    """A case measured and sampled in each block, in which it costs exactly this."""
    client = {CLIENT: client_us} if client_us else {}
    rate = more.pop("ops_per_s", 1000.0)
    return [
        record
        for block in range(blocks)
        for record in (
            measured(of, block, sum(server.values()), client_us, ops_per_s=rate, **more),
            sampled(of, block, profile(server, client)),
        )
    ]


def of_two(*records: TrialRecord, study: Study = STUDY) -> Explanation:
    """The planted fault explained, from these records and its own and its baseline's."""
    own = [*trials(FAULTY, DRAWING, ops_per_s=800.0), *trials(BASE, PLAIN)]
    return explain(run_of(*own, *records, study=study), FAULTY)


def samples(found: Explanation) -> dict[str, float | None]:
    return {row.word("side"): row.value for row in found.of("sampled")}


def unattributed(found: Explanation) -> dict[str, float | None]:
    return {row.word("side"): row.number("unattributed_share") for row in found.of("sampled")}


def mistake(run: StoredRun, of: Case, against: Case | None = None) -> tuple[str, str]:
    with pytest.raises(UserMistake) as caught:
        explain(run, of, against)
    return str(caught.value), str(caught.value.remedy)


def test_what_is_compared_and_what_it_costs() -> None:
    found = of_two()
    assert found.run == "20261121-195500-ab12"
    assert (found.whole.case, found.whole.baseline) == (FAULTY.levels, BASE.levels)
    assert found.labels == ("plaintext, rand-per-byte planted", "plaintext, nothing planted")
    assert (found.is_explained, found.whole_is_told, found.is_control) == (True, True, False)
    assert found.operation == "connection"
    assert found.case_us == pytest.approx(1210)
    assert found.baseline_us == pytest.approx(1010)
    assert found.extra.point == pytest.approx(200)
    assert (found.extra.blocks, found.extra.confidence) == (2, 0.95)
    assert found.whole.noise_floor is None
    assert unattributed(found) == pytest.approx({"server": 100 / 1200, "client": 0})
    assert samples(found) == {"server": 2400, "client": 20}


def test_components_are_listed_by_what_they_cost_more() -> None:
    found = of_two()
    assert [
        (part.word("component"), part.word("side"), part.value, part.baseline_value, part.difference.point)
        for part in found.components
    ] == [
        ("kernel random", "server", pytest.approx(140), 0, pytest.approx(140)),
        ("unattributed", "server", pytest.approx(100), pytest.approx(50), pytest.approx(50)),
        ("kernel network", "server", pytest.approx(60), pytest.approx(50), pytest.approx(10)),
        ("sessions", "server", pytest.approx(900), pytest.approx(900), 0),
        ("the client's own work", "client", pytest.approx(10), pytest.approx(10), 0),
    ]
    first = found.components[0]
    assert (first.blocks, first.difference.confidence) == (2, 0.95)
    function, *_ = found.of("function")
    assert function.difference.point == pytest.approx(140)
    assert {**first.more, "function": "read", "library": "libc.so.6", "through": "draw"} == function.more
    less = explain(run_of(*trials(TLS, {WORK: 600, NETWORK: 50}), *trials(BASE, PLAIN), study=STUDY), TLS)
    assert [part.difference.point for part in less.components] == pytest.approx([-300, -50, 0, 0])
    assert (less.components[1].word("component"), less.components[1].value) == ("unattributed", 0)


def test_the_culprit_of_a_clear_extra_causes_half_of_it() -> None:
    culprit = of_two().culprit
    assert culprit is not None
    assert tuple(culprit.more[name] for name in ("function", "component", "side")) == (
        "draw",
        "kernel random",
        "server",
    )
    assert culprit.more["share"] == pytest.approx(0.7)
    first = "140 of the 200 µs of extra CPU per connection (70 %) go into draw (libtale.so)"
    assert of_two().sentences[0].startswith(first)


def test_what_shifted_is_the_mean_of_both_over_the_blocks_that_have_both() -> None:
    phases = {"operation": histogram(100.0, 500), "query": histogram(100.0, 500)}
    own = [*trials(FAULTY, DRAWING, ops_per_s=800.0), *trials(BASE, PLAIN)]
    odd = [
        measured(FAULTY, 2, 1500, ops_per_s=500.0),
        measured(BASE, 2, 1500, server=None, ops_per_s=400.0),
        measured(FAULTY, 3, ops_per_s=9.0),
    ]
    run = run_of(*own, *odd, study=STUDY)
    assert [
        (shift.outcome, shift.unit, shift.value, shift.baseline_value)
        for shift in explain(run, FAULTY).of("shift")
    ] == [
        ("ops_per_s", "1/s", pytest.approx(800 * (0.8**2 * 1.25) ** (1 / 3)), pytest.approx(800)),
        ("server_cpu_us_per_op", "us", pytest.approx(1200), pytest.approx(1000)),
        ("server_cpu_system_percent", "%", pytest.approx(100 * 200 / 1200), pytest.approx(5)),
    ]
    with_latencies = [
        record.model_copy(update={"done": record.done.model_copy(update={"histograms_ns": phases})})
        for record in own
        if record.done is not None
    ]
    (*_, last) = explain(run_of(*with_latencies, study=STUDY), FAULTY).of("shift")
    assert (last.outcome, last.unit) == ("latency_p50_us", "us")
    assert last.value == pytest.approx(100, rel=0.05)


def test_a_server_that_used_no_cpu_time_has_no_part_of_it_in_the_kernel() -> None:
    own = [*trials(FAULTY, {WORK: 0}, 30), *trials(BASE, {WORK: 0})]
    shown = {shift.outcome for shift in explain(run_of(*own, study=STUDY), FAULTY).of("shift")}
    assert shown == {"ops_per_s", "server_cpu_us_per_op"}


def removal(
    of: Case = FAULTY,
    machine: Mapping[str, tuple[int, ...]] | None = None,
    *,
    rate: float = 800.0,
    extra: Mapping[str, int] | None = None,
    **more: Any,
) -> tuple[float | None, float | None]:
    """What removing the culprit was predicted to give, and what it gave; both None where it was not told."""
    stacks = DRAWING if extra is None else {**PLAIN, **extra}
    own = trials(of, stacks, ops_per_s=rate, **more)
    run = run_of(*own, *trials(BASE, PLAIN), study=STUDY)
    changed = run.header.machine.model_copy(update=dict(machine or {}))
    run = run.model_copy(update={"header": run.header.model_copy(update={"machine": changed})})
    found = explain(run, of, BASE)
    assert found.culprit is not None
    return removals(found)


def test_removal_is_predicted_where_the_server_was_busy_and_measured_where_a_fault_was_planted() -> None:
    """Of 1200 µs 140 are the culprit's; 800 a second take 0.96 s of one processor."""
    assert removal() == (pytest.approx(1200 / 1060), pytest.approx(1000 / 800))
    assert removal(TLS) == (pytest.approx(1200 / 1060), None)
    assert removal(case(fault="groups-lifted")) == (pytest.approx(1200 / 1060), None), "no fault"
    assert removal(rate=700.0) == (None, pytest.approx(1000 / 700)), "it was idle for some of the time"
    assert removal(rate=750.0) == (pytest.approx(1200 / 1060), pytest.approx(1000 / 750)), "by 0.9 exactly"
    assert removal(TLS, rate=700.0) == (None, None)


def test_removal_is_not_predicted_of_processors_that_are_shared_or_not_known() -> None:
    measured_alone = (None, pytest.approx(1.25))
    assert removal(machine={"server_cpus": ()}) == measured_alone
    assert removal(machine={"server_cpus": (0,), "client_cpus": (0, 1)}) == measured_alone
    assert removal(machine={"server_cpus": (0, 2)}) == measured_alone, "0.96 of two"
    assert removal(machine={"server_cpus": (0, 2)}, rate=1600.0) == (
        pytest.approx(1200 / 1060),
        pytest.approx(1000 / 1600),
    )


def test_removal_of_the_clients_function_is_not_predicted() -> None:
    ask = f"{CLIENT};ask [libown.so];chacha [kernel]"
    own = [
        record
        for block in (0, 1)
        for record in (
            measured(FAULTY, block, 1000, 210, ops_per_s=950.0),
            sampled(FAULTY, block, profile(PLAIN, {CLIENT: 10, ask: 200})),
        )
    ]
    found = explain(run_of(*own, *trials(BASE, PLAIN), study=STUDY), FAULTY)
    assert found.culprit is not None
    assert found.culprit.more["side"] == "client"
    assert removals(found) == (None, pytest.approx(1000 / 950))


def test_removal_of_all_that_the_server_does_is_not_predicted() -> None:
    def of_sampled(stacks: Mapping[str, int]) -> float | None:
        own = [
            record
            for block in (0, 1)
            for record in (measured(FAULTY, block, 1000), sampled(FAULTY, block, profile(stacks)))
        ]
        found = explain(run_of(*own, *trials(BASE, PLAIN), study=STUDY), FAULTY)
        return removals(found)[0]

    assert of_sampled({RANDOM: 2000}) is None
    assert of_sampled({RANDOM: 1999, WORK: 1}) == pytest.approx(2000), "half a microsecond is left"


def test_of_a_server_out_of_reach_no_removal_is_predicted() -> None:
    ask = f"{CLIENT};ask [libown.so];chacha [kernel]"
    own = [
        record
        for of, client in ((TLS, {CLIENT: 10, ask: 200}), (BASE, {CLIENT: 10}))
        for block in (0, 1)
        for record in (
            measured(of, block, 1000, sum(client.values()), server=None),
            sampled(of, block, profile(None, client)),
        )
    ]
    found = explain(run_of(*own, study=STUDY), TLS)
    assert found.culprit is not None
    assert removals(found) == (None, None)


def test_a_fault_against_another_case_than_its_own_without_it_was_not_measured() -> None:
    own = [*trials(FAULTY, DRAWING, ops_per_s=800.0), *trials(TLS, PLAIN)]
    found = explain(run_of(*own, study=STUDY), FAULTY, TLS)
    assert removals(found)[0] is not None
    assert removals(found)[1] is None


def test_noise_is_that_of_the_control_and_what_is_within_it_is_not_named() -> None:
    """The control strays by 30 µs of network each way: t(1) of 25.45 times that is beyond the extra."""
    straying = [
        record
        for block, us in enumerate((80, 20))
        for record in (
            measured(CONTROL, block, 950 + us),
            sampled(CONTROL, block, profile({**PLAIN, NETWORK: us}, {CLIENT: 10})),
        )
    ]
    found = of_two(*straying)
    assert found.whole.noise_floor == pytest.approx(1141.497, rel=1e-5)
    assert (found.is_explained, found.whole_is_told) == (True, False)
    assert found.culprit is not None
    said = " ".join(found.sentences)
    assert "kernel random on the server +140 µs" in said
    assert "kernel network" not in said
    assert "kernel network on the server +10.0 µs" in " ".join(of_two().sentences)
    control = explain(run_of(*straying, *trials(BASE, PLAIN), study=STUDY), CONTROL)
    assert (control.is_control, control.whole.judgement, control.culprit) == (True, "inconclusive", None)
    assert removals(control) == (None, None)
    assert control.whole.case == finding_levels(CONTROL)


def scattering(*stacks: Mapping[str, int]) -> Explanation:
    """The planted fault explained, which costs this in each block."""
    own = [
        record
        for block, server in enumerate(stacks)
        for record in (measured(FAULTY, block, sum(server.values())), sampled(FAULTY, block, profile(server)))
    ]
    return explain(run_of(*own, *trials(BASE, PLAIN), study=STUDY), FAULTY)


def test_a_part_of_a_clear_whole_needs_no_wider_interval() -> None:
    """400 µs are 40 times their standard error: enough for the whole, too little for one of several parts."""
    found = scattering({**PLAIN, RANDOM: 410}, {**PLAIN, RANDOM: 390})
    assert found.whole_is_told
    assert found.culprit is not None


def test_a_culprit_is_clear_by_itself_even_where_the_whole_may_be_a_saving() -> None:
    found = scattering({**PLAIN, WORK: 700, RANDOM: 140}, {**PLAIN, WORK: 760, RANDOM: 140})
    assert (found.whole_is_told, found.is_explained) == (False, True)
    assert found.culprit is not None
    assert found.extra.point < 0


def test_a_culprit_within_the_noise_of_its_component_is_none() -> None:
    """The control strays by 10 µs each way where the culprit costs 140: an interval of 254 to each side."""
    straying = [
        record
        for block, us in enumerate((20, 0))
        for record in (
            measured(CONTROL, block, 1000 + us),
            sampled(CONTROL, block, profile({**PLAIN, RANDOM: us})),
        )
    ]
    found = of_two(*straying)
    assert (found.culprit, found.whole.judgement) == (None, "inconclusive")


def test_caveats_come_with_it() -> None:
    assert "2 blocks only: the intervals rest on hardly any evidence" in of_two().whole.caveats
    assert "no control was sampled, so that the noise is not known" in of_two().whole.caveats
    assert "20 samples of the client only: small components are not known" in of_two().whole.caveats


def test_cases_of_other_groups_are_named_in_full() -> None:
    other = case("baseline", workload="point-select")
    run = run_of(*trials(FAULTY, DRAWING), *trials(other, PLAIN), study=STUDY)
    found = explain(run, FAULTY, other)
    assert found.labels[0].startswith("plaintext, rand-per-byte planted, ")
    assert "reconnect" in found.labels[0] or "connect" in found.labels[0]
    assert found.labels[0].partition(", rand")[2] != found.labels[1].partition(", nothing")[2]
    assert found.labels[1].startswith("plaintext, nothing planted, ")


def test_the_one_server_of_a_study_goes_without_saying() -> None:
    study = STUDY.model_copy(update={"factors": {**STUDY.factors, "server": ("mysql-9.7",)}})
    own = case(fault="rand-per-byte", server="mysql-9.7")
    other = case("baseline", workload="point-select", server="mysql-9.7")
    found = explain(run_of(*trials(own, DRAWING), *trials(other, PLAIN), study=study), own, other)
    unknown = run_of(*trials(own, DRAWING), study=study)
    for words in (*found.labels, *mistake(unknown, own), *mistake(unknown, other)):
        assert "mysql" not in words


@pytest.mark.parametrize(
    ("workload", "operation"),
    [("reconnect", "connection"), ("storm", "connection"), ("point-select", "query"), ("crud", "operation")],
)
def test_an_operation_is_called_by_its_workload(workload: str, operation: str) -> None:
    own, base = case(workload=workload, tls="1.3"), case("baseline", workload=workload)
    run = run_of(*trials(own, DRAWING), *trials(base, PLAIN), study=STUDY)
    assert explain(run, own, base).operation == operation


def test_why_two_cases_cannot_be_compared_is_said() -> None:
    bare = run_of(measured(FAULTY, 0), measured(BASE, 0), sampled(BASE, 0, None), study=STUDY)
    assert mistake(bare, FAULTY) == (
        "run 20261121-195500-ab12 has no profile: nothing in it was sampled",
        "run it again with --profile",
    )
    run = run_of(*trials(FAULTY, DRAWING), *trials(BASE, PLAIN, blocks=1), study=STUDY)
    words, remedy = mistake(run, BASE)
    assert words.endswith(" is what the others are compared with")
    assert words.startswith("plaintext, nothing planted, ")
    assert remedy == "name another case, or another --against"
    words, remedy = mistake(run, FAULTY)
    assert "were both sampled, in valid trials, in one block alone; it takes 2 to tell a difference" in words
    assert words.endswith(" from scatter")
    assert words.startswith("plaintext, rand-per-byte planted, ")
    assert " and plaintext, nothing planted, " in words
    assert remedy == "give the study a larger --budget"
    words, _ = mistake(run_of(*trials(FAULTY, DRAWING), study=STUDY), FAULTY)
    assert "in no block alone" in words


def test_one_side_sampled_often_enough_will_do() -> None:
    own = [
        record
        for of in (FAULTY, BASE)
        for block in (0, 1)
        for record in (
            measured(of, block, 1000),
            sampled(of, block, profile(None if block else PLAIN, {CLIENT: 10})),
        )
    ]
    found = explain(run_of(*own, study=STUDY), FAULTY)
    assert samples(found) == {"server": 1000, "client": 20}


def test_samples_count_those_of_valid_trials_of_the_case() -> None:
    more = [
        sampled(FAULTY, 2, profile({WORK: 7}), verdict=INVALID),
        sampled(FAULTY, 3, None),
        sampled(FAULTY, 4, profile({WORK: 5})),
        sampled(TLS, 5, profile({WORK: 9})),
    ]
    found = of_two(*more)
    assert samples(found) == {"server": 2405, "client": 20}
    none = [*trials(FAULTY, DRAWING, 0), *trials(BASE, PLAIN, 0)]
    alone = explain(run_of(*none, study=STUDY), FAULTY)
    assert samples(alone) == {"server": 2400}
    assert unattributed(alone) == pytest.approx({"server": 100 / 1200})


def test_without_the_servers_samples_none_of_them_is_unattributed() -> None:
    own = [
        record
        for of, us in ((FAULTY, 40), (BASE, 10))
        for block in (0, 1)
        for record in (measured(of, block, 1000, us), sampled(of, block, profile(None, {CLIENT: us})))
    ]
    found = explain(run_of(*own, study=STUDY), FAULTY)
    assert unattributed(found) == {"client": 0.0}


def test_what_has_no_component_is_told_of_little_cost_as_well() -> None:
    own = [
        record
        for of in (FAULTY, BASE)
        for block in (0, 1)
        for record in (measured(of, block, 1000, 0.5), sampled(of, block, profile(None, {NOBODYS: 1})))
    ]
    assert unattributed(explain(run_of(*own, study=STUDY), FAULTY)) == {"client": 1.0}


def test_all_that_can_be_explained_is_in_the_plans_order() -> None:
    records = [
        *trials(TLS, DRAWING),
        *trials(FAULTY, DRAWING),
        *trials(BASE, PLAIN),
        *trials(CONTROL, PLAIN),
        *trials(case(fault="groups-lifted"), PLAIN, blocks=1),
        *trials(case("baseline", workload="point-select"), PLAIN),
    ]
    told = explained(run_of(*records, study=STUDY))
    assert [each.whole.case for each in told] == [finding_levels(each) for each in (CONTROL, FAULTY, TLS)]
    assert explained(run_of(measured(BASE, 0), measured(FAULTY, 0), study=STUDY)) == ()


def test_a_baseline_is_not_explained_even_if_something_is_planted_in_it() -> None:
    study = STUDY.model_copy(update={"baseline": {"tls": "off", "fault": "rand-per-byte"}})
    planted, plain = case("baseline", fault="rand-per-byte"), case()
    told = explained(run_of(*trials(planted, DRAWING), *trials(plain, PLAIN), study=study))
    assert [each.whole.case for each in told] == [finding_levels(plain)]
