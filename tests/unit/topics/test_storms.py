"""Storms are told as they are published, and judged by blocks: rounds of one trial are not independent."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev

import pytest

import golden
from counted_runs import storm_run
from fake_trials import Truth, fake_header, fake_record, untrue
from tlstax.checks import judge
from tlstax.cli.measure_app import RunOptions
from tlstax.cli.options import ExternalOptions
from tlstax.cli.run_command import study_of
from tlstax.cli.target_servers import external_among
from tlstax.plan.jobs import rounds_of
from tlstax.plan.order import cases
from tlstax.plan.timing import counted_s
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.report.formats.render import render
from tlstax.results.rows import Row
from tlstax.stats.outcomes import outcomes
from tlstax.study import Published, Study, load_study, override
from tlstax.study.factors import CaseLevels
from tlstax.support.errors import UserMistake
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.core.topic import Run
from tlstax.topics.storms import OF_STORM, PUBLISHED, TOPIC

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


def results(stored: StoredRun) -> dict[str, Row]:
    """The row of the one storm of each role."""
    roles = {("off", "no"): "baseline", ("off", "yes"): "control"}
    found = TOPIC.told(Run(stored)).of(role=OF_STORM)
    return {
        roles.get((str(row.case.get("tls")), str(row.case.get("control", "no"))), "treatment"): row
        for row in found
    }


def numbers(row: Row) -> tuple[object, object, float | None, float | None]:
    """Trials, rounds, their mean and their deviation."""
    return row.more["trials"], row.more["rounds"], row.value, row.number("sd_per_s")


def published(stored: StoredRun) -> list[tuple[str, object, float | None, str]]:
    """Which rate stands beside which case."""
    found = TOPIC.told(Run(stored)).of(role=PUBLISHED)
    assert {(row.outcome, row.unit) for row in found} <= {("connections_per_s", "1/s")}
    return [(row.label, row.case["tls"], row.value, row.word("source")) for row in found]


def test_a_storms_figures_are_those_of_its_rounds() -> None:
    """By hand: rounds of 100 and 50 connections a second, twice: 75 on average, 28.87 apart."""
    found = results(small_run())
    assert list(found) == ["baseline", "control", "treatment"]
    plain = found["baseline"]
    assert numbers(plain) == (2, 4, 75.0, pytest.approx(28.8675, abs=1e-4))
    assert (plain.label, plain.word("group_words")) == ("plaintext", "connection storms, 10 connections")
    assert (plain.outcome, plain.unit, plain.blocks) == ("connections_per_s", "1/s", 2)
    assert plain.case == {"workload": "storm", "connections": 10, "tls": "off", "resumption": "off"}
    assert (found["treatment"].value, found["treatment"].label) == (37.5, "TLS 1.3")
    assert found["control"].case == {**plain.case, "control": "yes"}


def test_a_storm_is_judged_against_its_baseline_and_the_control() -> None:
    found = results(small_run())
    treatment, control, baseline = (found[role] for role in ("treatment", "control", "baseline"))
    ratio = treatment.interval
    assert ratio is not None
    assert (ratio.point, ratio.low, ratio.high) == pytest.approx((0.5, 0.5, 0.5))
    assert (ratio.confidence, ratio.blocks, treatment.noise_floor) == (0.95, 2, pytest.approx(0.0))
    assert (treatment.of, treatment.judgement) == ("ratio", "lower")
    assert treatment.baseline == baseline.case
    assert control.interval is not None
    assert (control.interval.point, control.judgement) == (pytest.approx(1.0), "alike")
    assert (baseline.interval, baseline.judgement, baseline.baseline) == (None, "baseline", {})
    assert baseline.noise_floor is None


def test_what_the_control_strays_by_is_no_difference() -> None:
    strayed = results(small_run(scales={"baseline": 1.0, "control": 1.5, "treatment": 1.2}))["treatment"]
    assert strayed.interval is not None
    assert strayed.interval.point == pytest.approx(1 / 1.2)
    assert strayed.noise_floor == pytest.approx(0.5)
    assert strayed.judgement == "inconclusive"


def test_a_storm_is_called_by_what_its_study_compares() -> None:
    study = Study(
        name="ladder",
        title="Ladder",
        question="q",
        factors={"workload": ("storm",), "connections": (8, 64), "tls": ("1.3",)},
        baseline={"connections": 8},
    )
    found = TOPIC.told(Run(small_run(study))).rows
    assert [row.label for row in found] == [
        "8 connections",
        "8 connections again (control)",
        "64 connections",
    ]
    assert {row.word("group_words") for row in found} == {"TLS 1.3, connection storms"}


def test_only_valid_trials_are_in_a_storms_figures() -> None:
    found = results(small_run(treatment=1))
    assert numbers(found["treatment"]) == (1, 2, 37.5, pytest.approx(17.6777, abs=1e-4))
    ratio = found["treatment"].interval
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
    assert numbers(found) == (1, 1, 100.0, None)


def test_what_was_never_valid_or_is_no_storm_has_no_figures() -> None:
    stored = small_run()
    lost = tuple(untrue(r, "no") if r.trial.case.role == "treatment" else r for r in stored.trials)
    assert list(results(stored.model_copy(update={"trials": lost}))) == ["baseline", "control"]
    calm = tuple(
        r.model_copy(update={"done": r.done and r.done.model_copy(update={"rounds_s": ()})})
        for r in stored.trials
    )
    assert results(stored.model_copy(update={"trials": calm})) == {}
    assert results(small_run(override(SMALL, "workload", ["reconnect"]))) == {}


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
    assert published(small_run(study)) == [
        ("a", "off", 5.0, "b"),
        ("c", "off", 5.0, "b"),
        ("d", "1.3", 5.0, "b"),
    ]


def rounds(record: TrialRecord) -> list[float]:
    """Plaintext opens 100 connections in 50 ms or so, TLS in five times as long; blocks differ a little."""
    scale = 1.0 if record.trial.case.levels["tls"] == "off" else 5.0
    return [scale * (0.05 + 0.001 * ((record.trial.block + place) % 3)) for place in range(10)]


def test_mean_and_deviation_are_over_all_rounds_of_all_trials() -> None:
    stored = storm_run(rounds)
    found = results(stored)["baseline"]
    rates = [
        100 / round_s
        for record in stored.trials
        if record.trial.case.role == "baseline"
        for round_s in rounds(record)
    ]
    assert numbers(found) == (8, len(rates), pytest.approx(fmean(rates)), pytest.approx(stdev(rates)))


def test_the_ratio_is_taken_block_by_block() -> None:
    found = results(storm_run(rounds))["treatment"]
    assert found.interval is not None
    assert found.interval.point == pytest.approx(1 / 5)
    assert found.blocks == 8, "blocks are the unit, not rounds"
    assert found.judgement == "lower"


def test_closing_is_in_no_rate() -> None:
    record = storm_run(rounds).trials[0]
    assert record.done is not None
    found = outcomes(record)
    assert found["ops_per_s"] == pytest.approx(1000 / sum(record.done.rounds_s))
    assert found["connections_per_s"] == pytest.approx(fmean(100 / s for s in record.done.rounds_s))
    assert found["round_s"] == pytest.approx(fmean(record.done.rounds_s))


def test_a_published_rate_stands_beside_the_case_that_it_is_of() -> None:
    study = override(override(load_study("tax"), "workload", ["storm"]), "connections", ["100"])
    figure = Published(
        label="no encryption",
        value=2040,
        unit="1/s",
        source="someone",
        outcome="ops_per_s",
        beside={"tls": "off"},
    )
    stored = storm_run(rounds, Study(**{**study.model_dump(), "published": (figure,)}))
    assert published(stored) == [("no encryption", "off", 2040, "someone")]
    assert "2,040" in render(stored, document(stored), "terminal")


def test_the_answer_is_in_connections_a_second() -> None:
    said = headline(document(storm_run(rounds)))
    assert any("connection storms" in sentence and "slower" in sentence for sentence in said)


def test_what_a_run_shows() -> None:
    golden.check("storms", storm_run(rounds), TOPIC)


def test_a_storm_has_a_hundred_connections_unless_told() -> None:
    assert study_of(RunOptions(workload="storm")).levels_of()["connections"] == (100,)
    assert study_of(RunOptions(workload="storm", connections="8")).levels_of()["connections"] == (8,)
    assert study_of(RunOptions(workload="storm,reconnect")).levels_of()["connections"] == (8,)


def test_a_server_that_is_not_ours_gets_no_storm_that_nobody_sized() -> None:
    url = "mysql://user@host/db"
    servers = external_among((url,), ExternalOptions()).alone()
    with pytest.raises(UserMistake, match="opens all its connections at once"):
        study_of(RunOptions(workload="storm", server=url), servers)
    assert study_of(RunOptions(workload="storm", connections="4", server=url), servers)


def test_a_storm_takes_time_that_the_plan_knows_of() -> None:
    study = override(load_study("tax"), "workload", ["storm"])
    levels = {"workload": "storm", "connections": 100, "tls": "1.3"}
    assert rounds_of(CaseLevels.of(levels)) == 10
    assert (
        counted_s(CaseLevels.of(levels), study)
        > counted_s(CaseLevels.of({**levels, "tls": "off"}), study)
        > 0
    )


def test_a_storm_without_the_times_of_its_rounds_is_not_believed() -> None:
    record = storm_run(rounds).trials[0]
    assert record.job is not None
    job = record.job.model_copy(
        update={
            "workload": record.job.workload.model_copy(update={"storm": True, "statements": ()}),
            "operations": 1100,
            "rounds": 11,
        }
    )
    assert record.done is not None
    done = record.done.model_copy(update={"operations": 1100})
    verdict = judge(record.model_copy(update={"job": job, "done": done}))
    assert "10 of its 11 rounds" in "; ".join(verdict.reasons)
