"""Captured trials: which there are, that nothing is estimated from them, what is proved, what is told."""

from __future__ import annotations

from typing import Any

import pytest

from captured_runs import ENTRY, OPERATIONS, SERVER, TAX, captured_record, captured_run
from fake_trials import fake_run
from tlstax.checks import judge
from tlstax.plan.order import blocks, captures, cases, plan
from tlstax.records.capture import Capture
from tlstax.records.trial import Changes, Evidence, StoredRun, TrialRecord
from tlstax.report.formats.render import FORMATS, render
from tlstax.run.progress import Outlook
from tlstax.run.resume import spent_s
from tlstax.study import Study, override
from tlstax.topics.answer.document import document
from tlstax.topics.answer.export import exported
from tlstax.topics.captures import NOT_CAPTURED, TOPIC, first_bytes, hexdump
from tlstax.topics.core.topic import Run

TRIALS = captures(TAX)


def evidence_of(record: TrialRecord, **changes: Any) -> Evidence:
    evidence = Evidence(**{name: getattr(record, name) for name in Evidence.model_fields})
    if evidence.server is not None:
        listening = evidence.server.model_copy(update={"listening_port": SERVER})
        changes = {"server": listening, **changes}
    return evidence.model_copy(update=changes)


def captured_of(level: str) -> TrialRecord:
    return next(
        captured_record(trial)
        for trial in TRIALS
        if trial.case.levels["tls"] == level and trial.case.levels["workload"] == "point-select"
    )


def with_capture(level: str, **changes: Any) -> TrialRecord:
    record = captured_of(level)
    assert isinstance(record.capture, Capture)
    return record.model_copy(update={"capture": record.capture.model_copy(update=changes)})


def test_every_case_but_a_control_is_captured_once_before_all_blocks() -> None:
    first, second = (block for block, _ in zip(blocks(TAX, 1), range(2), strict=False))
    assert first == TRIALS
    assert [trial.case for trial in first] == [case for case in cases(TAX) if case.role != "control"]
    assert {trial.block for trial in first} == {-1}
    assert all(trial.captured for trial in first)
    assert not any(trial.captured for trial in second)
    assert plan(TAX).captured == len(first)
    done = {(-1, 0), (-1, 1)}
    assert next(blocks(TAX, 1, done)) == first[2:]
    without = TAX.model_copy(update={"capture": False})
    assert next(blocks(without, 1)) == next(blocks(TAX, 1, {(-1, trial.position) for trial in first}))


@pytest.mark.parametrize("path", ["stunnel", "unix-socket"])
def test_cases_with_something_in_the_taps_place_have_none(path: str) -> None:
    study = override(TAX, "path", ["direct", path])
    assert {trial.case.levels["path"] for trial in captures(study)} == {"direct"}


def test_a_study_with_distances_has_no_captured_trial_and_says_why() -> None:
    study = override(TAX, "rtt_ms", ["0", "10"])
    assert captures(study) == ()
    found = TOPIC.told(Run(captured_run(study)))
    assert {row.caveats[0] for row in found.of(role=NOT_CAPTURED)} == {
        "in a study with distances all servers stand at their far end, where no tap is",
        "no tap is put into a distance",
    }


def test_nothing_is_estimated_from_a_captured_trial() -> None:
    run = captured_run()
    plain = fake_run(TAX.model_copy(update={"capture": False}), number_of_blocks=3, invalid=False)
    assert document(run).findings == document(plain).findings
    assert document(run).trials == document(plain).trials
    assert spent_s(run) == pytest.approx(spent_s(plain))


def test_the_time_left_is_that_of_the_blocks() -> None:
    outlook = Outlook(TAX, 0.1, 0.0, now_s=0.0)
    step = outlook.step(TRIALS[0], 5.0)
    assert (step.place, step.of, step.left_s) == (1, len(TRIALS), TAX.budget_s)
    assert step.label.startswith("capturing plaintext")
    first = next(iter(blocks(TAX, 1, {(-1, trial.position) for trial in TRIALS})))[0]
    outlook.step(first, 20.0)
    assert outlook.spent_s(21.0) == pytest.approx(1.0)


@pytest.mark.parametrize("level", ["off", "1.2", "1.3"])
def test_a_captured_trial_whose_tap_saw_what_was_claimed_is_valid(level: str) -> None:
    assert judge(evidence_of(captured_of(level))).value == "valid"


@pytest.mark.parametrize(
    ("record", "value", "says"),
    [
        (with_capture("1.3", encrypted=0), "invalid", "0 of 8 connections were encrypted where they crossed"),
        (with_capture("off", encrypted=8), "invalid", "8 of 8 connections were encrypted"),
        (with_capture("1.3", connections=7), "invalid", "7 connections went through the tap"),
        (captured_of("1.3").model_copy(update={"capture": None}), "unknown", "no tap saw what crossed"),
        (
            with_capture("1.2", conversations=captured_of("1.3").capture.conversations),  # type: ignore[union-attr]
            "invalid",
            "1 of the handshakes on the wire chose TLSv1.3",
        ),
    ],
)
def test_a_tap_that_saw_something_else_disproves_the_trial(
    record: TrialRecord, value: str, says: str
) -> None:
    verdict = judge(evidence_of(record))
    assert verdict.value == value
    assert says in " ".join(verdict.reasons)


def numbers_of(run: StoredRun, level: str, workload: str) -> dict[str, float | None]:
    wanted = {"tls": level, "workload": workload}
    found = TOPIC.told(Run(run)).rows
    return {row.outcome: row.value for row in found if wanted.items() <= row.case.items()}


def test_round_trips_are_those_of_the_contract() -> None:
    run = captured_run()
    assert numbers_of(run, "off", "point-select")["round trips per operation"] == 1
    plain = numbers_of(run, "off", "reconnect")
    assert plain["round trips per operation"] == 4
    assert plain["round trips to log in"] == 3
    assert plain["operations"] == OPERATIONS
    assert "round trips to log in" not in numbers_of(run, "1.3", "reconnect")


def test_what_can_be_read_is_said() -> None:
    found = {(one.case["tls"], one.case["workload"]): one.says for one in first_bytes(captured_run())}
    assert "statements and rows can be read" in found["off", "point-select"]
    says = "these are TLSv1.3 Application Data records: nothing can be read"
    assert found["1.3", "point-select"] == says


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_tells_what_crossed_the_wire(name: str) -> None:
    run = captured_run()
    text = render(run, document(run), name)
    asked = run.model_copy(
        update={"header": run.header.model_copy(update={"changes": Changes(capture=True)})}
    )
    shown = render(asked, document(asked), name)
    if name == "csv":
        assert text.count(",captured,") >= 6 * len(TRIALS)
        return
    if name == "json":
        assert '"captures"' in text
        return
    assert "What crossed the wire" in text
    dump = "00000000  09 00 00 00 03 53 45 4c  45 43 54 20 31           |.....SELECT 1|"
    assert dump in shown
    assert (dump in text) == (name == "html")


def test_the_export_has_all_of_it() -> None:
    trials = exported(captured_run()).trials
    assert sum(trial.captured for trial in trials) == len(TRIALS)
    assert trials[0].capture is not None
    assert trials[0].capture.entry_port == ENTRY


def test_a_hexdump_is_as_people_know_it() -> None:
    assert list(hexdump(b"0123456789abcdef\0\xff|")) == [
        "00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|",
        "00000010  00 ff 7c                                          |..||",
    ]


def test_a_run_that_was_not_to_be_captured_says_nothing_of_it() -> None:
    plain: Study = TAX.model_copy(update={"capture": False})
    run = fake_run(plain, number_of_blocks=1)
    assert "captures" not in document(run).topics
    assert "crossed the wire" not in render(run, document(run), "terminal")
