"""Figures for other tools: the planted ones, with intervals; nothing of a run that is not whole."""

from __future__ import annotations

import pytest

from fake_openssl_study import small_openssl_run
from report_runs import all_invalid, exact_run, noisy_run, not_begun, one_block, one_case_lost
from tlstax.findings.tracked.figures import tracked
from tlstax.results.tracked import TrackedFigure, TrackedRun
from tlstax.support.errors import UserMistake

OUTCOMES = ("ops_per_s", "server_cpu_us_per_op")


def figure(run: TrackedRun, label: str, outcome: str, measure: str) -> TrackedFigure:
    (found,) = (
        own
        for own in run.figures
        if (own.outcome, own.measure) == (outcome, measure) and own.label.startswith(label)
    )
    return found


def test_the_planted_figures_are_there_with_what_ran() -> None:
    run = tracked(exact_run(), OUTCOMES)
    value = figure(run, "TLS 1.3, reconnecting", "ops_per_s", "itself")
    ratio = figure(run, "TLS 1.3, reconnecting", "ops_per_s", "to the baseline")
    assert value.interval.point == pytest.approx(1020)
    assert ratio.interval.point == pytest.approx(1020 / 5000)
    assert (value.unit, ratio.unit, ratio.baseline) == ("1/s", "1", "plaintext")
    assert value.interval.blocks == 8
    assert value.negotiated.startswith("TLSv1.3")
    assert value.case["tls"] == "1.3"
    assert run.ran
    assert (run.trials.invalid, run.trials.unknown) == (0, 0)


def test_a_baseline_has_no_ratio_and_a_control_no_figure() -> None:
    run = tracked(exact_run(), OUTCOMES)
    plain = [own for own in run.figures if own.case["tls"] == "off"]
    assert {own.measure for own in plain} == {"itself"}
    assert not any("control" in own.label for own in run.figures)
    assert len({(own.label, own.outcome, own.measure) for own in run.figures}) == len(run.figures)


def test_intervals_are_those_of_the_run() -> None:
    ratio = figure(tracked(noisy_run(), OUTCOMES), "TLS 1.3, reconnecting", "ops_per_s", "to the baseline")
    assert ratio.interval.low is not None
    assert ratio.interval.high is not None
    assert ratio.interval.low < ratio.interval.point < ratio.interval.high
    alone = tracked(one_block(), OUTCOMES).figures[0].interval
    assert (alone.low, alone.high, alone.blocks) == (None, None, 1)


def test_a_case_without_a_valid_trial_has_no_figure() -> None:
    assert {own.case["tls"] for own in tracked(one_case_lost(), OUTCOMES).figures} == {"off", "1.3"}
    with pytest.raises(UserMistake, match="has no figure of ops_per_s, server_cpu_us_per_op"):
        tracked(all_invalid(), OUTCOMES)


@pytest.mark.parametrize("status", ["interrupted", "failed", "running"])
def test_a_run_that_is_not_whole_is_refused(status: str) -> None:
    with pytest.raises(UserMistake, match=f"is {status}, and only a run that is complete"):
        tracked(exact_run().model_copy(update={"status": status}), OUTCOMES)
    with pytest.raises(UserMistake) as caught:
        tracked(not_begun(), OUTCOMES)
    assert "--resume" in caught.value.remedy


def test_cases_are_named_as_their_study_names_them() -> None:
    stored = small_openssl_run().model_copy(update={"status": "complete"})
    run = tracked(stored, OUTCOMES)
    case = next(own for own in run.figures if own.measure == "to the baseline")
    assert str(case.case["tls_library"]) in case.label
    assert case.baseline == "plaintext"
    assert (run.run, run.study) == (stored.header.run, stored.header.study.name)
    assert (run.started_at, run.tlstax_version) == (stored.header.started_at, stored.header.tlstax_version)


def test_a_trial_that_is_not_valid_says_nothing_of_what_ran() -> None:
    run = tracked(noisy_run(), OUTCOMES)
    assert run.trials.invalid > 0
    assert run.trials.valid + run.trials.invalid + run.trials.unknown == len(noisy_run().measured)
    assert all(own.interval.blocks <= 8 and own.negotiated for own in run.figures)
