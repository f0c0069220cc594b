"""Each factor is declared once, and a case is read once: levels of their own types, defaults for the rest."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from pydantic import TypeAdapter

from tlstax.study import built_in_studies, load_study
from tlstax.study.factor import check_level
from tlstax.study.factors import FACTORS, SERVER_FACTORS, CaseLevels, Distance, ServerChoice


def test_what_stands_for_leaving_a_thing_as_it_is_is_a_level() -> None:
    for factor in FACTORS.values():
        if factor.default is not None:
            assert check_level(factor, factor.default, where="here") == factor.default, factor.name


def test_a_server_is_chosen_by_all_factors_of_it() -> None:
    chosen = {each.name: each.default for each in fields(ServerChoice) if each.name != "observed"}
    assert set(chosen) == set(SERVER_FACTORS)
    assert all(FACTORS[name].default == default for name, default in chosen.items())


def test_every_level_has_words_where_its_factor_has() -> None:
    """What is usual of a login goes without saying, and so has none."""
    for factor in FACTORS.values():
        for level in factor.levels or ():
            if factor.words is not None and (factor.name, level) != ("auth", factor.default):
                assert factor.words(level), (factor.name, level)


@pytest.mark.parametrize("name", built_in_studies())
def test_every_level_of_a_case_is_read_as_it_is(name: str) -> None:
    for case in load_study(name).product():
        levels = dict(case)
        assert (case, json.loads(TypeAdapter(CaseLevels).dump_json(case))) == (levels, levels)
        options = {key: level for key, level in levels.items() if key not in FACTORS}
        assert all(getattr(case, factor) == levels[factor] for factor in levels.keys() - options.keys())
        assert dict(case.options) == {
            key.removeprefix("option."): level for key, level in options.items() if level != "unset"
        }


def test_a_study_that_is_changed_has_other_cases() -> None:
    study = load_study("tax")
    before = list(study.included())
    changed = study.model_copy(update={"factors": {**study.factors, "connections": (3,)}})
    assert {case.connections for case in changed.included()} == {3}
    assert list(study.included()) == before
    assert changed.workload_of(before[0]) is not study.workload_of(before[0])


def test_a_case_is_read_once_and_changed_as_a_whole() -> None:
    case = CaseLevels.of({"tls": "1.3", "connections": 8})
    assert CaseLevels.of(case) is case
    assert (case | {"tls": "off"}).is_encrypted is False
    assert case.without("connections") == {"tls": "1.3"}
    assert len({case, CaseLevels.of({"connections": 8, "tls": "1.3"})}) == 1
    assert case != CaseLevels.of({"tls": "1.3"})


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
