"""A study goes on until it knows enough or its budget is spent, by machines too; what it shows meanwhile."""

from __future__ import annotations

from math import exp

import pytest

from fake_trials import Truth, crashed, fake_record, fake_run, untrue
from intervals import known
from machine_runs import machine_run, machine_study
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.results.live import KnownRatio
from tlstax.stats.estimates import estimates
from tlstax.stats.stats import blocks_needed
from tlstax.stats.stopping import (
    HOPELESS_BLOCKS,
    Continue,
    Progress,
    Stop,
    decide,
    most_telling,
    short_labels,
)
from tlstax.study import Study, load_study, override
from tlstax.study.labels import full_label

STUDY = load_study("tax").model_copy(update={"budget_s": 1000.0})
WIGGLE = (0.01, -0.01, 0.02, -0.02, 0.0)


def _records(number_of_blocks: int, size: float, study: Study = STUDY) -> list[TrialRecord]:
    """Trials whose ratios scatter by `size` times WIGGLE, the same in every comparison."""
    records = []
    for block in range(number_of_blocks):
        for position, case in enumerate(cases(study)):
            off = size * WIGGLE[block % 5] if case.role != "baseline" else 0.0
            trial = Trial(block=block, position=position, case=case)
            records.append(fake_record(trial, Truth(1000 * exp(off), {}, 1, 1)))
    return records


def test_quiet_studies_stop_at_their_minimum_of_blocks() -> None:
    assert isinstance(decide(STUDY, _records(4, 0.1), 40.0), Continue)
    decision = decide(STUDY, _records(5, 0.1), 50.0)
    assert isinstance(decision, Stop)
    assert decision.reason == "precision"
    assert decision.why == "every ratio is known to ±2 %"


def test_noisy_studies_go_on_and_say_what_is_left() -> None:
    decision = decide(STUDY, _records(5, 1.0), 50.0)
    assert isinstance(decision, Continue)
    progress = decision.progress
    assert progress.blocks == 5
    assert progress.wanted == 0.02
    assert progress.worst_half_width == pytest.approx(0.025, abs=0.001)
    assert progress.left_blocks > 0
    assert progress.left_s == pytest.approx(progress.left_blocks * 10.0)
    predicted = 5 + progress.left_blocks
    stops_at = next(n for n in range(5, 99) if isinstance(decide(STUDY, _records(n, 1.0), 10.0 * n), Stop))
    assert abs(predicted - stops_at) <= 2


def test_the_worst_comparison_is_named_and_decides() -> None:
    records = _records(6, 0.1)
    noisy = [
        fake_record(r.trial, Truth(1000 * exp(5 * WIGGLE[r.trial.block % 5]), {}, 1, 1))
        if r.trial.case.levels["tls"] == "1.2" and r.trial.case.levels["workload"] == "reconnect"
        else r
        for r in records
    ]
    decision = decide(STUDY, noisy, 60.0)
    assert isinstance(decision, Continue)
    assert decision.progress.worst.startswith("TLS 1.2, reconnecting")


def test_the_control_must_be_known_as_well() -> None:
    records = [
        fake_record(r.trial, Truth(1000 * exp(5 * WIGGLE[r.trial.block % 5]), {}, 1, 1))
        if r.trial.case.role == "control"
        else r
        for r in _records(6, 0.1)
    ]
    decision = decide(STUDY, records, 60.0)
    assert isinstance(decision, Continue)
    assert "control" in decision.progress.worst


def test_no_block_is_begun_that_would_not_end_within_the_budget() -> None:
    records = _records(5, 1.0)
    assert isinstance(decide(STUDY.model_copy(update={"budget_s": 60.0}), records, 50.0), Continue)
    decision = decide(STUDY.model_copy(update={"budget_s": 59.0}), records, 50.0)
    assert isinstance(decision, Stop)
    assert decision.reason == "budget"
    assert decision.why.startswith("the budget of 59 s is spent; the widest ratio is known to ±2.5 % (")


def test_the_time_left_is_never_more_than_the_budget_leaves() -> None:
    decision = decide(STUDY.model_copy(update={"budget_s": 70.0}), _records(5, 10.0), 50.0)
    assert decision.progress.left_s == pytest.approx(20.0)
    assert decide(STUDY, [], 0.0).progress.left_s == STUDY.budget_s


def test_a_budget_of_one_block_stops_and_says_so() -> None:
    decision = decide(STUDY.model_copy(update={"budget_s": 12.0}), _records(1, 1.0), 10.0)
    assert isinstance(decision, Stop)
    assert decision.why == "the budget of 12 s is spent before every ratio had two blocks"
    assert decision.progress.worst_half_width is None


def test_invalid_trials_do_not_count_as_blocks() -> None:
    records = [untrue(r, "not resumed") if r.trial.block == 2 else r for r in _records(5, 0.1)]
    decision = decide(STUDY, records, 50.0)
    assert isinstance(decision, Continue)
    assert decision.progress.left_blocks == 1


def test_a_case_that_never_works_does_not_hold_up_the_others() -> None:
    def broken(records: list[TrialRecord]) -> list[TrialRecord]:
        return [crashed(r.trial) if r.trial.case.levels["tls"] == "1.2" else r for r in records]

    assert isinstance(decide(STUDY, broken(_records(4, 0.1)), 40.0), Continue)
    decision = decide(STUDY, broken(_records(5, 0.1)), 50.0)
    assert isinstance(decision, Stop)
    assert decision.why == "every ratio that could be measured is known to ±2 %"


def test_a_study_in_which_nothing_works_ends_before_its_budget() -> None:
    records = [crashed(record.trial) for record in _records(HOPELESS_BLOCKS, 0.1)]
    assert isinstance(decide(STUDY, records[:-10], 20.0), Continue)
    decision = decide(STUDY, records, 30.0)
    assert isinstance(decision, Stop)
    assert decision.reason == "hopeless"
    assert decision.why == "no comparison has a valid pair of trials with ops_per_s"


def test_plaintext_alone_is_decided_by_its_control() -> None:
    study = override(STUDY, "tls", ["off"])
    assert isinstance(decide(study, _records(5, 0.1, study), 50.0), Stop)
    assert isinstance(decide(study, _records(5, 2.0, study), 50.0), Continue)


def test_a_percentile_may_decide() -> None:
    study = STUDY.model_copy(update={"deciding_outcome": "latency_p50_us"})
    stored = fake_run(study, number_of_blocks=5, noise=0.0005, invalid=False)
    assert isinstance(decide(study, stored.trials, 50.0), Stop)


def test_deciding_decodes_no_histogram(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(encoded: str) -> None:
        raise AssertionError(f"{encoded[:9]} was decoded")

    stored = fake_run(STUDY, number_of_blocks=5)
    monkeypatch.setattr("tlstax.stats.histograms.decode", refuse)
    assert decide(STUDY, stored.trials, 50.0).progress.blocks == 5


def _one_noisy(number_of_blocks: int) -> list[TrialRecord]:
    """Only TLS 1.2 with kept connections scatters."""
    return [
        fake_record(r.trial, Truth(1000 * exp(5 * WIGGLE[r.trial.block % 5]), {}, 1, 1))
        if (r.trial.case.levels["tls"], r.trial.case.levels["workload"]) == ("1.2", "point-select")
        else r
        for r in _records(number_of_blocks, 0.1)
    ]


def test_what_is_known_so_far_is_told_of_each_ratio() -> None:
    """Five blocks scatter by 1, -1, 2, -2 and 0 times 5 % or 0.1 %: a standard error of 0.7071 of that."""
    progress = decide(STUDY, _one_noisy(5), 50.0).progress
    waited_for = [case for case in cases(STUDY) if case.role != "baseline"]
    assert [(known.levels, known.is_control) for known in progress.known] == [
        (case.levels, case.role == "control") for case in waited_for
    ]
    assert progress.ratios == len(waited_for)
    imprecise = [known for known in progress.known if not known.precise]
    assert [known.levels["tls"] for known in imprecise] == ["1.2"]
    assert imprecise[0].now.half_width == progress.worst_half_width
    wide, narrow = (exp(3.4954 * size * 0.0158114 / 5**0.5) - 1 for size in (5, 0.1))
    assert progress.worst_half_width == pytest.approx(wide, rel=1e-4)
    assert progress.median_half_width == pytest.approx(narrow, rel=1e-4)
    assert progress.left_blocks == blocks_needed(imprecise[0].now, 0.02, 0.95) - 5


def test_nothing_is_left_of_a_study_that_knows_enough() -> None:
    decision = decide(STUDY, _records(8, 0.1), 80.0)
    assert isinstance(decision, Stop)
    assert (decision.progress.left_blocks, decision.progress.left_s) == (0, 0.0)


def test_until_there_are_two_blocks_nothing_is_the_widest() -> None:
    for blocks, left in ((0, 5), (1, 4)):
        progress = decide(STUDY, _records(blocks, 1.0), 10.0 * blocks).progress
        assert (progress.blocks, progress.left_blocks) == (blocks, left)
        assert (progress.worst_half_width, progress.worst, progress.median_half_width) == (None, "", None)
    least = STUDY.model_copy(update={"minimum_blocks": 2})
    assert decide(least, _records(1, 1.0), 10.0).progress.left_blocks == 1


def test_as_precise_as_wanted_is_precise() -> None:
    widest = decide(STUDY, _records(5, 1.0), 50.0).progress.worst_half_width
    assert isinstance(decide(STUDY.model_copy(update={"precision": widest}), _records(5, 1.0), 50.0), Stop)


def test_the_minimum_of_blocks_is_waited_for_however_quiet_they_are() -> None:
    patient = STUDY.model_copy(update={"minimum_blocks": 12})
    decision = decide(patient, _records(9, 0.1), 90.0)
    assert isinstance(decision, Continue)
    assert (decision.progress.left_blocks, decision.progress.left_s) == (3, pytest.approx(30.0))


def test_with_as_many_blocks_as_it_may_have_a_study_ends() -> None:
    three = STUDY.model_copy(update={"minimum_blocks": 3, "maximum_blocks": 3, "budget_s": 10_000.0})
    two = decide(three, _records(2, 1.0), 20.0)
    assert isinstance(two, Continue)
    assert (two.progress.left_blocks, two.progress.left_s) == (1, pytest.approx(10.0))
    ended = decide(three, _records(3, 1.0), 30.0)
    assert isinstance(ended, Stop)
    assert (ended.reason, ended.why) == ("blocks", "3 blocks had been asked for")


def test_blocks_that_were_asked_for_are_not_ended_by_the_budget() -> None:
    two = {"minimum_blocks": 2, "maximum_blocks": 2, "budget_s": 15.0}
    slow = STUDY.model_copy(update={**two, "overtime": True})
    one = decide(slow, _records(1, 1.0), 40.0)
    assert isinstance(one, Continue)
    assert (one.progress.left_blocks, one.progress.left_s) == (1, pytest.approx(40.0))
    ended = decide(slow, _records(2, 1.0), 80.0)
    assert isinstance(ended, Stop)
    assert ended.reason == "blocks"
    bounded = decide(STUDY.model_copy(update=two), _records(1, 1.0), 40.0)
    assert isinstance(bounded, Stop)
    assert bounded.reason == "budget"


def test_no_time_is_left_once_the_budget_is_overdrawn() -> None:
    decision = decide(STUDY.model_copy(update={"budget_s": 45.0}), _records(5, 1.0), 50.0)
    assert isinstance(decision, Stop)
    assert decision.progress.left_s == 0.0


def test_an_outcome_that_the_baseline_never_has_decides_nothing() -> None:
    study = STUDY.model_copy(update={"deciding_outcome": "tls_handshake_p50_us"})
    stored = fake_run(study, number_of_blocks=HOPELESS_BLOCKS, invalid=False)
    decision = decide(study, stored.trials, 30.0)
    assert isinstance(decision, Stop)
    assert (decision.reason, decision.progress.blocks) == ("hopeless", HOPELESS_BLOCKS)
    assert (decision.progress.ratios, decision.progress.left_blocks, decision.progress.known) == (0, 0, ())


def test_a_stop_for_want_of_budget_tells_how_far_it_came() -> None:
    decision = decide(STUDY.model_copy(update={"budget_s": 59.0}), _records(5, 1.0), 50.0)
    assert decision.progress.blocks == 5
    assert isinstance(decision, Stop)
    assert f"({decision.progress.worst})" in decision.why


def test_while_a_comparison_has_fewer_than_two_blocks_there_is_no_widest() -> None:
    """TLS 1.2 worked in the first block alone, so far; the others are known to some width already."""
    records = [
        crashed(r.trial) if r.trial.case.levels["tls"] == "1.2" and r.trial.block else r
        for r in _records(2, 1.0)
    ]
    progress = decide(STUDY, records, 20.0).progress
    assert len(progress.known) == progress.ratios
    assert (progress.worst_half_width, progress.worst, progress.median_half_width) == (None, "", None)


def test_the_worst_comparison_is_named_in_the_studys_own_words() -> None:
    """Where numbers of connections are compared with each other, the case is named by its number."""
    tls = override(override(STUDY, "tls", ["1.3"]), "connections", ["1", "8"])
    study = tls.model_copy(update={"baseline": {"connections": 1}, "treatments": ({"tls": "1.3"},)})
    records = [
        fake_record(r.trial, Truth(1000 * exp(5 * WIGGLE[r.trial.block % 5]), {}, 1, 1))
        if r.trial.case.levels["connections"] == 8
        else r
        for r in _records(6, 0.1, study)
    ]
    progress = decide(study, records, 60.0).progress
    levels = next(known.levels for known in progress.known if not known.precise)
    noisy = next(case for case in cases(study) if case.levels == levels)
    assert progress.worst == full_label(noisy, study) != full_label(noisy)


TAX = load_study("tax")
RECONNECT = override(TAX, "workload", ["reconnect"])
LADDER = Study(
    name="ladder",
    title="Ladder",
    question="What do many connections cost?",
    factors={"workload": ("reconnect",), "connections": (8, 64), "tls": ("1.3",)},
    baseline={"connections": 8},
)


def ratio(label: str, point: float, low: float | None, high: float | None) -> KnownRatio:
    return KnownRatio(label=label, history=(known(point, low, high, 5),), precise=False)


def test_labels_leave_out_what_all_cases_say() -> None:
    assert list(short_labels(RECONNECT).values()) == [
        "plaintext",
        "plaintext again (control)",
        "TLS 1.3",
        "TLS 1.3 resumed",
        "TLS 1.2",
    ]
    two = list(short_labels(TAX).values())
    assert two[0] == "plaintext, point selects on kept connections"
    assert two[-1] == "TLS 1.2, reconnecting for every point select"
    assert list(short_labels(TAX)) == [case.key() for case in cases(TAX)]


def test_what_only_some_cases_say_stays() -> None:
    labels = list(short_labels(override(RECONNECT, "connections", ["8", "64"])).values())
    assert labels[0] == "plaintext, 8 connections"
    assert labels[-1] == "TLS 1.2, 64 connections"


def test_a_case_that_says_only_what_all_say_keeps_its_whole_name() -> None:
    """A direct path goes without saying, so that its case has no words of its own."""
    study = Study(
        name="paths",
        title="Paths",
        question="What does stunnel cost?",
        factors={
            "workload": ("reconnect",),
            "connections": (8,),
            "tls": ("1.3",),
            "path": ("stunnel", "direct"),
        },
        baseline={"tls": "1.3", "path": "stunnel"},
    )
    assert list(short_labels(study).values()) == [
        "through stunnel",
        "through stunnel again (control)",
        "TLS 1.3, reconnecting for every point select, 8 connections",
    ]


def test_cases_are_called_by_what_their_study_compares() -> None:
    assert list(short_labels(LADDER).values()) == [
        "8 connections",
        "8 connections again (control)",
        "64 connections",
    ]


def test_progress_is_told_in_the_words_of_the_study() -> None:
    study = RECONNECT.model_copy(update={"deciding_outcome": "server_cpu_us_per_op"})
    stored = fake_run(study, number_of_blocks=2, invalid=False)
    progress = decide(study, stored.measured, 9.0).progress
    assert (progress.outcome, progress.baseline) == ("server CPU per operation", "plaintext")
    assert [(known.label, known.is_control) for known in progress.known] == [
        ("plaintext again (control)", True),
        ("TLS 1.3", False),
        ("TLS 1.3 resumed", False),
        ("TLS 1.2", False),
    ]


def test_a_baseline_is_called_as_its_study_calls_it() -> None:
    assert decide(LADDER, (), 0.0).progress.baseline == "8 connections"


@pytest.mark.parametrize(
    ("count", "labels"),
    [
        (0, []),
        (-1, []),
        (1, ["a fifth"]),
        (2, ["a half", "a fifth"]),
        (3, ["a half", "twice", "a fifth"]),
        (4, ["a half", "unsure", "twice", "a fifth"]),
        (9, ["a half", "unsure", "one block", "half known", "no low end", "twice", "a fifth", "near"]),
    ],
)
def test_the_farthest_from_one_beyond_doubt_come_first_and_keep_their_order(
    count: int, labels: list[str]
) -> None:
    """A half is certain to be 0.5 to 0.6, twice 1.6 to 9: 1/0.6 is farther from 1 than 1.6."""
    ratios = [
        ratio("a half", 0.55, 0.5, 0.6),
        ratio("unsure", 0.1, 0.001, 1.0),
        ratio("one block", 0.01, None, None),
        ratio("half known", 0.01, 0.005, None),
        ratio("no low end", 0.01, None, 0.02),
        ratio("twice", 3.0, 1.6, 9.0),
        ratio("a fifth", 0.2, 0.19, 0.21),
        ratio("near", 1.5, 1.0, 2.0),
    ]
    assert [each.label for each in most_telling(ratios, count)] == labels


ALIKE = {"node-a": 1.0, "node-b": 1.0, "node-c": 1.0}
APART = {"node-a": 1.0, "node-b": 1.1, "node-c": 1.2}


def decided(run: StoredRun, elapsed_s: float, budget_s: float = 1000.0) -> Stop | Continue:
    return decide(run.header.study.model_copy(update={"budget_s": budget_s}), run.measured, elapsed_s)


def going_on(run: StoredRun, elapsed_s: float) -> Progress:
    decision = decided(run, elapsed_s)
    assert isinstance(decision, Continue)
    return decision.progress


def test_it_stops_when_the_interval_over_machines_is_narrow_enough() -> None:
    run = machine_run(ALIKE, blocks=30, noise=0.005)
    decision = decided(run, 300.0)
    assert isinstance(decision, Stop)
    assert decision.reason == "precision"
    known = decision.progress.known[1].now
    (treatment,) = (
        e.ratio
        for e in estimates(run.header.study, run.measured)
        if (e.comparison.case.role, e.outcome) == ("treatment", "ops_per_s")
    )
    assert known == treatment


def test_machines_that_differ_by_more_than_is_wanted_go_on_until_the_budget_ends_it() -> None:
    """No number of blocks makes them alike: what is left is what the budget has room for, and no more."""
    progress = going_on(machine_run(APART, blocks=30, noise=0.001), 300.0)
    assert (progress.left_blocks, progress.left_s) == (70, pytest.approx(700.0))
    assert going_on(machine_run(APART, blocks=30, noise=0.001), 905.0).left_blocks == 3
    decision = decided(machine_run(APART, blocks=30, noise=0.001), 999.0)
    assert isinstance(decision, Stop)
    assert decision.reason == "budget"
    assert decision.progress.left_blocks == 1
    assert decision.progress.left_s <= 1.0


def test_what_is_left_is_predicted_where_machines_are_alike() -> None:
    """Of two machines, with the scatter of a block as large as what is wanted."""
    for blocks in (12, 20, 40):
        progress = going_on(machine_run({"node-a": 1.0, "node-b": 1.0}, blocks=blocks, noise=0.04), 10.0)
        assert 0 < progress.left_blocks <= 4 * 1000
        assert progress.left_s == pytest.approx(progress.left_blocks * 10.0 / blocks)


def test_what_is_left_is_never_more_than_there_is_time_for() -> None:
    progress = going_on(machine_run({"node-a": 1.0, "node-b": 1.0}, blocks=4, noise=0.3), 100.0)
    assert (progress.left_blocks, progress.left_s) == (36, pytest.approx(900.0))


def test_a_block_takes_as_many_times_as_long_as_there_are_machines() -> None:
    """30 blocks in 300 s on three machines at a time: each took 30 s, and needs as much."""
    run = machine_run(APART, blocks=30, noise=0.001)
    assert isinstance(decided(run, 300.0, budget_s=330.0), Continue)
    assert isinstance(decided(run, 300.0, budget_s=329.0), Stop)
    alone = machine_run({"": 1.0}, blocks=30, noise=0.3)
    assert isinstance(decided(alone, 300.0, budget_s=310.0), Continue)
    assert isinstance(decided(alone, 300.0, budget_s=309.0), Stop)


def test_single_blocks_of_two_machines_wait_for_the_minimum() -> None:
    run = machine_run({"node-a": 1.0, "node-b": 1.0}, blocks=2)
    assert going_on(run, 10.0).left_blocks == machine_study().minimum_blocks - 2
    spent = decided(run, 990.0)
    assert isinstance(spent, Stop)
    assert spent.why == "the budget of 1000 s is spent before every ratio had two blocks on one machine"


def test_without_time_gone_by_there_is_a_block_left() -> None:
    assert going_on(machine_run(APART, blocks=6), 0.0).left_blocks == 1
