"""A storm's figures, worked out by hand from four rounds, and what they are set beside."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fake_trials import Truth, fake_header, fake_record, untrue
from tlstax.findings.connect.storms import storms
from tlstax.findings.core.estimates import estimates
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, Trial
from tlstax.results.connect import StormResult
from tlstax.study import Published, Study, load_study, override

SMALL = override(
    override(override(load_study("tax"), "workload", ["storm"]), "tls", ["1.3"]), "connections", ["10"]
)


AS_PLANTED = {"baseline": 1.0, "control": 1.0, "treatment": 2.0}


def small_run(study: Study = SMALL, scales: Mapping[str, float] = AS_PLANTED, **spoiled: int) -> StoredRun:
    """Two blocks of storms of 10 connections in rounds of 0.1 s and 0.2 s, or longer by a role's scale.

    `spoiled` names a role of which the trial of that block is not valid.
    """
    records = []
    for block in range(2):
        for position, case in enumerate(cases(study)):
            record = fake_record(Trial(block=block, position=position, case=case), Truth(1000, {}, 1, 1))
            scale = scales[case.role]
            assert record.done is not None
            changes = {"rounds_s": (scale * 0.1, scale * 0.2), "operations": 20, "elapsed_s": 9.0}
            record = record.model_copy(update={"done": record.done.model_copy(update=changes)})
            is_spoiled = spoiled.get(case.role) == block
            records.append(untrue(record, "not encrypted") if is_spoiled else record)
    return StoredRun(header=fake_header(study), status="complete", stopped_because="", trials=tuple(records))


def results(stored: StoredRun) -> dict[str, StormResult]:
    found = storms(stored, estimates(stored.header.study, stored.trials))
    return {result.role: result for result in found}


def test_a_storms_figures_are_those_of_its_rounds() -> None:
    """By hand: rounds of 100 and 50 connections a second, twice: 75 on average, 28.87 apart."""
    found = results(small_run())
    assert list(found) == ["baseline", "control", "treatment"]
    plain = found["baseline"]
    assert (plain.connections, plain.trials, plain.rounds) == (10, 2, 4)
    assert (plain.mean_per_s, plain.sd_per_s) == (75.0, pytest.approx(28.8675, abs=1e-4))
    assert (plain.label, plain.group) == ("plaintext", "connection storms, 10 connections")
    assert plain.case == {"workload": "storm", "connections": 10, "tls": "off", "resumption": "off"}
    assert (found["treatment"].mean_per_s, found["treatment"].label) == (37.5, "TLS 1.3")
    assert found["control"].case == {**plain.case, "control": "yes"}


def test_a_storm_is_judged_against_its_baseline_and_the_control() -> None:
    found = results(small_run())
    ratio = found["treatment"].against_baseline
    assert ratio is not None
    assert (ratio.point, ratio.low, ratio.high) == pytest.approx((0.5, 0.5, 0.5))
    assert (ratio.confidence, ratio.blocks, ratio.noise_floor) == (0.95, 2, pytest.approx(0.0))
    assert ratio.judgement == "lower"
    control = found["control"].against_baseline
    assert control is not None
    assert (control.point, control.judgement) == (pytest.approx(1.0), "alike")
    assert found["baseline"].against_baseline is None


def test_what_the_control_strays_by_is_no_difference() -> None:
    strayed = results(small_run(scales={"baseline": 1.0, "control": 1.5, "treatment": 1.2}))
    ratio = strayed["treatment"].against_baseline
    assert ratio is not None
    assert ratio.point == pytest.approx(1 / 1.2)
    assert ratio.noise_floor == pytest.approx(0.5)
    assert ratio.judgement == "inconclusive"


def test_a_storm_is_called_by_what_its_study_compares() -> None:
    study = Study(
        name="ladder",
        title="Ladder",
        question="q",
        factors={"workload": ("storm",), "connections": (8, 64), "tls": ("1.3",)},
        baseline={"connections": 8},
    )
    found = results(small_run(study))
    assert [result.label for result in found.values()] == [
        "8 connections",
        "8 connections again (control)",
        "64 connections",
    ]
    assert {result.group for result in found.values()} == {"TLS 1.3, connection storms"}


def test_only_valid_trials_are_in_a_storms_figures() -> None:
    found = results(small_run(treatment=1))
    assert (found["treatment"].trials, found["treatment"].rounds) == (1, 2)
    assert found["treatment"].sd_per_s == pytest.approx(17.6777, abs=1e-4)
    ratio = found["treatment"].against_baseline
    assert ratio is not None
    assert (ratio.blocks, ratio.low, ratio.high) == (1, None, None)


def test_one_round_scatters_by_nothing_that_is_known() -> None:
    stored = small_run(treatment=1)
    once = tuple(
        record.model_copy(
            update={
                "done": record.done and record.done.model_copy(update={"rounds_s": (0.1,), "operations": 10})
            }
        )
        for record in stored.trials
    )
    found = results(stored.model_copy(update={"trials": once}))["treatment"]
    assert (found.rounds, found.mean_per_s, found.sd_per_s) == (1, 100.0, None)


def test_what_was_never_valid_or_is_no_storm_has_no_figures() -> None:
    stored = small_run()
    lost = tuple(untrue(r, "no") if r.trial.case.role == "treatment" else r for r in stored.trials)
    assert list(results(stored.model_copy(update={"trials": lost}))) == ["baseline", "control"]
    found = estimates(SMALL, stored.trials)
    calm = tuple(
        r.model_copy(update={"done": r.done and r.done.model_copy(update={"rounds_s": ()})})
        for r in stored.trials
    )
    assert storms(stored.model_copy(update={"trials": calm}), found) == ()


def test_a_published_rate_stands_beside_its_own_case_alone() -> None:
    def figure(**changes: object) -> Published:
        told = {"label": "a", "value": 5.0, "unit": "1/s", "source": "b", "outcome": "connections_per_s"}
        return Published.model_validate({**told, "beside": {"tls": "off"}, **changes})

    figures = (
        figure(),
        figure(outcome="ops_per_s", label="c"),
        figure(outcome="latency_p50_us", label="e"),
        figure(beside={}, label="f"),
        figure(beside={"tls": "1.3"}, label="d"),
    )
    study = SMALL.model_copy(update={"published": figures})
    found = results(small_run(study))
    assert [(rate.label, rate.value, rate.source) for rate in found["baseline"].published] == [
        ("a", 5.0, "b"),
        ("c", 5.0, "b"),
    ]
    assert [rate.label for rate in found["treatment"].published] == ["d"]
    assert found["control"].published == ()
