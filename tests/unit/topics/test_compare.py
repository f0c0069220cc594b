"""Runs beside one another: what was planted between them is found, what was not is not, and limits hold."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy import stats

from fake_trials import Truth, fake_run, tax_truth, whole_tax
from tlstax.records.trial import Specimen, StoredRun
from tlstax.report.formats.terminal import printed_sections
from tlstax.results.document import Measure, RunComparison
from tlstax.results.interval import DIFFERENCES, Interval
from tlstax.stats.limits import Limit, Limits, confidence_of_each, verdict_of
from tlstax.study import Case
from tlstax.study.factors import CaseLevels
from tlstax.support.errors import UserMistake
from tlstax.topics.compare.compare import (
    BETWEEN_RUNS,
    PRIOR_FREEDOM,
    Scatter,
    change_between,
    compared,
    gated,
    is_same_thing,
    scatter_of,
)
from tlstax.topics.compare.text import gate_text, sections

CPU = "server_cpu_us_per_op"


def run(seed: int, *, tls_costs: float = 1.0, all_costs: float = 1.0, noise: float = 0.002) -> StoredRun:
    """A run of the tax study, of which cases with TLS cost the server more by this factor."""

    def truth(case: Case) -> Truth:
        own = tax_truth(case)
        factor = all_costs * (1.0 if case.levels["tls"] == "off" else tls_costs)
        return replace(own, server_cpu_us_per_op=own.server_cpu_us_per_op * factor)

    stored = fake_run(seed=seed, truth=truth, noise=noise, invalid=False)
    header = stored.header.model_copy(update={"run": f"20261121-195500-{seed:04x}"})
    return stored.model_copy(update={"header": header})


@cache
def others() -> list[StoredRun]:
    """A dozen runs more of the same thing, which differ by as little as their blocks."""
    return [run(seed) for seed in range(101, 113)]


def changed(stored: StoredRun, **update: object) -> StoredRun:
    """The same run with another header."""
    return stored.model_copy(update={"header": stored.header.model_copy(update=update)})


def test_the_same_again_is_no_difference() -> None:
    (found,) = compared([run(1), run(2)], (CPU,), others=others()).beside
    assert len(found.changes) == 8
    assert not {own.judgement for own in found.changes} & set(DIFFERENCES)
    assert len(found.same_again) == 12
    assert found.different == ()
    assert found.same_machine
    assert {(own.role, own.unit) for own in found.changes} == {("itself", "us"), ("to the baseline", "1")}


def test_intervals_are_as_sure_as_is_asked() -> None:
    (usual,), (unsure,) = (
        compared([run(1), run(2)], (CPU,), confidence=confidence).beside for confidence in (None, 0.5)
    )
    (named,) = compared([run(1), run(2)], (CPU,), confidence=0.95).beside
    assert named.changes == usual.changes, "as sure as the study"
    for own, other in zip(usual.changes, unsure.changes, strict=True):
        assert (other.known.high or 0) - (other.known.low or 0) < (own.known.high or 0) - (own.known.low or 0)


def test_what_tls_costs_more_is_found_and_plaintext_is_not_blamed() -> None:
    (found,) = compared([run(1), run(2, tls_costs=1.3)], (CPU,), others=others()).beside
    judged = {own.label: own.judgement for own in found.changes}
    assert {judgement for label, judgement in judged.items() if label.startswith("TLS")} == {"higher"}
    of_others = {judgement for label, judgement in judged.items() if not label.startswith("TLS")}
    assert not of_others & set(DIFFERENCES)
    changes = [own.interval.point for own in found.changes if own.interval and own.role == "to the baseline"]
    assert changes == pytest.approx([1.3] * 6, rel=0.005)


def test_a_machine_that_is_slower_changes_no_ratio() -> None:
    (found,) = compared([run(1), run(2, all_costs=2.0)], (CPU,), others=others()).beside
    judged = {own.role: own.judgement for own in found.changes}
    assert judged["itself"] == "higher"
    assert judged["to the baseline"] not in DIFFERENCES


def test_of_two_machines_ratios_alone_are_compared() -> None:
    first, second = run(1), run(2)
    machine = second.header.machine.model_copy(update={"cpu_model": "Another CPU"})
    (found,) = compared([first, changed(second, machine=machine)], (CPU,)).beside
    assert not found.same_machine
    assert {own.role for own in found.changes} == {"to the baseline"}
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
        case = record.trial.case.model_copy(update={"levels": CaseLevels.of(levels)})
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
    assert not any("mysql" in own.label for own in found.changes), "all cases of the run have it"


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
    other = changed(run(2), study=whole_tax().model_copy(update={"treatments": ()}))
    empty = other.model_copy(update={"trials": ()})
    with pytest.raises(UserMistake, match="no case in common") as caught:
        compared([first, empty], (CPU,))
    assert caught.value.remedy == "compare runs of one study, or of one set of options"


NOTHING = Limit(outcome=CPU, most=0.0)


def test_the_same_thing_may_have_been_measured_longer_and_nothing_else() -> None:
    own = run(1)
    header = own.header
    longer = header.study.model_copy(update={"budget_s": 300.0, "precision": 0.01})
    assert is_same_thing(header, changed(own, study=longer, trial_duration_s=3.0).header)
    elsewhere = header.machine.model_copy(update={"cpu_model": "Another CPU"})
    newer = tuple(each.model_copy(update={"version": "99"}) for each in header.specimens)
    for update in (
        {"machine": elsewhere},
        {"specimens": newer},
        {"study": header.study.model_copy(update={"rows": 5})},
        {"guest": True},
    ):
        assert not is_same_thing(header, changed(own, **update).header)


BEFORE, AFTER = {1: 0.0, 2: 0.02, 3: 0.01}, {1: 0.10, 2: 0.14, 3: 0.11, 4: 0.11, 5: 0.12}


BASE: Measure = "to the baseline"


def log_half(found: Interval) -> float:
    assert found.low is not None
    return log(found.point / found.low)


def test_with_many_runs_known_that_differ_by_nothing_it_is_the_scatter_of_blocks() -> None:
    """Which these two runs have, and the others had not: Student's interval of what is pooled."""
    many = Scatter(0.0, 10**9)
    found = change_between(BEFORE, AFTER, confidence=0.95, measure=BASE, known=many)
    errors = stats.sem(list(BEFORE.values())) ** 2 + stats.sem(list(AFTER.values())) ** 2
    assert log_half(found) == pytest.approx(stats.t.ppf(0.9875, 6) * sqrt(errors), rel=1e-5)
    assert (found.point, found.blocks) == (pytest.approx(exp(0.106)), 3)
    same = {1: 0.0, 2: 0.0}
    alike = change_between(same, same, confidence=0.95, measure=BASE)
    assert (alike.low, alike.high) == (1, 1), "counts that never change have an interval of no width"


def test_of_two_runs_alone_it_is_as_wide_as_is_likely_beforehand() -> None:
    """With so much of it, what the blocks scatter is nothing beside it."""
    found = change_between({1: 0.0, 2: 1e-9}, {1: 0.1, 2: 0.1 + 1e-9}, confidence=0.95, measure="itself")
    reach = stats.t.ppf(0.9875, PRIOR_FREEDOM) * sqrt(2) * BETWEEN_RUNS["itself"]
    assert log_half(found) == pytest.approx(reach, rel=1e-4)


def test_other_runs_are_weighted_by_their_number() -> None:
    quiet = {1: 0.0, 2: 1e-9}
    things = [[0.0, 0.02, 0.04], [1.0], [5.0, 5.02]]
    known = scatter_of([[{1: mean - 0.001, 2: mean + 0.001} for mean in means] for means in things])
    assert known == Scatter(pytest.approx((0.0008 + 0.0002) / 3), 3, pytest.approx(1e-6))
    found = change_between(quiet, quiet, confidence=0.95, measure=BASE, known=known)
    weights = PRIOR_FREEDOM + 3
    between = (PRIOR_FREEDOM * BETWEEN_RUNS[BASE] ** 2 + 3 * known.variance) / weights
    assert log_half(found) == pytest.approx(stats.t.ppf(0.9875, weights) * sqrt(2 * between), rel=1e-4)


def test_two_runs_of_one_command_that_were_called_different_are_not() -> None:
    """÷5.03 [4.64, 5.45] and ÷3.54 [3.16, 3.98] of resumed reconnecting, of one command on one machine."""
    logs = [
        {block: log(ratio) + scatter * step for block, step in enumerate((-1.2, -0.6, 0.0, 0.6, 1.2))}
        for ratio, scatter in ((1 / 5.03, 0.05), (1 / 3.54, 0.07))
    ]
    found = change_between(logs[0], logs[1], confidence=confidence_of_each(0.95, 8), measure=BASE)
    assert not found.excludes_one


def test_blocks_that_scatter_widen_it_by_more_than_their_mean_does() -> None:
    """Ten times the blocks do not make it narrow: they are all of one minute."""
    few, many = (dict(enumerate([-0.2, 0.2] * count)) for count in (2, 200))
    halves = [log_half(change_between(own, own, confidence=0.95, measure=BASE)) for own in (few, many)]
    assert halves[1] > 0.5 * halves[0]


def test_a_single_block_has_no_interval_and_none_no_change() -> None:
    alone = change_between({1: 0.0}, AFTER, confidence=0.95, measure="itself")
    assert (alone.low, alone.high, alone.blocks) == (None, None, 1)
    for pair in (({}, AFTER), (BEFORE, {})):
        with pytest.raises(ValueError, match="a block"):
            change_between(*pair, confidence=0.95, measure="itself")


def test_of_several_intervals_each_is_surer() -> None:
    assert [confidence_of_each(0.95, number) for number in (0, 1, 5)] == pytest.approx([0.95, 0.95, 0.99])


LUCK = (0.01, 0.05, 0.15)
"""How far runs of the same differ on three machines; blocks scatter by a third of that."""


def simulated(
    chance: np.random.Generator, change: float, cases: int, *, luck: float = 0.015, others: int = 0
) -> list[Interval]:
    """A check of N cases, whose runs differ by luck as runs do, and by the change; others are known."""
    found = []
    for _ in range(cases):
        before, after, *more = (
            dict(enumerate(chance.normal(chance.normal(0, luck), luck / 3, size=8)))
            for _ in range(2 + others)
        )
        changed = {block: value + log(1 + change) for block, value in after.items()}
        known = scatter_of([more])
        each = confidence_of_each(0.95, cases)
        found.append(change_between(before, changed, confidence=each, measure=BASE, known=known))
    return found


@pytest.mark.parametrize("luck", LUCK)
@pytest.mark.parametrize(("cases", "others"), [(1, 0), (8, 0), (8, 4), (8, 12)])
def test_of_a_hundred_checks_of_the_same_hardly_one_fails(cases: int, others: int, luck: float) -> None:
    """A limit of nothing at all is the hardest one; of 200 checks one in twenty would be 10."""
    chance = np.random.default_rng(11)
    failed = sum(
        any(
            verdict_of(own, NOTHING) == "FAIL"
            for own in simulated(chance, 0.0, cases, luck=luck, others=others)
        )
        for _ in range(200)
    )
    assert failed <= 10


def test_a_planted_40_per_cent_is_told_where_runs_are_known_to_differ_by_little() -> None:
    chance = np.random.default_rng(12)
    found = [verdict_of(simulated(chance, 0.4, 8, others=6)[0], NOTHING) for _ in range(100)]
    assert found.count("FAIL") > 95
    alone = [verdict_of(simulated(chance, 0.4, 8)[0], NOTHING) for _ in range(100)]
    assert alone.count("FAIL") < 5, "of two runs alone it is not known"
    assert {"PASS"}.isdisjoint((*found, *alone))


def test_a_planted_cost_fails_nothing_planted_passes_and_one_too_close_is_inconclusive() -> None:
    limit = Limits((Limit(outcome=CPU, most=0.25),))
    same = gated(run(2), run(1), limit, others=others())
    assert same.verdict == "PASS"
    assert {own.word("verdict") for own in same.changes} == {"PASS"}
    assert len(same.changes) == 6, "baselines are not gated"
    assert len(same.same_again) == 12
    assert gated(run(2), run(1), limit).verdict == "INCONCLUSIVE", "of two runs alone it is not known"
    assert gated(run(2, tls_costs=1.6), run(1), limit, others=others()).verdict == "FAIL"
    assert gated(run(2, tls_costs=1.25), run(1), limit, others=others()).verdict == "INCONCLUSIVE"
    assert gated(run(2, all_costs=1.5), run(1), limit, others=others()).verdict == "PASS"
    costlier = gated(run(2, all_costs=3.0), run(1), limit, others=others(), measure="itself")
    assert costlier.verdict == "FAIL"


def test_an_outcome_that_no_run_has_is_said() -> None:
    with pytest.raises(UserMistake, match="path_cpu_us_per_op"):
        gated(run(2), run(1), Limits((Limit(outcome="path_cpu_us_per_op", most=0.1),)))


def test_a_single_block_is_inconclusive() -> None:
    once = run(2)
    first = once.model_copy(update={"trials": tuple(own for own in once.trials if own.trial.block == 0)})
    found = gated(first, run(1), Limits((Limit(outcome=CPU, most=0.5),)))
    assert found.verdict == "INCONCLUSIVE"
    assert "single block" in gate_text(found, width=100, colour=False)


@pytest.mark.parametrize("width", [50, 120])
def test_on_a_terminal_every_case_has_its_line(width: int) -> None:
    limit = Limits(tuple(Limit(outcome=name, most=0.25) for name in (CPU, "client_cpu_us_per_op")))
    found = gated(run(2, tls_costs=1.8), run(1), limit, others=others())
    text = gate_text(found, width=width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    lines = text.splitlines()
    assert sum(line.startswith("FAIL") for line in lines) == 6 + 1
    assert sum(line.startswith("PASS") for line in lines) == 6
    plain = " ".join(text.split())
    assert "All 12 intervals hold together with 95 %" in plain
    shown = printed_sections(sections(compared([run(1), run(2), run(3)], (CPU,))), width=width, colour=False)
    assert max(map(len, shown.splitlines())) <= width
    assert shown.count("nothing that is known of them") == 2
    told = compared([run(1), run(2, tls_costs=1.8)], (CPU,), others=others())
    lines = printed_sections(sections(told)).splitlines()
    first = next(line for line in lines if line.startswith("TLS 1.3, point selects"))
    assert re.fullmatch(
        r"TLS 1\.3, point selects on kept +1\.\d{3} × +1\.9\d{2} × +\+\d\d\.\d % \[.*\]", first
    )


def test_the_document_is_read_back_as_it_was_written() -> None:
    found = compared([run(1), run(2)], (CPU,))
    text = found.model_dump_json(by_alias=True)
    assert json.loads(text)["schema"] == 3
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
        text = printed_sections(sections(compared(runs, (CPU,))), width=200, colour=False)
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
    found = compared([first, changed(second, specimens=(library,))], (CPU,))
    text = printed_sections(sections(found))
    assert "TLS library openssl-3.6: openssl-3.6 3.6.1-1 → openssl-3.6 3.6.3" in text
    assert "client tlstax-engine: tlstax-engine 0.1.0 → none" in text
