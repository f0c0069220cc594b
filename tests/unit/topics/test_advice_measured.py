"""What a change saves, from what was measured of it: planted savings are found, planted luck is taken out."""

from __future__ import annotations

from math import exp

import pytest

from planted_series import planted_series, wobble
from tlstax.plan.advice_studies import changes_like_it, changes_there, study_like_it
from tlstax.results.interval import Interval
from tlstax.stats.contrasts import PROCESSES
from tlstax.study import Levels, Study
from tlstax.study.factors import CaseLevels
from tlstax.topics.advice.measured import SERVER_CPU, SPEED, Measured, measured

CHANGES = changes_like_it(
    changes_there("1.3", "1.2", answer_bytes=120, resumes=True, retried=True), "rsa-4096"
)
STUDY = study_like_it(CHANGES, "mysql-9.7", 60)
LUCK = {"rsa-4096": 1.04, "ec-p256": 0.97}
"""What the same costs on the process with that key."""


def planted(levels: Levels, block: int) -> dict[str, float]:
    """4,000 µs with RSA 4096; 800 with P-256; 500 resumed; 100 less with P-256 first; 50 a statement."""
    case = CaseLevels.of(levels)
    if not case.reconnects:
        cost = 50.0
    elif not case.is_encrypted:
        cost = 300.0
    else:
        cost = 4000.0 if case.certificate == "rsa-4096" else 800.0
        cost = 500.0 if case.resumes else cost
        cost -= 100.0 if case.group == "P-256-first" else 0.0
        cost -= 200.0 if case.tls == "1.2" else 0.0
    return {SERVER_CPU: cost * LUCK[case.certificate] * wobble(block)}


def found(study: Study = STUDY) -> Measured:
    own = measured(planted_series(study, planted), CHANGES, SERVER_CPU, luck=PROCESSES)
    assert own is not None
    return own


@pytest.mark.parametrize(
    ("change", "saved"), [("resumption", 3500), ("group", 100), ("version", 200), ("pool", 3950)]
)
def test_what_was_planted_is_saved(change: str, saved: float) -> None:
    own = found().saved(change)
    assert own is not None
    assert own.point == pytest.approx(saved * LUCK["rsa-4096"], rel=1e-3)
    assert own.low is not None
    assert own.high is not None
    assert own.low < own.point < own.high


def test_the_luck_of_the_process_with_the_other_key_is_taken_out() -> None:
    own = found().saved("certificate")
    assert own is not None
    assert own.point == pytest.approx(3200 * LUCK["rsa-4096"], rel=1e-3)


def test_an_interval_has_room_for_another_process() -> None:
    exact = Interval(point=0.5, low=0.5, high=0.5, confidence=0.95, blocks=9)
    measured_now = Measured(now=1000, statement=10, luck=PROCESSES, ratios={"group": exact})
    share = measured_now.saved_share("group")
    assert share is not None
    wide = (1 - 0.5 * exp(PROCESSES), 1 - 0.5 * exp(-PROCESSES))
    assert (share.point, share.low, share.high) == pytest.approx((0.5, *wide))
    own = measured_now.saved("group")
    assert own is not None
    assert (own.point, own.low, own.high) == pytest.approx(
        (500, 1000 * wide[0] * exp(-SPEED), 1000 * wide[1] * exp(SPEED))
    )
    session = measured_now.saved_of_session("group", 101)
    assert session is not None
    assert session.point == pytest.approx(0.25)
    one = Interval(point=0.5, low=None, high=None, confidence=0.95, blocks=1)
    alone = Measured(now=1000, statement=10, luck=0, ratios={"group": one}).saved("group")
    assert alone is not None
    assert (alone.point, alone.low, alone.high) == (500, None, None)


def test_a_session_is_a_connection_and_its_further_statements() -> None:
    half = Interval(point=0.5, low=0.5, high=0.5, confidence=0.95, blocks=9)
    own = Measured(now=1000, statement=10, luck=0, ratios={"group": half})
    for statements, whole in ((1, 1000), (11, 1100)):
        share = own.saved_of_session("group", statements)
        assert share is not None
        assert share.point == pytest.approx(500 / whole)
    assert own.saved("certificate") is None
    assert own.saved_share("certificate") is None
    assert own.saved_of_session("certificate", 3) is None


def test_a_change_that_costs_more_has_its_ends_in_order() -> None:
    ratio = Interval(point=1.2, low=1.1, high=1.3, confidence=0.95, blocks=9)
    own = Measured(now=1000, statement=10, luck=0, ratios={"version": ratio}).saved("version")
    assert own is not None
    assert (own.low, own.point, own.high) == pytest.approx((-300 * exp(SPEED), -200, -100 * exp(-SPEED)))


def test_a_ratio_that_tells_nothing_is_inconclusive_and_has_no_saving() -> None:
    """Resumed connections cost half or twice as much, block by block."""

    def unquiet(levels: Levels, block: int) -> dict[str, float]:
        cost = planted(levels, block)[SERVER_CPU]
        scatter = (8.0 if block % 2 else 0.125) if CaseLevels.of(levels).resumes else 1.0
        return {SERVER_CPU: cost * scatter * (8.0 if CaseLevels.of(levels).resumes else 1.0)}

    own = measured(planted_series(STUDY, unquiet), CHANGES, SERVER_CPU)
    assert own is not None
    assert own.inconclusive == {"resumption"}
    assert own.saved("resumption") is None
    assert own.saved("group") is not None
    assert own.without("resumption").inconclusive == frozenset()


def test_without_a_valid_block_of_what_is_now_nothing_is_known() -> None:
    run = planted_series(STUDY, lambda *_: {})
    assert measured(run, CHANGES, SERVER_CPU) is None
