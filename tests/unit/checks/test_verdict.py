"""The verdict from all doubts: the heaviest decides, its reasons are told, and notes always."""

from __future__ import annotations

import pytest
from test_checks import FULL, PLAIN, record_of

from tlstax.checks import judge, judged, verdict
from tlstax.checks.complete import Complete, Doubt
from tlstax.records.trial import Verdict
from tlstax.study.factors import FACTORS

NOTES = ("it was noted", "and this")


@pytest.mark.parametrize(
    ("weights", "value", "reasons"),
    [
        ([], "valid", ()),
        (["unknown", "unknown"], "unknown", ("unknown 0", "unknown 1")),
        (["invalid"], "invalid", ("invalid 0",)),
        (["unknown", "invalid", "invalid"], "invalid", ("invalid 1", "invalid 2")),
    ],
)
def test_the_heaviest_doubt_decides(
    monkeypatch: pytest.MonkeyPatch, weights: list[str], value: str, reasons: tuple[str, ...]
) -> None:
    def doubting(trial: Complete) -> list[Doubt]:
        assert trial.case == PLAIN.levels
        return [
            *(Doubt(weight, f"{weight} {place}") for place, weight in enumerate(weights)),
            *(Doubt("note", note) for note in NOTES),
        ]

    monkeypatch.setattr(verdict, "CHECKS", (doubting,))
    found = judge(record_of(PLAIN))
    assert (found.value, found.reasons, found.notes) == (value, reasons, NOTES)


BY_NOBODY = {"address", "batch", "observers"}
"""Factors that no trial can be held to: a user's own proxy says nothing of itself, a driver not how it was
handed its operations, and what watches a trial is the laboratory's own."""


def test_every_factor_names_a_check_that_holds_a_trial_to_it() -> None:
    known = {f"{check.__module__.rpartition('.')[2]}.{check.__name__}" for check in verdict.CHECKS}
    assert {factor.check for factor in FACTORS.values()} - known == {""}
    assert {name for name, factor in FACTORS.items() if not factor.check} == BY_NOBODY


@pytest.mark.parametrize("missing", ["ready", "done", "server"])
def test_a_trial_without_its_evidence_is_unknown(missing: str) -> None:
    assert judge(record_of(FULL).model_copy(update={missing: None})) == Verdict(
        value="unknown", reasons=("the trial ended without its evidence",)
    )


def test_a_record_has_the_evidence_and_the_verdict() -> None:
    record = record_of(FULL)
    assert judged(record) == record.model_copy(update={"verdict": judge(record)})
    assert judged(record).verdict.value == "valid"
    failed = record.model_copy(update={"failure": "it died"})
    assert judged(failed).verdict == Verdict(value="invalid", reasons=("it died",))


def test_a_check_that_breaks_is_told_with_its_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(trial: Complete) -> list[Doubt]:
        raise KeyError(trial.case["workload"])

    monkeypatch.setattr(verdict, "CHECKS", (broken,))
    assert judged(record_of(FULL)).verdict == Verdict(
        value="unknown", reasons=("the evidence could not be judged (KeyError: 'reconnect')",)
    )
