"""The document of a run, and the cases in it of which nothing can be told, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from fake_trials import Truth, fake_header, fake_record, untrue, whole_tax
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, Trial, TrialRecord, Verdict
from tlstax.results.document import (
    Finding,
    FirstBytes,
    NeverValid,
    RunDocument,
)
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told
from tlstax.stats.estimates import Estimate, estimates
from tlstax.stats.series import valid_values
from tlstax.study import Contrast, Study, load_study, override
from tlstax.study.labels import full_label
from tlstax.topics.answer import caveats
from tlstax.topics.answer import document as subject
from tlstax.topics.answer.document import never_valid, never_valid_words
from tlstax.topics.core import topic
from tlstax.topics.drivers.topic import STEADY_TRIALS, TRIALS, WARM_UP

STUDY = override(override(load_study("tax"), "workload", ["reconnect"]), "tls", ["1.3"])
RATES = {"baseline": (1000, 4000), "control": (1010, 4040), "treatment": (500, 2000)}
"""Operations a second in two blocks: geometric means of 2000, 2020 and 1000."""

HANDSHAKE_US = (400.0, 900.0)


def record_of(case_place: int, block: int, **changes: Any) -> TrialRecord:
    case = cases(STUDY)[case_place]
    phases = {"tls_handshake": HANDSHAKE_US[block]} if case.levels["tls"] != "off" else {}
    truth = Truth(RATES[case.role][block], phases, 10, 5)
    trial = Trial(block=block, position=case_place, case=case, **changes)
    return fake_record(trial, truth, duration_s=0.1)


def run_of(blocks: int = 2, *others: TrialRecord, study: Study = STUDY) -> StoredRun:
    records = [record_of(place, block) for block in range(blocks) for place in range(3)]
    header = fake_header(study, seed=77)
    return StoredRun(
        header=header, status="interrupted", stopped_because="Ctrl-C", trials=(*records, *others)
    )


def findings_of(stored: StoredRun, outcome: str = "ops_per_s") -> dict[str, Finding]:
    return {each.role: each for each in subject.document(stored).findings if each.outcome == outcome}


def test_the_document_says_of_which_run_it_is() -> None:
    invalid, profiled = untrue(record_of(2, 1), "no"), record_of(2, 1, profiled=True)
    found = subject.document(run_of(1, invalid, profiled))
    assert (found.run, found.study, found.seed) == ("20261121-195500-ab12", "tax", 77)
    assert (found.status, found.stopped_because) == ("interrupted", "Ctrl-C")
    assert (found.started_at, found.design) == ("2026-11-21T19:55:00+00:00", STUDY)
    assert found.machine.cpu_model == "Fake CPU @ 3.00GHz"
    assert [specimen.name for specimen in found.specimens] == ["mysql-9.7", "openssl-3.6", "tlstax-engine"]
    assert (found.trials.valid, found.trials.invalid, found.trials.unknown) == (3, 1, 0)


def test_a_finding_is_a_ratio_over_blocks() -> None:
    found = findings_of(run_of())
    tls = found["treatment"]
    assert (tls.unit, tls.value, tls.baseline_value) == ("1/s", pytest.approx(1000), pytest.approx(2000))
    assert (tls.ratio.point, tls.ratio.blocks) == (pytest.approx(0.5), 2)
    assert (tls.noise_floor, tls.judgement) == (pytest.approx(0.01), "lower")
    assert tls.case == {"workload": "reconnect", "connections": 8, "tls": "1.3", "resumption": "off"}
    assert tls.baseline == {**tls.case, "tls": "off"}
    assert tls.negotiated == "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1"
    assert tls.ratio_of_totals is None
    control = found["control"]
    assert control.case == {**tls.baseline, "control": "yes"}
    assert (control.ratio.point, control.judgement) == (pytest.approx(1.01), "alike")
    assert control.negotiated == "plaintext"


def test_a_finding_has_the_caveats_that_bear_on_it() -> None:
    assert findings_of(run_of(1))["treatment"].caveats == ("one block only: there is no interval",)
    assert findings_of(run_of(2))["treatment"].caveats == (
        "2 blocks only: the interval rests on hardly any evidence",
        "the control differs from the baseline by 1 %: the machine drifted or is too noisy",
    )
    assert findings_of(run_of(2))["baseline"].caveats == (
        "2 blocks only: the interval rests on hardly any evidence",
    )


def test_a_baseline_is_exactly_itself_even_in_one_block() -> None:
    for blocks in (1, 2):
        baseline = findings_of(run_of(blocks))["baseline"]
        assert baseline.ratio == Interval(point=1.0, low=1.0, high=1.0, confidence=0.95, blocks=blocks)
        assert baseline.judgement == "baseline"
    assert findings_of(run_of(1))["treatment"].judgement == "inconclusive"


def test_a_baseline_is_itself_though_it_differs_from_its_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of cases that took turns, a ratio is also to the control: of a baseline that is no ratio of its own."""
    strayed = Interval(point=1.2, low=1.1, high=1.3, confidence=0.95, blocks=2)

    def made(*given: Any) -> list[Estimate]:
        return [replace(each, ratio=each.ratio and strayed) for each in estimates(*given)]

    monkeypatch.setattr(topic, "estimates", made)
    found = findings_of(run_of())
    assert found["baseline"].ratio == Interval(point=1.0, low=1.0, high=1.0, confidence=0.95, blocks=2)
    assert found["treatment"].ratio == strayed


def test_what_the_control_strayed_by_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A floor of 150 % hides a half; and a ratio of all slices together is passed on."""
    wide = Interval(point=2.5, low=2.5, high=2.5, confidence=0.95, blocks=2)

    def made(*given: Any) -> list[Estimate]:
        return [replace(each, control=wide, totals={0: (0.0, 0.0)}) for each in estimates(*given)]

    monkeypatch.setattr(topic, "estimates", made)
    tls = findings_of(run_of())["treatment"]
    assert (tls.noise_floor, tls.judgement) == (pytest.approx(1.5), "inconclusive")
    assert tls.ratio_of_totals == 1.0


def test_an_open_finding_says_how_many_seconds_more_would_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 0.95 to 1.05: twice as many blocks of 7 seconds as the two that there are."""
    open_one = Interval(point=1.0, low=0.95, high=1 / 0.95, confidence=0.95, blocks=2)

    def made(*given: Any) -> list[Estimate]:
        return [replace(each, ratio=each.ratio and open_one, control=None) for each in estimates(*given)]

    monkeypatch.setattr(topic, "estimates", made)
    stored = run_of()
    later = tuple(
        record.model_copy(update={"started_at": f"2026-11-21T20:00:{7 * record.trial.block:02}+00:00"})
        for record in stored.trials
    )
    tls = findings_of(stored.model_copy(update={"trials": later}))["treatment"]
    assert (tls.judgement, tls.more_s) == ("inconclusive", 14.0)
    monkeypatch.undo()
    assert findings_of(stored)["treatment"].more_s is None, "it is lower"


def test_a_driver_that_was_not_steady_is_a_caveat_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    case = {"tls": "1.3", "workload": "reconnect", "connections": 8}
    rows = (Row(role=WARM_UP, case=case, more={TRIALS: 2, STEADY_TRIALS: 1}),)
    drivers = SimpleNamespace(name="drivers", told=lambda _: Told(title="", rows=rows))
    monkeypatch.setattr(subject, "TOPICS", (drivers,))
    (said,) = (said for said in subject.document(run_of()).caveats if "steady" in said)
    assert said.startswith("TLS 1.3, reconnect")
    assert ": in 1 of 2 trials the driver was measured before it was steady: " in said


def test_what_the_baseline_never_has_is_unpaired() -> None:
    """Handshakes of 400 and 900 µs: 600 in the geometric mean, to a histogram's three digits."""
    found = subject.document(run_of()).rows_of("unpaired")
    assert {each.role for each in found} == {"treatment"}
    assert {each.outcome for each in found} >= {"tls_handshake_p50_us", "tls_handshake_p99_us"}
    (median,) = (each for each in found if each.outcome == "tls_handshake_p50_us")
    assert (median.unit, median.value, median.blocks) == ("us", pytest.approx(600, rel=0.01), 2)
    known = median.interval
    assert known is not None
    assert known.low is not None
    assert known.high is not None
    assert known.low < known.point < known.high
    assert (known.confidence, median.case["tls"]) == (0.95, "1.3")
    assert median.negotiated == "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1"
    assert not {each.outcome for each in subject.document(run_of()).findings} & {"tls_handshake_p50_us"}
    surer = STUDY.model_copy(update={"confidence": 0.8})
    (narrow,) = (
        each
        for each in subject.document(run_of(study=surer)).rows_of("unpaired")
        if each.outcome == "tls_handshake_p50_us"
    )
    assert narrow.interval is not None
    assert narrow.interval.low is not None
    assert (narrow.interval.confidence, narrow.interval.low > known.low) == (0.8, True)


def test_the_control_is_told_for_each_outcome_that_has_a_floor() -> None:
    controls = [each for each in subject.document(run_of()).findings if each.role == "control"]
    (ops,) = (each for each in controls if each.outcome == "ops_per_s")
    assert (ops.ratio.point, ops.noise_floor) == (pytest.approx(1.01), pytest.approx(0.01))
    assert ops.baseline == {"workload": "reconnect", "connections": 8, "tls": "off", "resumption": "off"}
    assert len(controls) > 1
    alone = [each.noise_floor for each in subject.document(run_of(1)).findings if each.role == "control"]
    assert set(alone) == {None}, "one block has no noise floor"


def test_an_outcome_without_a_ratio_is_no_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*given: Any) -> list[Estimate]:
        return [replace(each, ratio=None) for each in estimates(*given)]

    monkeypatch.setattr(topic, "estimates", made)
    found = subject.document(run_of())
    assert found.findings == ()


Asked = dict[str, tuple[Any, ...]]


def stand_in(monkeypatch: pytest.MonkeyPatch) -> tuple[Asked, dict[str, Any]]:
    """Puts a stand-in in each topic's place: what each is asked with, and what each answers, by its name."""
    answers: dict[str, Any] = {
        "never_valid": (NeverValid.model_construct(),),
        "first_bytes": (FirstBytes.model_construct(),),
        "of_external": ("of turns",),
    }
    asked: Asked = {}

    def standing(name: str, answer: Any) -> Callable[..., Any]:
        def finder(*given: Any) -> Any:
            asked[name] = given
            return answer

        return finder

    for name, answer in answers.items():
        monkeypatch.setattr(subject, name, standing(name, answer))
    monkeypatch.setattr(caveats, "of_run", standing("of_run", ("of the run",)))
    return asked, answers


def test_what_is_no_topic_is_asked_for_this_run_and_shown_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, answers = stand_in(monkeypatch)
    stored = run_of(2)
    found = subject.document(stored)
    assert shown(found) == {name: answer for name, answer in answers.items() if name != "of_external"}
    assert found.caveats == ("of the run", "of turns")
    values = valid_values(STUDY, stored.measured)
    estimated = estimates(STUDY, stored.measured, values)
    assert asked == {
        **dict.fromkeys(("never_valid", "first_bytes", "of_external"), (stored,)),
        "of_run": (stored, estimated, caveats.busy_clients(STUDY, estimated, values)),
    }


def shown(found: RunDocument) -> dict[str, Any]:
    """What the document has of each topic, by the name of what finds it."""
    return {
        "never_valid": found.never_valid,
        "first_bytes": found.first_bytes,
    }


def test_ratios_are_pooled_where_a_study_contrasts_or_is_too_large_for_a_section_each() -> None:
    assert subject.document(run_of()).rows_of("contrasts") == ()
    contrast = Contrast(factor="tls", baseline="off")
    contrasting = STUDY.model_copy(update={"contrasts": (contrast,)})
    both = subject.document(run_of(study=contrasting)).rows_of("contrasts")
    assert {row.role for row in both} == {"contrast", "pooled"}
    many = STUDY.model_copy(update={"factors": {**STUDY.factors, "connections": tuple(range(8, 80))}})
    pooled = subject.document(run_of(study=many)).rows_of("contrasts")
    assert {row.role for row in pooled} == {"pooled"}


RECONNECTING = override(whole_tax(), "workload", ["reconnect"])
ALL = cases(RECONNECTING)


def run(why: Callable[[Trial], str | None], blocks: int = 3) -> StoredRun:
    """A run in which a trial is valid, or not for the reason given."""
    records: list[TrialRecord] = []
    for block in range(blocks):
        for position, case in enumerate(ALL):
            trial = Trial(block=block, position=position, case=case)
            record, reason = fake_record(trial, Truth(1000, {}, 1, 1)), why(trial)
            records.append(record if reason is None else untrue(record, reason))
    return StoredRun(
        header=fake_header(RECONNECTING), status="complete", stopped_because="", trials=tuple(records)
    )


def test_a_case_with_a_valid_trial_is_not_told() -> None:
    assert never_valid(run(lambda _: None)) == ()
    assert never_valid(run(lambda trial: "no" if trial.block else None)) == ()


def test_the_reason_is_the_one_that_is_met_most() -> None:
    def why(trial: Trial) -> str | None:
        if trial.case.levels["tls"] != "1.2":
            return None
        return "seldom" if trial.block == 0 else "often"

    case = next(case for case in ALL if case.levels["tls"] == "1.2")
    assert never_valid(run(why)) == (
        NeverValid(case=case.levels, label=full_label(case, RECONNECTING), trials=3, reason="often"),
    )


def test_without_a_reason_the_evidence_is_missing() -> None:
    stored = run(lambda trial: "no" if trial.case.levels["tls"] == "1.2" else None)
    bare = tuple(
        r.model_copy(update={"verdict": Verdict(value="unknown")}) if r.verdict.value != "valid" else r
        for r in stored.trials
    )
    (found,) = never_valid(stored.model_copy(update={"trials": bare}))
    assert found.reason == "their evidence is missing"


def test_a_control_is_left_out_where_its_baseline_is_told() -> None:
    found = never_valid(run(lambda trial: "no" if trial.case.levels["tls"] == "off" else None))
    assert [case.label for case in found] == [full_label(ALL[0], RECONNECTING)]
    alone = never_valid(run(lambda trial: "no" if trial.case.role == "control" else None))
    assert [case.label for case in alone] == [full_label(ALL[1], RECONNECTING)]
    assert [ALL[0].role, ALL[1].role] == ["baseline", "control"]


def test_one_block_is_enough_to_be_told() -> None:
    found = never_valid(run(lambda trial: "no" if trial.case.levels["tls"] == "off" else None, blocks=1))
    assert [(case.label, case.trials) for case in found] == [(full_label(ALL[0], RECONNECTING), 1)]


def test_a_case_is_called_as_its_study_calls_it() -> None:
    """Where numbers of connections are compared with each other, the case is named by its number."""
    tls = override(override(RECONNECTING, "tls", ["1.3"]), "connections", ["1", "8"])
    study = tls.model_copy(update={"baseline": {"connections": 1}, "treatments": ({"tls": "1.3"},)})
    case = cases(study)[-1]
    record = untrue(fake_record(Trial(block=0, position=0, case=case), Truth(1000, {}, 1, 1)), "no")
    stored = StoredRun(header=fake_header(study), status="complete", stopped_because="", trials=(record,))
    (found,) = never_valid(stored)
    assert found.label == full_label(case, study) != full_label(case)


def told(label: str, trials: int, reason: str) -> NeverValid:
    return NeverValid(case={}, label=label, trials=trials, reason=reason)


def test_a_sentence_for_each_reason() -> None:
    found = [told("a", 1200, "x"), told("b", 1, "y"), told("c", 3, "x")]
    assert list(never_valid_words(found)) == [
        "a (and 1 more case): nothing can be told, as none of 1,200 trials was valid: x",
        "b: nothing can be told, as its trial was not valid: y",
    ]
    more = [*found, told("d", 2, "x")]
    assert next(never_valid_words(more)).startswith("a (and 2 more cases): ")
    assert list(never_valid_words([told("e", 2, "z")])) == [
        "e: nothing can be told, as none of 2 trials was valid: z"
    ]
