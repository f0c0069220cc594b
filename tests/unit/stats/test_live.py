"""What can be shown of a run that goes on: as much as its stopping rule knows, never more than fits."""

from __future__ import annotations

import pytest

from fake_trials import fake_run
from intervals import known
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, TrialRecord, Verdict
from tlstax.results.live import KnownRatio
from tlstax.stats.live import (
    MOST_POINTS,
    MOST_RATIOS,
    MOST_REASONS,
    MOST_WARNINGS,
    Account,
    ended,
)
from tlstax.stats.stopping import Progress, decide
from tlstax.study import load_study, override
from tlstax.study.outcomes import OUTCOMES

TAX = load_study("tax")
RUN = fake_run(number_of_blocks=6, noise=0.02)


def progress(blocks: int, stored: StoredRun = RUN) -> Progress:
    records = [record for record in stored.measured if record.trial.block < blocks]
    return decide(stored.header.study, records, 10.0 * blocks).progress


def test_each_block_adds_a_point_and_the_last_is_what_is_known_now() -> None:
    account = Account(RUN.header)
    for blocks in (1, 2, 3):
        account.decided(progress(blocks))
    live = account.between("block 4", "now", share=0.4, left_s=12.0)
    assert (live.status, live.blocks, live.doing, live.share, live.left_s) == (
        "running",
        3,
        "block 4",
        0.4,
        12,
    )
    assert (live.run, live.wanted, live.more_ratios) == (RUN.header.run, TAX.precision, 0)
    assert [point.blocks for point in live.ratios[0].history] == [1, 2, 3]
    for ratio, now in zip(live.ratios, progress(3).known, strict=True):
        assert ratio.now == now.now
        places = [point.blocks for point in ratio.history]
        assert places == sorted(set(places))
        assert places[-1] == now.now.blocks
        assert (ratio.label, ratio.is_control, ratio.precise) == (now.label, now.is_control, now.precise)


def test_nothing_is_known_before_the_first_block() -> None:
    live = Account(RUN.header).between("block 1", "now", share=0.0, left_s=60.0)
    assert (live.blocks, live.ratios, live.more_ratios) == (0, (), 0)
    assert (live.trials.valid, live.trials.more_reasons) == (0, 0)
    assert live.baseline == "plaintext"


def test_the_baseline_is_called_as_in_the_run_s_report_and_alike_is_what_the_study_says() -> None:
    study = load_study("clients").model_copy(update={"alike_within": 1.02})
    header = RUN.header.model_copy(update={"study": study})
    live = Account(header).between("block 1", "now", share=0.0, left_s=60.0)
    assert (live.baseline, live.alike_within) == ("plaintext, by the engine", 1.02)
    assert (live.title, live.question, live.at) == (study.title, study.question, "now")
    assert live.outcome == OUTCOMES[study.deciding_outcome].words


def test_the_noise_floor_is_that_of_the_control_of_the_same_workload() -> None:
    account = Account(RUN.header)
    account.decided(progress(6))
    ratios = account.between("", "now", share=None, left_s=None).ratios
    for workload in ("point selects", "reconnecting"):
        floors = {ratio.noise_floor for ratio in ratios if workload in ratio.label}
        control = next(ratio for ratio in ratios if ratio.is_control and workload in ratio.label)
        assert floors == {control.noise_floor}
        assert control.noise_floor is not None
        assert control.noise_floor >= (control.now.half_width or 1)


def test_a_long_history_keeps_its_first_and_its_last_point() -> None:
    account, case = Account(RUN.header), cases(TAX)[2]
    for blocks in range(1, 400):
        history = (known(0.7, 0.6, 0.8, blocks),)
        ratio = KnownRatio(label="a", history=history, precise=False, levels=case.levels)
        account.decided(Progress(blocks, 0.1, "", 0.02, 1, 1.0, 1, 0.1, (ratio,)))
        (shown,) = account.between("", "now", share=None, left_s=None).ratios
        places = [point.blocks for point in shown.history]
        assert (places[0], places[-1]) == (1, blocks)
        assert places == sorted(set(places))
        assert len(places) <= MOST_POINTS
        if blocks == MOST_POINTS + 1:
            assert places == [*range(1, MOST_POINTS, 2), blocks], "every other one went"


def test_of_hundreds_the_most_telling_are_shown_and_the_others_counted() -> None:
    study = override(TAX, "connections", (1, 8, 64, 512))
    stored = fake_run(study, number_of_blocks=2, noise=0.01, invalid=False)
    account = Account(stored.header)
    account.decided(progress(2, stored))
    live = account.between("", "now", share=None, left_s=None)
    assert len(live.ratios) == MOST_RATIOS
    assert live.more_ratios == len(progress(2, stored).known) - MOST_RATIOS
    assert live.more_ratios > 0


def invalid(record: TrialRecord, *reasons: str) -> TrialRecord:
    return record.model_copy(update={"verdict": Verdict(value="invalid", reasons=reasons)})


def test_reasons_are_counted_the_most_frequent_first() -> None:
    valid = fake_run(number_of_blocks=1, invalid=False).trials
    odd = [invalid(valid[0], f"reason {number}") for number in range(MOST_REASONS)]
    account = Account(RUN.header, valid)
    account.took([*odd, invalid(valid[0], "often", "reason 0"), invalid(valid[1], "often")])
    account.took([valid[0].model_copy(update={"verdict": Verdict(value="unknown")})])
    trials = account.between("", "now", share=None, left_s=None).trials
    assert (trials.valid, trials.invalid, trials.unknown) == (len(valid), MOST_REASONS + 2, 1)
    assert set(trials.reasons[:2]) == {("often", 2), ("reason 0", 2)}
    assert (len(trials.reasons), trials.more_reasons) == (MOST_REASONS, 1)


def test_the_last_warnings_are_kept() -> None:
    account = Account(RUN.header)
    for number in range(MOST_WARNINGS + 2):
        account.warned(f"warning {number}")
    shown = account.between("", "now", share=None, left_s=None).warnings
    assert shown == tuple(f"warning {number}" for number in range(2, MOST_WARNINGS + 2))


@pytest.mark.parametrize("status", ["complete", "interrupted", "failed", "running"])
def test_a_run_that_has_ended_looks_as_it_did_block_by_block(status: str) -> None:
    stored = RUN.model_copy(update={"status": status, "stopped_because": "it was enough"})
    live, account = ended(stored, "now"), Account(RUN.header)
    for blocks in range(1, 7):
        account.decided(progress(blocks))
    followed = account.between("", "now", share=None, left_s=None)
    assert live.ratios == followed.ratios
    assert (live.status, live.stopped_because, live.is_over) == (status, "it was enough", status != "running")
    assert live.trials.valid + live.trials.invalid == len(RUN.trials)


def test_a_run_without_a_trial_has_nothing_to_show() -> None:
    live = ended(RUN.model_copy(update={"trials": (), "status": "failed"}), "now")
    assert (live.ratios, live.blocks, live.trials.valid, live.doing) == ((), 0, 0, "")


def test_of_very_many_blocks_some_are_looked_at_and_the_last_one_always() -> None:
    study = override(override(TAX, "tls", ("off", "1.3")), "workload", ("reconnect",))
    stored = fake_run(study, number_of_blocks=MOST_POINTS + 3, noise=0.02, invalid=False)
    live = ended(stored, "now")
    assert live.blocks == MOST_POINTS + 3
    assert live.ratios[0].now.blocks == MOST_POINTS + 3
    seen = [point.blocks for point in live.ratios[0].history]
    assert seen == [*range(2, MOST_POINTS + 3, 2), MOST_POINTS + 3]
