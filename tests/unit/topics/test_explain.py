"""Where extra cost goes: by hand from two blocks of trials; planted costs are found, planted nothings not."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import pytest

import fake_samples
import golden
from fake_samples import (
    LOGIN,
    MALLOC,
    QUERY,
    ROOT,
    SOCKET,
    Costs,
    Stacks,
    planted,
    sampled_run,
    sampled_study,
    without,
)
from fake_trials import histogram
from intervals import known
from sampled_trials import INVALID, measured, profile, run_of, sampled
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.explanation import Explanation
from tlstax.results.rows import Row
from tlstax.study import Case, Study
from tlstax.study.labels import CONTROL_MARK, finding_levels
from tlstax.support.errors import UserMistake
from tlstax.topics.answer.document import document
from tlstax.topics.explain.explanation import by_rank, explain
from tlstax.topics.explain.sections import TOPIC
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


def test_few_samples_are_said_to_be_few_and_lost_ones_are_counted() -> None:
    def of_client(samples: int) -> tuple[str, ...]:
        own = [
            record
            for of, work in ((FAULTY, DRAWING), (BASE, PLAIN))
            for block in range(2)
            for record in (
                measured(of, block, sum(work.values()), 10),
                sampled(of, block, profile(work, {CLIENT: samples // 2 + samples % 2 * block}, lost=block)),
            )
        ]
        return explain(run_of(*own, study=STUDY), FAULTY).whole.caveats

    assert "499 samples of the client only: small components are not known" in of_client(499)
    assert not any("samples of the client only" in said for said in of_client(500))
    assert "perf dropped 2 samples" in of_client(500)


@pytest.mark.parametrize(
    ("other", "differ"),
    [
        ({"server": "mysql-9.7", "tls_library": "openssl-3.5"}, False),
        ({"server": "mysql-8.4", "tls_library": "openssl-3.5"}, True),
        ({"server": "mysql-9.7", "tls_library": "openssl-3.0"}, True),
    ],
    ids=["the same", "another server", "another library"],
)
def test_programs_with_other_names_for_their_functions_are_told_of(
    other: Mapping[str, str], *, differ: bool
) -> None:
    own, beside = case(tls="1.3", server="mysql-9.7", tls_library="openssl-3.5"), case("baseline", **other)
    found = explain(run_of(*trials(own, DRAWING), *trials(beside, PLAIN), study=STUDY), own, beside)
    caveats = found.whole.caveats
    assert any(said.startswith("the two run different programs: ") for said in caveats) is differ


def test_an_inconclusive_whole_says_how_many_blocks_would_tell() -> None:
    for of_blocks, needed in (((895, 905), 14), ((900, 904), 4)):
        found = scattering(*({**PLAIN, WORK: us} for us in of_blocks))
        assert (found.whole.judgement, found.whole.number("blocks_needed")) == ("inconclusive", needed)
    assert of_two().whole.number("blocks_needed") is None


def test_functions_and_removals_have_no_intervals_of_their_own() -> None:
    found = of_two()
    alone = [*found.of("function"), *found.of("removal predicted"), *found.of("removal measured")]
    assert {(row.known.low, row.known.high) for row in alone} == {(None, None)}


def test_of_a_kernel_that_was_not_always_sampled_no_part_of_the_time_is_told() -> None:
    in_user_mode = sampled(TLS, 0, profile(PLAIN, kernel=False))
    assert "server_cpu_system_percent" in {row.outcome for row in of_two().of("shift")}
    assert "server_cpu_system_percent" not in {row.outcome for row in of_two(in_user_mode).of("shift")}


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
    drawing, plain = case("baseline", fault="rand-per-byte"), case()
    told = explained(run_of(*trials(drawing, DRAWING), *trials(plain, PLAIN), study=study))
    assert [each.whole.case for each in told] == [finding_levels(plain)]


TLS_STUDY = sampled_study({"tls": "off"}, {"tls": "1.3"})
OF_PLAIN, OF_CLIENT = fake_samples.PLAIN, fake_samples.CLIENT


def faulty(case: Case) -> tuple[Stacks, Stacks]:
    return (planted(OF_PLAIN, 300.0) if case.levels["fault"] != "none" else OF_PLAIN), OF_CLIENT


def alike(_case: Case) -> tuple[Stacks, Stacks]:
    return OF_PLAIN, OF_CLIENT


ACCEPT = f"{LOGIN};sslaccept [mysqld];SSL_accept [libssl.so.3]"
STACKS = {
    "sign": f"{ACCEPT};tls_construct_cert_verify [libssl.so];rsa_sign [libcrypto.so];BN_exp [libcrypto.so]",
    "derive": f"{ACCEPT};ssl_derive [libssl.so.3];ECDH_compute_key [libcrypto.so.3]",
    "memory": MALLOC,
    "network": SOCKET,
    "flush": f"{ROOT};net_flush [mysqld];tcp_push [kernel]",
    "query": QUERY,
    "nobodys": fake_samples.NOBODYS,
}
VERIFY = "_start [tlstax-engine];SSL_connect [libssl.so.3];X509_verify_cert [libcrypto.so.3]"


def with_tls(client_us: float = 0.0, **extra_us: float) -> Costs:
    """TLS that costs the server this much more in each of the given stacks, and the client this to verify."""
    added = {STACKS[name]: OF_PLAIN.get(STACKS[name], 0.0) + us for name, us in extra_us.items()}
    server, client = {**OF_PLAIN, **added}, {**OF_CLIENT, **({VERIFY: client_us} if client_us else {})}
    return lambda case: (server, client) if case.levels["tls"] != "off" else (OF_PLAIN, OF_CLIENT)


def of_treatment(run: StoredRun) -> Explanation:
    return next(found for found in explained(run) if not found.is_control)


def test_what_the_study_shows() -> None:
    """Sampled trials are half as slow again: their own cost must not matter."""
    run = sampled_run(faulty)
    without_samples = run.model_copy(update={"trials": run.measured})
    shown = golden.check("explain", sampled_run(faulty, noise=0.005), TOPIC)
    assert "explain" not in document(without_samples).topics
    assert "Where the cost goes" in shown.page


@pytest.mark.parametrize(
    ("costs", "culprit", "words"),
    [
        (
            {"sign": 40, "derive": 35, "network": 30, "memory": 30},
            None,
            ("no one function is the cause of half of it", "TLS signature on the server +40.0 µs"),
        ),
        (
            {"sign": 70, "derive": 10, "network": 20},
            ("BN_exp", "TLS signature", "server", 0.7),
            ("70.0 of the 100 µs of extra CPU per connection (70 %) go into",),
        ),
        ({"network": 30, "flush": 30}, None, ("kernel network on the server +60.0 µs",)),
        ({"query": -40, "network": -10}, None, ("50.0 µs less CPU per connection",)),
        ({"client_us": 90}, ("X509_verify_cert", "TLS certificate", "client", 1.0), ()),
        ({"nobodys": 198}, None, ()),
    ],
    ids=["spread", "most of it", "what all passes through", "a saving", "the client's", "nobody's"],
)
def test_a_culprit_is_one_function_that_is_most_of_what_is_more(
    costs: dict[str, float], culprit: tuple[str, str, str, float] | None, words: tuple[str, ...]
) -> None:
    found = of_treatment(sampled_run(with_tls(**costs), TLS_STUDY))
    assert found.is_explained
    names = ("function", "component", "side")
    seen = found.culprit and (*map(found.culprit.word, names), found.culprit.number("share"))
    assert seen == (culprit and (*culprit[:3], pytest.approx(culprit[3], rel=1e-3)))
    assert [word for word in words if word not in found.sentences[0]] == []
    is_odd = [caveat for caveat in found.whole.caveats if "server's samples have no component" in caveat]
    assert bool(is_odd) == ("nobodys" in costs)


def test_a_fault_is_held_against_the_same_case_without_it() -> None:
    study = sampled_study(
        {"tls": "off", "fault": "none"},
        {"tls": "1.3", "fault": "none"},
        {"tls": "1.3", "fault": "rand-per-byte"},
    )
    found = explained(sampled_run(faulty, study))[-1].whole
    assert (found.case["fault"], found.baseline) == ("rand-per-byte", {**found.case, "fault": "none"})


def test_a_side_out_of_reach_is_said() -> None:
    found = of_treatment(without(sampled_run(faulty), "server"))
    assert "the server was not sampled, so that its part is missing" in found.whole.caveats
    assert (unattributed(found), found.culprit) == ({"client": 0.0}, None)


def test_noise_is_borrowed_from_a_twin_too() -> None:
    study = sampled_study(
        {"tls": "off", "instance": 1}, {"tls": "off", "instance": 2}, {"tls": "1.3", "instance": 1}
    )

    def costs(case: Case) -> tuple[Stacks, Stacks]:
        extra = {
            QUERY: OF_PLAIN[QUERY]
            + (12 if case.levels["instance"] == 2 else 8 if case.levels["tls"] != "off" else 0)
        }
        return {**OF_PLAIN, **extra}, OF_CLIENT

    by_tls = {
        (found.whole.case["tls"], found.whole.case["instance"]): found
        for found in explained(sampled_run(costs, study))
    }
    assert by_tls["1.3", 1].whole.noise_floor == pytest.approx(12, rel=1e-3)
    assert by_tls["1.3", 1].whole.judgement == "alike"


SCRAM = "PQconnectPoll [libpq.so.5];HMAC_Init_ex [libcrypto.so.3];EVP_MD_fetch [libcrypto.so.3]"
LIBRARIES = {"client_tls_library": ["openssl-1.1.1-debian", "openssl-3.5-debian"]}


def looking_up(case: Case) -> tuple[Stacks, Stacks]:
    """A client whose newer library looks a hash up anew for every round of a login, with or without TLS."""
    server, client = with_tls(sign=30)(case)
    newer = case.levels.get("client_tls_library") == "openssl-3.5-debian"
    return server, {**client, **({SCRAM: 400.0} if newer else {})}


@pytest.mark.parametrize("treatments", [({"tls": "off"},), ({"tls": "off"}, {"tls": "1.3"})], ids=len)
def test_what_a_clients_other_library_costs_is_explained_unaided(treatments: Any) -> None:
    study = sampled_study(*treatments, factors={"workload": ["reconnect"], "connections": [8], **LIBRARIES})
    *of_tls, found = by_rank(explained(sampled_run(looking_up, study, noise=0.005)))[
        : len(treatments) * 2 - 1
    ]
    assert [each.whole.case["tls"] for each in of_tls] == ["1.3"] * 2 * (len(treatments) - 1)
    assert (found.is_control, found.whole.case["tls"]) == (False, "off")
    assert found.whole.case["client_tls_library"] == "openssl-3.5-debian"
    assert found.whole.baseline == {**found.whole.case, "client_tls_library": "openssl-1.1.1-debian"}
    assert found.culprit is not None
    assert (found.culprit.word("function"), found.culprit.word("side")) == ("EVP_MD_fetch", "client")
    assert any(said.startswith("the two run different programs: ") for said in found.whole.caveats)


STUDIES = 150


def test_of_equal_cases_few_are_called_different() -> None:
    """A/A studies: the interval alone may miss in 2.5 %; no culprit may ever come of one that does."""
    told = named = 0
    for seed in range(STUDIES):
        run = sampled_run(
            alike, number_of_blocks=5, noise=0.03, seed=seed, samples_per_us=5.0, latencies=False
        )
        found = explained(run)
        told += sum(one.is_explained for one in found)
        named += sum(one.culprit is not None for one in found)
    rate = 0.025
    assert told / (2 * STUDIES) <= rate + 3 * sqrt(rate * (1 - rate) / (2 * STUDIES))
    assert named <= 0.01 * 2 * STUDIES


def test_what_costs_many_times_as_much_is_explained_however_the_blocks_scatter() -> None:
    """Six times as much, on a machine on which blocks and trials are off by a quarter."""
    run = sampled_run(with_tls(sign=1250), TLS_STUDY, noise=0.25, number_of_blocks=3, latencies=False)
    found = of_treatment(run)
    assert found.is_explained
    assert found.whole_is_told
    assert "as much CPU" not in found.sentences[0]


@pytest.mark.parametrize(("noise", "verdict"), [(0.001, "alike"), (0.3, "inconclusive")])
def test_alike_is_said_only_of_what_is_proved(noise: float, verdict: str) -> None:
    found = of_treatment(sampled_run(alike, noise=noise, number_of_blocks=3))
    assert (found.whole.judgement, found.is_explained) == (verdict, False)
    (said,) = found.sentences
    if verdict == "alike":
        assert said.startswith("nothing to explain: ")
        assert ", within 5 % (" in said
    else:
        assert said.startswith("inconclusive: whether ")
        assert "a quieter machine would" in said or "blocks would tell: a larger --budget" in said


def test_the_figures_of_an_explanation_follow_from_each_other() -> None:
    found = of_treatment(sampled_run(faulty, noise=0.2))
    assert found.case_us - found.baseline_us == pytest.approx(found.extra.point)
    rate = next(shift for shift in found.of("shift") if shift.outcome == "ops_per_s")
    assert removals(found)[1] == pytest.approx(rate.baseline_value / rate.value)


LEVELS = {"tls": "1.3", "fault": "none"}


def ranked(
    *,
    control: bool = False,
    share: float | None = 0.5,
    changed: int = 1,
    whole: bool = True,
    extra_us: float = 1.0,
) -> Explanation:
    """An explanation of two cases that differ in N levels; without a share it has no culprit."""
    baseline = dict(zip(LEVELS, ["other"] * changed, strict=False))
    rows = [
        Row(
            case={**LEVELS, **(CONTROL_MARK if control else {})},
            baseline={**LEVELS, **baseline, **(CONTROL_MARK if control else {})},
            interval=known(extra_us, 0.0, 9.0, 3),
            of="difference",
            judgement="higher" if whole else "inconclusive",
        ),
        *([Row(role="culprit", more={"share": share})] if share is not None else ()),
    ]
    return Explanation(run="", title="", alike_within=1.05, rows=tuple(rows))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ranked(share=None, extra_us=1), ranked(control=True, share=0.9, extra_us=9)),
        (ranked(share=0.1, changed=2, whole=False), ranked(share=None, extra_us=9)),
        (ranked(changed=1, whole=False, share=0.1), ranked(changed=2, whole=True, share=0.9, extra_us=9)),
        (ranked(whole=True, share=0.1), ranked(whole=False, share=0.9, extra_us=9)),
        (ranked(share=0.6), ranked(share=0.5, extra_us=9)),
        (ranked(extra_us=2), ranked(extra_us=1)),
        (
            ranked(share=None, changed=2, whole=False, extra_us=2),
            ranked(share=None, changed=1, whole=True, extra_us=1),
        ),
    ],
    ids=["treatment", "culprit", "one change", "whole", "share", "cost", "without a culprit only cost"],
)
def test_what_tells_most_comes_first(first: Explanation, second: Explanation) -> None:
    assert by_rank([first, second]) == by_rank([second, first]) == (first, second)


def test_of_none_there_is_no_first() -> None:
    assert by_rank([]) == ()
