"""What the machine did to a run: every limit from both sides, and whole sentences."""

from __future__ import annotations

import pytest

from fake_trials import fake_record, tax_truth
from observed_windows import ticks
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.records.window import CpuSlice, Window, WireUse
from tlstax.study import load_study
from tlstax.topics.answer.caveats import BESIDE_ANOTHER, of_machine

CASE = cases(load_study("tax"))[0]
PLAIN = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.01)
BESIDE = PLAIN.model_copy(update={"beside_another": True})


def stolen(steal: int) -> TrialRecord:
    """A thousand ticks, of which so many were taken."""
    part = CpuSlice(at_s=0, took_s=1, machine=ticks(user=1000 - steal, steal=steal))
    return PLAIN.model_copy(update={"window": Window(took_s=1, cpus=(part,))})


def again(retransmitted: int, sent: int, twice: int | None = None) -> TrialRecord:
    wire = WireUse(
        tcp_segments_sent=sent,
        tcp_segments_received=9,
        tcp_segments_retransmitted=retransmitted,
        tcp_segments_arrived_twice=twice,
    )
    return PLAIN.model_copy(update={"window": Window(took_s=1, wire=wire)})


def test_a_quiet_machine_has_no_caveat() -> None:
    assert of_machine([PLAIN, stolen(0), again(0, 1000)]) == of_machine([]) == []


def test_a_run_beside_another_is_told() -> None:
    assert of_machine([PLAIN, BESIDE, BESIDE]) == [f"{BESIDE_ANOTHER} (2 of 3 trials)"]
    assert of_machine([BESIDE]) == [f"{BESIDE_ANOTHER} (1 of 1 trial)"]


@pytest.mark.parametrize(("steal", "said"), [(10, None), (11, "1.1 %"), (200, "20 %"), (900, "90 %")])
def test_time_that_the_host_took_is_told_from_one_in_a_hundred(steal: int, said: str | None) -> None:
    sentence = (
        f"the host took {said} of the processors' time for others while trials ran: "
        "times are longer than they need be, and scatter"
    )
    assert of_machine([stolen(steal), PLAIN]) == ([sentence] if said else [])


def test_one_in_a_hundred_is_counted_to_the_tick() -> None:
    part = CpuSlice(at_s=0, took_s=1, machine=ticks(user=989_950, steal=10_050))
    assert of_machine([PLAIN.model_copy(update={"window": Window(took_s=1, cpus=(part,))})])


@pytest.mark.parametrize(
    ("retransmitted", "sent", "is_told"), [(10, 1000, False), (11, 1000, True), (1, 0, True), (0, 0, False)]
)
def test_segments_that_were_sent_again_are_told_from_one_in_a_hundred(
    retransmitted: int, sent: int, *, is_told: bool
) -> None:
    assert bool(of_machine([again(retransmitted, sent)])) is is_told


@pytest.mark.parametrize(("twice", "is_told"), [(0, True), (29, True), (30, False), (40, False)])
def test_segments_that_arrived_twice_were_not_lost(twice: int, *, is_told: bool) -> None:
    found = of_machine([again(40, 1000, twice)])
    assert bool(found) is is_told
    assert all(f"({40 - twice} of 1,000" in said for said in found)


def test_the_sentence_on_segments_is_of_the_bad_trials() -> None:
    found = of_machine([again(1_500, 9_000), PLAIN, again(1, 1_000), again(600, 2_000)])
    assert found == [
        "in 2 of 3 trials more than 1 % of the TCP segments were sent again (2,100 of 11,000, on the whole "
        "machine): lost, or answered late"
    ]
    assert of_machine([again(50, 100)])[0].startswith("in 1 of 1 trial more")


def test_caveats_come_in_this_order() -> None:
    both = stolen(500).model_copy(update={"beside_another": True})
    assert [text[:8] for text in of_machine([both, again(500, 1000)])] == ["another ", "the host", "in 1 of "]
