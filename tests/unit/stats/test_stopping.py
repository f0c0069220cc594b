"""A study goes on until it knows enough, its budget is spent or nothing can be learned."""

from math import exp

import pytest

from fake_trials import Truth, crashed, fake_record, fake_run, untrue
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.stats.stats import blocks_needed
from tlstax.stats.stopping import HOPELESS_BLOCKS, Continue, Stop, decide
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
