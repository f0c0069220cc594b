"""What was predicted stands in the run's header, and its report sets it beside what was measured."""

from __future__ import annotations

import csv
import json
from functools import cache
from itertools import islice

import pytest

from fake_trials import Truth, fake_header, fake_record, untrue
from report_runs import changed
from tlstax.plan.order import blocks
from tlstax.plan.prediction_studies import DrawnMix, validation_study
from tlstax.records.beforehand import PredictedCase, Predictions, Scaling
from tlstax.records.trial import DistanceObservation, RoundTripTime, RunHeader, StoredRun, TrialRecord
from tlstax.report.formats.render import render
from tlstax.results.rows import Row, Told
from tlstax.store.anonymise import anonymous
from tlstax.study import Case, load_study
from tlstax.study.mixes import Mix
from tlstax.topics.answer.document import document
from tlstax.topics.core.topic import Run
from tlstax.topics.prediction.model import CLIENT_CPU, RECEIVED, SENT, SERVER_CPU, TIME, Calibrated
from tlstax.topics.prediction.other_machines import shipped_parts
from tlstax.topics.prediction.parts import parts_of
from tlstax.topics.prediction.prediction import costs
from tlstax.topics.prediction.validation import (
    COST,
    NOT_MEASURED,
    NOT_PREDICTED,
    OUTCOME,
    PARTS,
    SPEED,
    TOPIC,
    predictions,
)

KNOWN = Mix(tls="off", statements=1, answer_bytes=120)
NEW = Mix(certificate="rsa-4096", statements=10, answer_bytes=2000)
OTHER = Mix(tls="1.2", statements=3, answer_bytes=500)
MIXES = tuple(DrawnMix(mix, 0.0) for mix in (KNOWN, NEW, OTHER))

SLOWER = 1.1
"""How many times as long all takes as when the parts were measured."""

OFF = {NEW: 1.25, OTHER: 0.97}
"""How many times as much of the server's CPU time as predicted, beside that."""


@cache
def model() -> Calibrated:
    return shipped_parts("mysql-9.7").calibrated()


def truth(case: Case) -> Truth:
    """As much as is predicted, on a slower machine, and some mixes off in the server's CPU time."""
    mix, at_once = Mix.of(case.levels), case.levels.connections
    assert mix is not None
    own = {name: SLOWER * fit.cost(parts_of(mix)).point for name, fit in model().fits[at_once].items()}
    return Truth(
        at_once * 1e6 / own[TIME],
        {"connect": own[TIME] / 2, "query": own[TIME] / 2, "operation": own[TIME]},
        own[SERVER_CPU] * OFF.get(mix, 1.0),
        own[CLIENT_CPU],
    )


def header(**changes: object) -> RunHeader:
    study = validation_study(load_study("components"), MIXES[:1], MIXES[1:], 60.0)
    found = predictions(model(), MIXES).model_copy(update=changes)
    return fake_header(study).model_copy(update={"predictions": found})


def stored(of: RunHeader, *, measured: int = 1000, **fields: object) -> StoredRun:
    """A run of three blocks without scatter, of which N trials were measured."""
    trials: list[TrialRecord] = [
        fake_record(trial, truth(trial.case))
        for block in islice(blocks(of.study, of.seed), 3)
        for trial in block
    ]
    run = StoredRun(header=of, status="complete", trials=tuple(trials[:measured]))
    return run.model_copy(update=fields)


def told(run: StoredRun) -> Told:
    return TOPIC.told(Run(run))


def costs_by(found: Told, role: str = COST) -> dict[tuple[str, object], Row]:
    return {(row.outcome, row.case["workload"]): row for row in found.of(role=role)}


def test_a_prediction_is_held_against_what_was_measured_at_the_speed_of_then() -> None:
    found = told(stored(header()))
    speeds = {row.outcome: row.value for row in found.of(role=SPEED)}
    assert speeds == pytest.approx({SERVER_CPU: 1.1, CLIENT_CPU: 1.1, TIME: 1.1}, rel=1e-3)
    of_new, of_other = (
        costs_by(found)[SERVER_CPU, f"session-{mix.statements}x{mix.answer_bytes}"] for mix in (NEW, OTHER)
    )
    predicted = costs(model(), NEW, 0.0)[SERVER_CPU]
    assert of_new.more["predicted"] == predicted.point
    assert (of_new.more["predicted_low"], of_new.more["predicted_high"]) == (predicted.low, predicted.high)
    assert of_new.baseline_value == pytest.approx(1.1 * predicted.point, rel=1e-6)
    assert of_new.value == pytest.approx(1.1 * 1.25 * predicted.point, rel=1e-6)
    assert of_new.ratio.point == pytest.approx(1.25, rel=1e-6)
    assert predicted.low is not None
    assert predicted.high is not None
    assert of_new.ratio.low == pytest.approx(1.25 * predicted.point / predicted.high, rel=1e-6)
    assert of_new.ratio.high == pytest.approx(1.25 * predicted.point / predicted.low, rel=1e-6)
    assert (of_new.unit, of_new.case["connections"], of_new.blocks) == ("us", 4, 3)
    assert of_other.ratio.point == pytest.approx(0.97, rel=1e-6)
    assert (of_new.more["is_within"], of_other.more["is_within"]) == (False, True)
    (summary,) = found.of(SERVER_CPU, role=OUTCOME)
    assert summary.value == pytest.approx((0.25 + 0.03) / 2, rel=1e-5)
    assert summary.more == pytest.approx(
        {"mixes": 2, "ninth_decile_error": 0.03 + 0.9 * 0.22, "within_share": 0.5}, rel=1e-5
    )


def test_the_record_says_what_it_was_predicted_from() -> None:
    scaling = Scaling(
        run="20261121-195500-cd34",
        at="2026-11-21T19:55:00+00:00",
        server="mysql-9.7",
        processor="Fake CPU",
        mixes=11,
        speed=1.5,
        left_out_error=0.1,
        unquiet=0.05,
    )
    (parts,) = told(stored(header(scaling=scaling))).of(role=PARTS)
    origin = model().origin
    assert parts.label == "mysql-9.7"
    assert parts.more == {"model_version": 2, "parts_run": origin.run, "scaled_by_run": scaling.run}
    again = RunHeader.model_validate_json(header(scaling=scaling).model_dump_json())
    assert again == header(scaling=scaling)


def test_what_was_not_measured_is_told_as_such_with_what_was_predicted() -> None:
    run = stored(header())
    trials = tuple(
        untrue(own, "made up") if Mix.of(own.trial.case.levels) == OTHER else own for own in run.trials
    )
    found = told(run.model_copy(update={"trials": trials}))
    left = found.of(role=NOT_MEASURED)
    assert {row.outcome for row in left} == {TIME, SENT, RECEIVED, SERVER_CPU, CLIENT_CPU}
    assert {row.case["workload"] for row in left} == {"session-3x500"}
    assert all(row.value is None and row.interval is None and row.more["predicted"] for row in left)
    assert found.sentences == (
        "2 of 3 predictions hold what was measured within their 95 % intervals; they were written down "
        "before the first trial",
        "not validated: 5 predictions of 2 cases, as no trial of these is valid",
    )


@pytest.mark.parametrize("measured", [0, 2, 4, 7])
def test_of_a_run_that_was_cut_off_each_prediction_is_validated_or_said_not_to_be(measured: int) -> None:
    whole = told(stored(header()))
    cut = told(stored(header(), measured=measured, status="interrupted"))
    before = {(row.outcome, row.label) for row in (*whole.of(role=COST), *whole.of(role=NOT_MEASURED))}
    seen, left = ({(row.outcome, row.label) for row in cut.of(role=role)} for role in (COST, NOT_MEASURED))
    assert seen | left == before
    assert not seen & left
    assert cut.sentences[-1].startswith(f"not validated: {len(left)} predictions of ")
    assert cut.sentences[-1].endswith("as the run was interrupted before these were measured")


def test_a_case_of_which_the_parts_do_not_know_one_is_told() -> None:
    of = header()
    assert of.predictions is not None
    cases = tuple(
        PredictedCase(levels=own.levels) if own.levels["certificate"] == "rsa-4096" else own
        for own in of.predictions.cases
    )
    found = told(stored(header(cases=cases)))
    assert {row.label for row in found.of(role=NOT_PREDICTED)} == {
        f"TLS 1.3, RSA 4096, P-256, 10 statements of 2,000 bytes, {count} at once"
        for count in ("1 connection", "4 connections")
    }
    assert found.sentences[-1] == "not predicted: 2 cases, of which the parts do not know one"


def test_a_distance_that_was_longer_than_asked_is_expected_to_take_longer() -> None:
    away = DrawnMix(NEW, 20.0)
    (found, _) = predictions(model(), [away]).cases
    assert found.levels["rtt_ms"] == 20.0
    here, there = (costs(model(), NEW, rtt_ms)[TIME] for rtt_ms in (20.0, 21.0))
    assert found.round_trips is not None
    assert found.round_trips * 1000 == pytest.approx(there.point - here.point)


def far_run(*seen_ms: float) -> StoredRun:
    """A known mix here and a new one 20 ms away, which takes as long as 21 ms away is predicted to.

    `seen_ms` is what was measured of the distance before and after, where it was.
    """
    here, away = MIXES[0], DrawnMix(NEW, 20.0)
    of = header(cases=predictions(model(), [here, away]).cases)
    study = validation_study(load_study("components"), [here], [away], 60.0)
    seen = None
    if seen_ms:
        before, after = (
            RoundTripTime(median_ms=ms, lowest_ms=ms, highest_ms=ms, samples=9) for ms in seen_ms
        )
        seen = DistanceObservation(
            rtt_ms=20.0, jitter_ms=0, rate_mbit=0, made_by="netem", before=before, after=after
        )

    def at_distance(record: TrialRecord) -> TrialRecord:
        case = record.trial.case
        if not case.levels.rtt_ms:
            return record
        took_us = costs(model(), NEW, 21.0)[TIME].point
        phase_us = {"connect": took_us / 2, "query": took_us / 2, "operation": took_us}
        own = fake_record(record.trial, Truth(1e6 / took_us, phase_us, 100.0, 100.0))
        return own.model_copy(update={"distance": seen})

    return changed(stored(of.model_copy(update={"study": study})), at_distance)


@pytest.mark.parametrize(
    ("seen_ms", "expected_ms"),
    [((), 20.0), ((20.0, 20.0), 20.0), ((20.5, 21.5), 21.0), ((20.6001, 21.8006), 21.2)],
    ids=["not measured", "as asked", "longer", "known to a microsecond"],
)
def test_what_took_longer_for_a_longer_distance_is_held_against_that(
    seen_ms: tuple[float, ...], expected_ms: float
) -> None:
    (row,) = told(far_run(*seen_ms)).of(TIME, role=COST)
    asked, expected, took = (costs(model(), NEW, rtt_ms)[TIME] for rtt_ms in (20.0, expected_ms, 21.0))
    assert row.more["predicted"] == pytest.approx(asked.point)
    assert row.baseline_value == pytest.approx(expected.point), "a distance is as long at any speed"
    assert row.value == pytest.approx(took.point, rel=1e-3)
    assert row.ratio.point == pytest.approx(took.point / expected.point, rel=1e-3)
    assert expected.low is not None
    assert expected.high is not None
    assert row.ratio.low == pytest.approx(took.point / expected.high, rel=1e-3)
    assert row.ratio.high == pytest.approx(took.point / expected.low, rel=1e-3)


def test_a_run_without_predictions_has_nothing_of_it_and_its_header_is_as_it_was() -> None:
    plain = fake_header()
    assert "predictions" not in plain.model_dump_json()
    assert told(StoredRun(header=plain, status="complete", trials=())).rows == ()


def test_every_format_has_the_same_numbers() -> None:
    run = stored(header())
    shown = document(run)
    text = render(run, shown, "terminal", width=100)
    assert "Predicted for mysql-9.7 and measured afterwards" in text
    assert "Server CPU                2          14 %            23 %         50 %" in text
    assert "+25 %: Server CPU: TLS 1.3, RSA 4096" in " ".join(text.split())
    assert "wanted" not in text
    assert "| Server CPU | 2 | 14 % | 23 % | 50 % |" in render(run, shown, "md")
    page = render(run, shown, "html")
    assert "Every prediction" in page
    rows = [
        row for row in csv.DictReader(render(run, shown, "csv").splitlines()) if row["topic"] == "validation"
    ]
    in_json = json.loads(render(run, shown, "json"))["topics"]["validation"]["rows"]
    assert len(rows) == len(in_json) == len(shown.topics["validation"].rows)
    for row, own in zip(rows, in_json, strict=True):
        assert row["role"] == own["role"]
        for column in ("value", "baseline_value"):
            assert row[column] == str(own.get(column, ""))
        assert row["predicted"] == str(own.get("more", {}).get("predicted", ""))


def test_a_record_refuses_what_is_no_prediction() -> None:
    with pytest.raises(ValueError, match="model"):
        Predictions.model_validate(header().predictions.model_dump() | {"model": 0})  # type: ignore[union-attr]


def test_a_packed_run_tells_the_same_of_its_predictions() -> None:
    run = stored(header())
    assert told(anonymous(run)) == told(run)
