"""A case is read once: every factor has a field of its own type, and a default where it is not named."""

from __future__ import annotations

from dataclasses import fields

import pytest

from tlstax.study import built_in_studies, load_study
from tlstax.study.case_levels import CaseLevels, Distance, ServerChoice
from tlstax.study.factors import FACTORS


def test_every_factor_has_a_field() -> None:
    assert {field.name for field in fields(CaseLevels)} == {*FACTORS, "named", "options"}


@pytest.mark.parametrize("name", built_in_studies())
def test_every_level_of_a_case_is_read_as_it_is(name: str) -> None:
    for levels in load_study(name).product():
        case = CaseLevels.of(levels)
        assert case.named == tuple(levels)
        options = {key: level for key, level in levels.items() if key not in FACTORS}
        assert all(getattr(case, factor) == levels[factor] for factor in levels.keys() - options.keys())
        assert dict(case.options) == {
            key.removeprefix("option."): level for key, level in options.items() if level != "unset"
        }


def test_what_is_not_named_is_as_it_comes() -> None:
    case = CaseLevels.of({})
    assert not case.is_encrypted
    assert not case.resumes
    assert case.is_observed
    assert case.server_choice == ServerChoice()
    assert case.distance == Distance()
    assert (case.durability, case.queries, case.rounds, case.server) == (None, None, None, None)
    assert case.can_be_captured


def test_numbers_are_numbers_and_options_that_are_unset_are_none() -> None:
    case = CaseLevels.of({"connections": 8, "rtt_ms": 1, "option.useSSL": "false", "option.other": "unset"})
    assert (case.connections, case.rtt_ms, dict(case.options)) == (8, 1.0, {"useSSL": "false"})
    assert case.distance.is_any
    assert not case.can_be_captured


def test_the_mark_of_a_control_is_no_factor() -> None:
    assert CaseLevels.of({"tls": "1.3", "control": "yes"}).tls == "1.3"
