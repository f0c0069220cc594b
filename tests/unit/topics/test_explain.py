"""Where extra cost goes: a planted cost is found with its function, a planted nothing is not."""

from __future__ import annotations

from math import sqrt

import pytest

from fake_samples import (
    CLIENT,
    FAULT_STUDY,
    LOGIN,
    MALLOC,
    NOBODYS,
    PLAIN,
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
from intervals import known
from tlstax.findings.core import stats
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun
from tlstax.results.explanation import Explanation
from tlstax.results.rows import Row
from tlstax.study import Case
from tlstax.study.labels import CONTROL_MARK
from tlstax.support.errors import UserMistake
from tlstax.topics.explain.explanation import by_rank, explain
from told_runs import explained, removals

TLS_STUDY = sampled_study({"tls": "off"}, {"tls": "1.3"})


def faulty(case: Case) -> tuple[Stacks, Stacks]:
    return (planted(PLAIN, 300.0) if case.levels["fault"] != "none" else PLAIN), CLIENT


def alike(_case: Case) -> tuple[Stacks, Stacks]:
    return PLAIN, CLIENT


def with_tls(**extra_us: float) -> Costs:
    """TLS that costs the server so much more in each of the given stacks."""
    extra = {**PLAIN, **{STACKS[name]: PLAIN.get(STACKS[name], 0.0) + us for name, us in extra_us.items()}}
    return lambda case: ((extra if case.levels["tls"] != "off" else PLAIN), CLIENT)


ACCEPT = f"{LOGIN};sslaccept [mysqld];SSL_accept [libssl.so.3]"
STACKS = {
    "sign": f"{ACCEPT};tls_construct_cert_verify [libssl.so];rsa_sign [libcrypto.so];BN_exp [libcrypto.so]",
    "derive": f"{ACCEPT};ssl_derive [libssl.so.3];ECDH_compute_key [libcrypto.so.3]",
    "memory": f"{ACCEPT};CRYPTO_malloc [libcrypto.so.3];malloc [libtcmalloc.so.4]",
    "memory_of_sql": MALLOC,
    "network": SOCKET,
    "query": QUERY,
    "nobodys": NOBODYS,
}


def of_treatment(run: StoredRun) -> Explanation:
    return next(found for found in explained(run) if not found.is_control)


def of_control(run: StoredRun) -> Explanation:
    return next(found for found in explained(run) if found.is_control)


def unattributed(found: Explanation) -> dict[str, float | None]:
    return {row.word("side"): row.number("unattributed_share") for row in found.of("sampled")}


def component(found: Explanation, name: str) -> float:
    return next(part.difference.point for part in found.components if part.more["component"] == name)


def test_a_planted_cost_is_found_with_its_function() -> None:
    found = of_treatment(sampled_run(faulty))
    assert found.is_explained
    assert found.extra.point == pytest.approx(298.0, rel=1e-4)
    culprit = found.culprit
    assert culprit is not None
    assert (culprit.more["function"], culprit.more["library"], culprit.more["side"]) == (
        "RAND_bytes",
        "libtale.so",
        "server",
    )
    assert culprit.more["component"] == "kernel random"
    assert culprit.more["beneath"] == "random numbers"
    assert culprit.more["share"] == 1.0
    assert component(found, "kernel random") == pytest.approx(180.0, rel=1e-4)
    assert component(found, "random numbers") == pytest.approx(118.0, rel=1e-4)
    assert found.sentences[0].startswith(
        "practically all of the 298 µs of extra CPU per connection goes into RAND_bytes (libtale.so) on the "
        "server: kernel random, with random numbers beneath it"
    )


def test_its_removal_is_predicted_and_was_measured() -> None:
    predicted, measured = removals(of_treatment(sampled_run(faulty)))
    assert predicted == pytest.approx(498 / 198, rel=1e-4)
    assert measured == pytest.approx(498 / 200, rel=1e-4)


def test_what_shifted_stands_beside() -> None:
    shifts = {shift.outcome: shift for shift in of_treatment(sampled_run(faulty)).of("shift")}
    assert shifts["ops_per_s"].value == pytest.approx(1e6 / 498, rel=1e-3)
    assert shifts["ops_per_s"].baseline_value == pytest.approx(1e6 / 200, rel=1e-3)
    assert shifts["server_cpu_us_per_op"].value == pytest.approx(498, rel=1e-3)
    assert shifts["server_cpu_system_percent"].value == pytest.approx(100 * (66 + 300) / 498, rel=1e-3)
    assert shifts["latency_p50_us"].unit == "us"


def test_the_sampled_trials_own_cost_does_not_matter() -> None:
    """They are half as slow again, and share out what the others cost."""
    found = of_treatment(sampled_run(faulty))
    assert found.case_us == pytest.approx(498 + 50, rel=1e-4)
    assert sum(part.value or 0 for part in found.components) == pytest.approx(found.case_us, rel=1e-4)


def test_a_control_has_nothing_to_explain() -> None:
    found = of_control(sampled_run(faulty, noise=0.01))
    assert found.whole.judgement == "alike"
    assert found.culprit is None
    assert found.sentences[0].startswith(
        "nothing to explain: plaintext, nothing planted again (control) costs as much"
    )


def test_a_planted_nothing_is_not_found() -> None:
    found = of_treatment(sampled_run(alike, noise=0.01))
    assert found.whole.judgement == "alike"
    assert found.whole.noise_floor is not None
    assert found.culprit is None


def test_spread_extra_has_no_culprit() -> None:
    found = of_treatment(sampled_run(with_tls(sign=40, derive=35, network=30, memory_of_sql=30), TLS_STUDY))
    assert found.is_explained
    assert found.culprit is None
    assert "no one function is the cause of half of it" in found.sentences[0]
    assert "TLS signature on the server +40.0 µs" in found.sentences[0]


def test_most_of_it_in_one_function_is_a_culprit_with_its_share() -> None:
    found = of_treatment(sampled_run(with_tls(sign=70, derive=10, network=20), TLS_STUDY))
    assert found.culprit is not None
    assert (found.culprit.more["function"], found.culprit.more["component"]) == ("BN_exp", "TLS signature")
    assert found.culprit.more["share"] == pytest.approx(0.7, rel=1e-3)
    assert found.sentences[0].startswith("70.0 of the 100 µs of extra CPU per connection (70 %) go into")


def test_what_everything_passes_through_is_no_culprit() -> None:
    """All extra is in the network, below a function that is most of the baseline's cost."""
    other = f"{ROOT};net_flush [mysqld];tcp_push [kernel]"
    stacks = {**PLAIN, SOCKET: PLAIN[SOCKET] + 30, other: 30.0}
    found = of_treatment(
        sampled_run(lambda case: ((stacks if case.levels["tls"] != "off" else PLAIN), CLIENT), TLS_STUDY)
    )
    assert found.is_explained
    assert found.culprit is None


def test_a_saving_is_told_and_has_no_culprit() -> None:
    found = of_treatment(sampled_run(with_tls(query=-40, network=-10), TLS_STUDY))
    assert found.is_explained
    assert found.culprit is None
    assert "50.0 µs less CPU per connection" in found.sentences[0]


def test_the_clients_part_is_the_clients() -> None:
    def costs(case: Case) -> tuple[Stacks, Stacks]:
        extra = {"_start [tlstax-engine];SSL_connect [libssl.so.3];X509_verify_cert [libcrypto.so.3]": 90.0}
        return PLAIN, {**CLIENT, **extra} if case.levels["tls"] != "off" else CLIENT

    found = of_treatment(sampled_run(costs, TLS_STUDY))
    assert found.culprit is not None
    assert (found.culprit.more["side"], found.culprit.more["function"]) == ("client", "X509_verify_cert")
    assert removals(found) == (None, None)


def test_what_has_no_component_is_shown_and_never_the_culprit() -> None:
    found = of_treatment(sampled_run(with_tls(nobodys=198), TLS_STUDY))
    assert unattributed(found)["server"] == pytest.approx(200 / 398, rel=1e-4)
    assert component(found, "unattributed") == pytest.approx(198, rel=1e-4)
    assert found.culprit is None
    assert any("of the server's samples have no component" in caveat for caveat in found.whole.caveats)


def test_what_the_kernel_does_is_told_by_what_was_called_and_by_whom() -> None:
    found = of_treatment(sampled_run(faulty))
    (function,) = (row for row in found.of("function") if row.outcome == "server: kernel random")
    told = {name: function.more[name] for name in ("function", "library", "through")}
    assert told == {"function": "read", "library": "libc.so.6", "through": "RAND_bytes"}
    assert function.difference.point == pytest.approx(180.0, rel=1e-4)


def test_a_fault_is_held_against_the_same_case_without_it() -> None:
    study = sampled_study(
        {"tls": "off", "fault": "none"},
        {"tls": "1.3", "fault": "none"},
        {"tls": "1.3", "fault": "rand-per-byte"},
    )
    found = explained(sampled_run(faulty, study))[-1]
    assert (found.whole.case["fault"], found.whole.baseline["tls"], found.whole.baseline["fault"]) == (
        "rand-per-byte",
        "1.3",
        "none",
    )


def test_the_clearest_culprit_is_foremost() -> None:
    study = sampled_study(
        {"tls": "off", "fault": "none"},
        {"tls": "1.3", "fault": "none"},
        {"tls": "off", "fault": "rand-per-byte"},
    )

    def costs(case: Case) -> tuple[Stacks, Stacks]:
        tls, _ = with_tls(sign=400, derive=350, network=300, memory_of_sql=300)(case)
        return (planted(tls, 300.0) if case.levels["fault"] != "none" else tls), CLIENT

    found, *_ = by_rank(explained(sampled_run(costs, study)))
    assert found.whole.case["fault"] == "rand-per-byte"


def test_a_culprit_where_one_thing_was_changed_comes_before_a_larger_one_where_several_were() -> None:
    found = of_treatment(sampled_run(faulty))
    assert found.culprit is not None
    whole = found.whole.model_copy(
        update={
            "case": {**found.whole.case, "tls": "1.0"},
            "interval": found.extra.model_copy(update={"point": 9000.0}),
        }
    )
    larger = found.model_copy(update={"rows": (whole, *found.rows[1:])})
    assert by_rank([larger, found]) == (found, larger)


def test_a_side_out_of_reach_is_said() -> None:
    found = of_treatment(without(sampled_run(faulty), "server"))
    assert "the server was not sampled, so that its part is missing" in found.whole.caveats
    assert unattributed(found) == {"client": 0.0}
    assert found.culprit is None


def test_noise_is_borrowed_from_a_twin_too() -> None:
    study = sampled_study(
        {"tls": "off", "instance": 1}, {"tls": "off", "instance": 2}, {"tls": "1.3", "instance": 1}
    )

    def costs(case: Case) -> tuple[Stacks, Stacks]:
        extra = {
            QUERY: PLAIN[QUERY]
            + (12 if case.levels["instance"] == 2 else 8 if case.levels["tls"] != "off" else 0)
        }
        return {**PLAIN, **extra}, CLIENT

    by_tls = {
        (found.whole.case["tls"], found.whole.case["instance"]): found
        for found in explained(sampled_run(costs, study))
    }
    assert by_tls["1.3", 1].whole.noise_floor == pytest.approx(12, rel=1e-3)
    assert by_tls["1.3", 1].whole.judgement == "alike"


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda: sampled_run(faulty, number_of_blocks=1), "in one block alone"),
        (
            lambda: sampled_run(faulty).model_copy(update={"trials": sampled_run(faulty).measured}),
            "has no profile: nothing in it was sampled; run it again with --profile",
        ),
    ],
)
def test_a_run_that_cannot_tell_says_why(run, said: str) -> None:  # type: ignore[no-untyped-def]
    stored = run()
    assert explained(stored) == ()
    with pytest.raises(UserMistake) as caught:
        explain(stored, cases(FAULT_STUDY)[-1])
    assert said in caught.value.sentence()


def test_a_baseline_is_not_explained_by_itself() -> None:
    with pytest.raises(UserMistake, match="is what the others are compared with"):
        explain(sampled_run(faulty), cases(FAULT_STUDY)[0])


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


def test_the_difference_interval_is_students() -> None:
    found = stats.difference_interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.95)
    half = stats.t_quantile(0.95, 5) * sqrt(2.5 / 5)
    assert (found.point, found.low, found.high) == pytest.approx((3.0, 3.0 - half, 3.0 + half))
    assert found.excludes_zero
    assert stats.difference_interval([3.0], 0.95).low is None
    with pytest.raises(ValueError, match="at least one block"):
        stats.difference_interval([], 0.95)


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


CASE = {"tls": "1.3", "fault": "none"}


def ranked(
    *,
    control: bool = False,
    share: float | None = 0.5,
    changed: int = 1,
    whole: bool = True,
    extra_us: float = 1.0,
) -> Explanation:
    """An explanation of two cases that differ in so many levels; without a share it has no culprit."""
    baseline = dict(zip(CASE, ["other"] * changed, strict=False))
    rows = [
        Row(
            case={**CASE, **(CONTROL_MARK if control else {})},
            baseline={**CASE, **baseline, **(CONTROL_MARK if control else {})},
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
