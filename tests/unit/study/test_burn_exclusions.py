"""How much is burned: checked at the door, called by its name, left out where nothing would burn."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from left_out import why_left_out
from tlstax.plan.order import blocks, cases
from tlstax.plan.sittings import sittings
from tlstax.study import Study
from tlstax.study.factor import check_level
from tlstax.study.factors import FACTORS, CaseLevels
from tlstax.study.labels import label
from tlstax.support.errors import UserMistake

LEVELS = CaseLevels.of({"fault": "burn", "burn": "400ns", "tls": "off"})


def study(**changed: Any) -> Study:
    terms: dict[str, Any] = {
        "name": "made-up",
        "title": "Made up",
        "question": "What?",
        "factors": {"burn": ("off", "0ns", "400ns", "12000ns"), "fault": ("burn",)},
        "baseline": {"burn": "off"},
    }
    return Study.model_validate(terms | changed)


@pytest.mark.parametrize(
    ("level", "amount_ns"), [("off", 0), ("0ns", 0), ("1ns", 1), ("9999999ns", 9_999_999)]
)
def test_an_amount_is_named_with_its_unit(level: str, amount_ns: int) -> None:
    assert check_level(FACTORS["burn"], level, where="here") == level
    assert CaseLevels.of({"burn": level}).burn_ns == amount_ns


@pytest.mark.parametrize(
    "level", ["400", 400, "400 ns", "-1ns", "0400ns", "1us", "1.5ns", "10000000ns", "ns", "on"]
)
def test_another_amount_is_refused_in_one_sentence(level: object) -> None:
    with pytest.raises(UserMistake) as caught:
        check_level(FACTORS["burn"], level, where="--set burn")
    assert caught.value.sentence() == (
        f"--set burn: {level!r} is not a level of burn; "
        "allowed are off, and from 0ns to 9999999ns, as in 400ns"
    )


def test_a_case_without_the_factor_burns_nothing() -> None:
    assert CaseLevels.of({"fault": "burn"}).burn_ns == 0


def test_nothing_burns_without_the_fault_or_over_tls() -> None:
    assert why_left_out(LEVELS) == ""
    assert why_left_out(LEVELS | {"burn": "off", "fault": "none", "tls": "1.3"}) == ""
    assert why_left_out(LEVELS | {"fault": "none"}) == (
        "burn = 400ns needs a server with fault = burn, not with fault = none"
    )
    assert why_left_out(LEVELS | {"burn": "0ns", "tls": "1.3"}) == (
        "burn = 0ns needs tls = off: the fault burn reaches answers in plaintext alone"
    )


def test_a_study_leaves_out_what_would_not_burn() -> None:
    both = study(factors={"burn": ("off", "400ns"), "fault": ("none", "burn")}, baseline={"burn": "off"})
    assert [case.levels for case in cases(both) if case.role == "treatment"] == [
        {"burn": "400ns", "fault": "burn"}
    ]
    with pytest.raises(ValidationError, match="nothing is left to measure: burn = 400ns needs a server"):
        study(factors={"burn": ("400ns",), "fault": ("none",)}, baseline={"fault": "none"})


def test_cases_with_different_amounts_share_a_server_and_take_turns() -> None:
    made_up = study()
    assert len({case.server_choice for case in made_up.included()}) == 1
    (sitting,) = sittings(made_up, next(blocks(made_up, seed=1)), window_s=0.3)
    assert sitting.takes_turns
    assert sorted(trial.case.levels.burn for trial in sitting.trials) == [
        "0ns",
        "12000ns",
        "400ns",
        "off",
        "off",
    ]


def test_each_amount_has_a_name_of_its_own() -> None:
    assert {label(case, study()) for case in cases(study())} == {
        "nothing burned",
        "nothing burned again (control)",
        "0 ns burned",
        "400 ns burned",
        "12,000 ns burned",
    }
