"""Storms are told as they are published, and judged by blocks: rounds of one trial are not independent."""

from __future__ import annotations

from statistics import fmean, stdev

import pytest

from counted_runs import storm_run
from tlstax.checks import judge
from tlstax.cli.external_servers import ExternalOptions, external_among
from tlstax.cli.run_command import RunOptions, study_of
from tlstax.findings.core.outcomes import outcomes
from tlstax.plan.jobs import rounds_of
from tlstax.plan.timing import counted_s
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.formats.render import FORMATS, render
from tlstax.results.connect import StormResult
from tlstax.study import Published, Study, load_study, override
from tlstax.support.errors import UserMistake
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline


def rounds(record: TrialRecord) -> list[float]:
    """Plaintext opens 100 connections in 50 ms or so, TLS in five times as long; blocks differ a little."""
    scale = 1.0 if record.trial.case.levels["tls"] == "off" else 5.0
    return [scale * (0.05 + 0.001 * ((record.trial.block + place) % 3)) for place in range(10)]


def of_case(stored: StoredRun, tls: str, role: str) -> StormResult:
    return next(s for s in document(stored).storms if s.case["tls"] == tls and s.role == role)


def test_mean_and_deviation_are_over_all_rounds_of_all_trials() -> None:
    stored = storm_run(rounds)
    found = of_case(stored, "off", "baseline")
    rates = [
        100 / round_s
        for record in stored.trials
        if record.trial.case.role == "baseline"
        for round_s in rounds(record)
    ]
    assert (found.rounds, found.connections) == (len(rates), 100)
    assert found.mean_per_s == pytest.approx(fmean(rates))
    assert found.sd_per_s == pytest.approx(stdev(rates))
    assert found.against_baseline is None


def test_the_ratio_is_taken_block_by_block() -> None:
    found = of_case(storm_run(rounds), "1.3", "treatment").against_baseline
    assert found is not None
    assert found.point == pytest.approx(1 / 5)
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
    assert [rate.value for rate in of_case(stored, "off", "baseline").published] == [2040]
    assert of_case(stored, "1.3", "treatment").published == ()
    assert "2,040" in render(stored, document(stored), "terminal")


def test_the_answer_is_in_connections_a_second() -> None:
    said = headline(document(storm_run(rounds)))
    assert any("connection storms" in sentence and "slower" in sentence for sentence in said)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_tells_it(name: str) -> None:
    stored = storm_run(rounds)
    text = render(stored, document(stored), name)  # type: ignore[arg-type]
    assert "torm" in text


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
    assert rounds_of(levels) == 10
    assert counted_s(levels, study) > counted_s({**levels, "tls": "off"}, study) > 0


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
