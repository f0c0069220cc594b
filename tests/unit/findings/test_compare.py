"""Runs beside one another: what was planted between them is found, what was not is not, and limits hold."""

from __future__ import annotations

import json
from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy import stats

from fake_trials import Truth, fake_run, tax_truth
from tlstax.findings.compare.compare import compared
from tlstax.findings.compare.gate import gated
from tlstax.findings.compare.two_runs import BETWEEN_RUNS, change_between
from tlstax.findings.core.limits import Limits, confidence_of_each, verdict_of
from tlstax.findings.core.stats import ALPHA_SHARE
from tlstax.records.trial import Specimen, StoredRun
from tlstax.report.comparison.text import comparison_text, gate_text
from tlstax.results.comparison import Limit, RunComparison
from tlstax.results.interval import Interval
from tlstax.study import Case, load_study
from tlstax.support.errors import UserMistake

CPU = "server_cpu_us_per_op"


def run(seed: int, *, tls_costs: float = 1.0, all_costs: float = 1.0, noise: float = 0.002) -> StoredRun:
    """A run of the tax study, of which cases with TLS cost the server so much more."""

    def truth(case: Case) -> Truth:
        own = tax_truth(case)
        factor = all_costs * (1.0 if case.levels["tls"] == "off" else tls_costs)
        return replace(own, server_cpu_us_per_op=own.server_cpu_us_per_op * factor)

    stored = fake_run(seed=seed, truth=truth, noise=noise, invalid=False)
    header = stored.header.model_copy(update={"run": f"20261121-195500-{seed:04x}"})
    return stored.model_copy(update={"header": header})


def changed(stored: StoredRun, **update: object) -> StoredRun:
    """The same run with another header."""
    return stored.model_copy(update={"header": stored.header.model_copy(update=update)})


def test_the_same_again_is_no_difference() -> None:
    (found,) = compared([run(1), run(2)], (CPU,)).beside
    assert len(found.changes) == 8
    assert {own.judgement for own in found.changes} == {"no difference seen"}
    assert found.different == ()
    assert found.same_machine


def test_what_tls_costs_more_is_found_and_plaintext_is_not_blamed() -> None:
    (found,) = compared([run(1), run(2, tls_costs=1.1)], (CPU,)).beside
    judged = {own.label: own.judgement for own in found.changes}
    assert {judgement for label, judgement in judged.items() if label.startswith("TLS")} == {"higher"}
    assert {judgement for label, judgement in judged.items() if not label.startswith("TLS")} == {
        "no difference seen"
    }
    changes = [own.change.point for own in found.changes if own.measure == "to the baseline"]
    assert changes == pytest.approx([1.1] * 6, rel=0.005)


def test_a_machine_that_is_slower_changes_no_ratio() -> None:
    (found,) = compared([run(1), run(2, all_costs=1.5)], (CPU,)).beside
    judged = {own.measure: own.judgement for own in found.changes}
    assert judged == {"to the baseline": "no difference seen", "itself": "higher"}


def test_of_two_machines_ratios_alone_are_compared() -> None:
    first, second = run(1), run(2)
    machine = second.header.machine.model_copy(update={"cpu_model": "Another CPU"})
    (found,) = compared([first, changed(second, machine=machine)], (CPU,)).beside
    assert not found.same_machine
    assert {own.measure for own in found.changes} == {"to the baseline"}
    assert [(own.what, own.before, own.after) for own in found.different] == [
        ("processor", "Fake CPU @ 3.00GHz", "Another CPU")
    ]
    with pytest.raises(UserMistake, match="different machines") as caught:
        gated(
            changed(second, machine=machine), first, Limits((Limit(outcome=CPU, most=0),)), measure="itself"
        )
    assert "--absolute" in str(caught.value.remedy)


def test_what_the_headers_say_differently_is_listed() -> None:
    first, second = run(1), run(2)
    packages = {"libssl3": "3.5.5-1", "zlib1g": "1.3"}
    old = Specimen(name="mysql-9.7", kind="server", version="9.7.4", origin="here", packages=packages)
    new = old.model_copy(update={"version": "9.7.5", "packages": {**packages, "libssl3": "3.5.6-1"}})
    machine = second.header.machine.model_copy(update={"kernel": "Linux 7.0", "microcode": "0xa2"})
    (found,) = compared(
        [
            changed(first, specimens=(old,)),
            changed(second, specimens=(new,), machine=machine, tlstax_version="0.2.0"),
        ],
        (CPU,),
    ).beside
    assert [(own.what, own.before, own.after) for own in found.different] == [
        ("kernel", "Linux 6.18.0", "Linux 7.0"),
        ("microcode", "", "0xa2"),
        ("server mysql-9.7", "mysql-9.7 9.7.4", "mysql-9.7 9.7.5"),
        ("what mysql-9.7 was made from", "libssl3 3.5.5-1", "libssl3 3.5.6-1"),
        ("tlstax", "0.1.0", "0.2.0"),
    ]
    assert found.same_machine, "another kernel is not another machine"


def with_level(stored: StoredRun, factor: str, level: str) -> StoredRun:
    """The same run of a study that has this factor, with one level."""
    study = stored.header.study.model_copy(
        update={"factors": {**stored.header.study.factors, factor: (level,)}}
    )
    trials = []
    for record in stored.trials:
        levels = {**record.trial.case.levels, factor: level}
        case = record.trial.case.model_copy(update={"levels": levels})
        trial = record.trial.model_copy(update={"case": case})
        trials.append(record.model_copy(update={"trial": trial}))
    return changed(stored, study=study).model_copy(update={"trials": tuple(trials)})


def test_a_server_of_another_name_is_what_changed_and_not_another_case() -> None:
    runs = [with_level(run(1), "server", "mysql-9.7"), with_level(run(2), "server", "mariadb-11.8")]
    (found,) = compared(runs, (CPU,)).beside
    assert len(found.changes) == 8
    assert [(own.what, own.before, own.after) for own in found.different] == [
        ("server", "mysql-9.7", "mariadb-11.8")
    ]


def test_a_factor_that_one_run_alone_has_is_what_changed() -> None:
    runs = [run(1), with_level(run(2), "durability", "full")]
    for pair, beside in ((runs, ("", "full")), (runs[::-1], ("full", ""))):
        (found,) = compared(pair, (CPU,)).beside
        assert len(found.changes) == 8
        assert [(own.what, own.before, own.after) for own in found.different] == [("durability", *beside)]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [("rows", 77, "number of rows"), ("baseline", {"tls": "1.3"}, "the baseline")],
)
def test_what_is_unfair_is_refused_in_a_sentence(field: str, value: object, words: str) -> None:
    first, second = run(1), run(2)
    study = second.header.study.model_copy(update={field: value})
    with pytest.raises(UserMistake, match=words):
        compared([first, changed(second, study=study)], (CPU,))


def test_runs_of_other_things_have_no_case_in_common() -> None:
    first = run(1)
    other = changed(run(2), study=load_study("tax").model_copy(update={"treatments": ()}))
    empty = other.model_copy(update={"trials": ()})
    with pytest.raises(UserMistake, match="no case in common"):
        compared([first, empty], (CPU,))


NOTHING, FIVE = (Limit(outcome=CPU, most=most) for most in (0.0, 0.05))
BEFORE, AFTER = {1: 0.0, 2: 0.02, 3: 0.01}, {1: 0.10, 2: 0.14, 3: 0.11, 4: 0.11, 5: 0.12}


def test_where_runs_did_not_differ_by_themselves_it_is_welchs_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(BETWEEN_RUNS, "to the baseline", 0.0)
    found = change_between(BEFORE, AFTER, confidence=0.95, measure="to the baseline")
    welch = stats.ttest_ind(list(AFTER.values()), list(BEFORE.values()), equal_var=False)
    ends = welch.confidence_interval(1 - 0.05 * ALPHA_SHARE)
    assert (found.low, found.high) == pytest.approx((exp(ends.low), exp(ends.high)))
    assert (found.point, found.blocks) == (pytest.approx(exp(0.106)), 3)
    same = {1: 0.0, 2: 0.0}
    alike = change_between(same, same, confidence=0.95, measure="to the baseline")
    assert (alike.low, alike.high) == (1, 1), "counts that never change have an interval of no width"


def test_how_far_runs_differ_widens_it_by_as_much_as_two_of_them_do() -> None:
    """With so much of it, what the blocks scatter is nothing beside it, and Student's t is a normal one."""
    found = change_between({1: 0.0, 2: 1e-9}, {1: 0.1, 2: 0.1 + 1e-9}, confidence=0.95, measure="itself")
    assert found.low is not None
    reach = stats.norm.ppf(0.9875) * sqrt(2) * BETWEEN_RUNS["itself"]
    assert log(found.point / found.low) == pytest.approx(reach, rel=1e-4)


def test_a_single_block_has_no_interval_and_none_no_change() -> None:
    alone = change_between({1: 0.0}, AFTER, confidence=0.95, measure="itself")
    assert (alone.low, alone.high, alone.blocks) == (None, None, 1)
    for pair in (({}, AFTER), (BEFORE, {})):
        with pytest.raises(ValueError, match="a block"):
            change_between(*pair, confidence=0.95, measure="itself")


def test_of_several_intervals_each_is_surer() -> None:
    assert [confidence_of_each(0.95, number) for number in (0, 1, 5)] == pytest.approx([0.95, 0.95, 0.99])


def simulated(chance: np.random.Generator, change: float, cases: int, *, blocks: int = 8) -> list[Interval]:
    """A check of so many cases, whose runs differ by luck as runs do, and by the change."""
    luck = BETWEEN_RUNS["to the baseline"]
    found = []
    for _ in range(cases):
        logs = [
            dict(enumerate(chance.normal(shift + chance.normal(0, luck), 0.015, size=blocks)))
            for shift in (0.0, log(1 + change))
        ]
        each = confidence_of_each(0.95, cases)
        found.append(change_between(logs[0], logs[1], confidence=each, measure="to the baseline"))
    return found


@pytest.mark.parametrize("cases", [1, 8])
def test_of_a_hundred_checks_of_the_same_hardly_one_fails(cases: int) -> None:
    """A limit of nothing at all is the hardest one; of 400 checks one in twenty would be 20."""
    chance = np.random.default_rng(11)
    failed = sum(
        any(verdict_of(own, NOTHING) == "FAIL" for own in simulated(chance, 0.0, cases)) for _ in range(400)
    )
    assert failed <= 20


def test_a_planted_8_per_cent_fails_a_limit_of_nothing_as_a_rule() -> None:
    chance = np.random.default_rng(12)
    found = [verdict_of(simulated(chance, 0.08, 1, blocks=20)[0], NOTHING) for _ in range(200)]
    assert found.count("FAIL") > 100
    assert found.count("PASS") == 0


def test_a_planted_cost_fails_nothing_planted_passes_and_one_too_close_is_untold() -> None:
    limit = Limits((Limit(outcome=CPU, most=0.08),))
    same = gated(run(2), run(1), limit)
    assert same.verdict == "PASS"
    assert {own.verdict for own in same.cases} == {"PASS"}
    assert len(same.cases) == 6, "baselines are not gated"
    assert gated(run(2, tls_costs=1.2), run(1), limit).verdict == "FAIL"
    assert gated(run(2, tls_costs=1.08), run(1), limit).verdict == "UNTOLD"
    assert gated(run(2, all_costs=1.5), run(1), limit).verdict == "PASS"
    assert gated(run(2, all_costs=2.0), run(1), limit, measure="itself").verdict == "FAIL"


def test_a_floor_is_a_limit_the_other_way_round() -> None:
    floor = Limit(outcome="ops_per_s", least=-0.05)
    ends = [(0.96, 1.4), (0.80, 0.94), (0.93, 0.97), (None, None)]
    found = [Interval(point=1.0, low=low, high=high, confidence=0.95, blocks=5) for low, high in ends]
    assert [verdict_of(own, floor) for own in found] == ["PASS", "FAIL", "UNTOLD", "UNTOLD"]


def test_the_main_outcomes_have_a_limit_on_their_worse_side_unless_one_is_named() -> None:
    named = Limit(outcome="latency_p50_us", most=0.2)
    found = Limits((named, Limit(outcome="ops_per_s", most=0.5)), 0.05).of("connections_per_s")
    assert found[0] == named
    assert set(found[2:]) == {
        Limit(outcome="connections_per_s", least=-0.05),
        Limit(outcome="ops_per_s", least=-0.05),
        Limit(outcome=CPU, most=0.05),
    }


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.99, 1.05, "PASS"),
        (1.051, 1.2, "FAIL"),
        (1.05, 1.2, "UNTOLD"),
        (1.0, 1.0501, "UNTOLD"),
        (None, None, "UNTOLD"),
    ],
)
def test_a_verdict_is_where_the_interval_lies(low: float | None, high: float | None, verdict: str) -> None:
    assert verdict_of(Interval(point=1.02, low=low, high=high, confidence=0.95, blocks=5), FIVE) == verdict


def test_an_outcome_that_no_run_has_is_said() -> None:
    with pytest.raises(UserMistake, match="path_cpu_us_per_op"):
        gated(run(2), run(1), Limits((Limit(outcome="path_cpu_us_per_op", most=0.1),)))


def test_a_single_block_is_untold() -> None:
    once = run(2)
    first = once.model_copy(update={"trials": tuple(own for own in once.trials if own.trial.block == 0)})
    found = gated(first, run(1), Limits((Limit(outcome=CPU, most=0.5),)))
    assert found.verdict == "UNTOLD"
    assert "single block" in gate_text(found, width=100, colour=False)


@pytest.mark.parametrize("width", [50, 120])
def test_on_a_terminal_every_case_has_its_line(width: int) -> None:
    limit = Limits(tuple(Limit(outcome=name, most=0.08) for name in (CPU, "client_cpu_us_per_op")))
    found = gated(run(2, tls_costs=1.3), run(1), limit)
    text = gate_text(found, width=width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    lines = text.splitlines()
    assert sum(line.startswith("FAIL") for line in lines) == 6 + 1
    assert sum(line.startswith("PASS") for line in lines) == 6
    plain = " ".join(text.split())
    assert "All 12 intervals hold together with 95 %" in plain
    shown = comparison_text(compared([run(1), run(2), run(3)], (CPU,)), width=width, colour=False)
    assert max(map(len, shown.splitlines())) <= width
    assert shown.count("nothing that is known of them") == 2


def test_the_document_is_read_back_as_it_was_written() -> None:
    found = compared([run(1), run(2)], (CPU,))
    text = found.model_dump_json(by_alias=True)
    assert json.loads(text)["schema"] == 1
    assert RunComparison.model_validate_json(text) == found


def without(stored: StoredRun, tls: str) -> StoredRun:
    """The same run without the trials of one version."""
    kept = tuple(own for own in stored.trials if own.trial.case.levels["tls"] != tls)
    return stored.model_copy(update={"trials": kept})


def test_a_case_that_one_run_lacks_is_named_and_the_others_are_compared() -> None:
    for runs, in_one in (
        ((run(1), without(run(2), "1.2")), "before"),
        ((without(run(1), "1.2"), run(2)), "after"),
    ):
        (found,) = compared(runs, (CPU,)).beside
        lacking = found.only_before if in_one == "before" else found.only_after
        assert len(lacking) == 2
        assert all(label.startswith("TLS 1.2") for label in lacking)
        assert {"before": found.only_after, "after": found.only_before}[in_one] == ()
        assert len(found.changes) == 6
        text = comparison_text(compared(runs, (CPU,)), width=200, colour=False)
        assert f"Only the {'earlier' if in_one == 'before' else 'later'} run has 2 cases: TLS 1.2" in text


def test_an_outcome_that_one_run_lacks_is_left_out() -> None:
    first, second = run(1), run(2)
    blind = second.model_copy(
        update={
            "trials": tuple(
                own.model_copy(update={"server": own.server.model_copy(update={"cpu": None})})
                for own in second.trials
                if own.server is not None
            )
        }
    )
    (found,) = compared([first, blind], (CPU, "ops_per_s")).beside
    assert {own.outcome for own in found.changes} == {"ops_per_s"}


def test_what_one_run_alone_has_is_listed_with_nothing_beside_it() -> None:
    first, second = run(1), run(2)
    engine = Specimen(name="engine", kind="client", version="0.1.0", origin="here", sha256="a1" * 32)
    other = engine.model_copy(update={"sha256": "b2" * 32})
    library = Specimen(name="openssl-3.6", kind="tls_library", version="3.6.3", origin="here")
    (found,) = compared(
        [changed(first, specimens=(engine,)), changed(second, specimens=(other, library))], (CPU,)
    ).beside
    assert [(own.what, own.before, own.after) for own in found.different] == [
        ("what engine was made from", "a1" * 8, "b2" * 8),
        ("TLS library openssl-3.6", "", "openssl-3.6 3.6.3"),
    ]
    assert "none" in comparison_text(
        compared([first, changed(second, specimens=(library,))], (CPU,)), width=80, colour=False
    )
