"""Cases of which nothing can be told are told, each with the reason that is met most."""

from __future__ import annotations

from collections.abc import Callable

from fake_trials import Truth, fake_header, fake_record, untrue, whole_tax
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, Trial, TrialRecord, Verdict
from tlstax.results.document import NeverValid
from tlstax.study import override
from tlstax.study.labels import full_label
from tlstax.topics.answer.document import never_valid, never_valid_words

STUDY = override(whole_tax(), "workload", ["reconnect"])
ALL = cases(STUDY)


def run(why: Callable[[Trial], str | None], blocks: int = 3) -> StoredRun:
    """A run in which a trial is valid, or not for the reason given."""
    records: list[TrialRecord] = []
    for block in range(blocks):
        for position, case in enumerate(ALL):
            trial = Trial(block=block, position=position, case=case)
            record, reason = fake_record(trial, Truth(1000, {}, 1, 1)), why(trial)
            records.append(record if reason is None else untrue(record, reason))
    return StoredRun(header=fake_header(STUDY), status="complete", stopped_because="", trials=tuple(records))


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
        NeverValid(case=case.levels, label=full_label(case, STUDY), trials=3, reason="often"),
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
    assert [case.label for case in found] == [full_label(ALL[0], STUDY)]
    alone = never_valid(run(lambda trial: "no" if trial.case.role == "control" else None))
    assert [case.label for case in alone] == [full_label(ALL[1], STUDY)]
    assert [ALL[0].role, ALL[1].role] == ["baseline", "control"]


def test_one_block_is_enough_to_be_told() -> None:
    found = never_valid(run(lambda trial: "no" if trial.case.levels["tls"] == "off" else None, blocks=1))
    assert [(case.label, case.trials) for case in found] == [(full_label(ALL[0], STUDY), 1)]


def test_a_case_is_called_as_its_study_calls_it() -> None:
    """Where numbers of connections are compared with each other, the case is named by its number."""
    tls = override(override(STUDY, "tls", ["1.3"]), "connections", ["1", "8"])
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
