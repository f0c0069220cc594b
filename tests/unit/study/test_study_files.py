"""A study that is written is read again as it was, and mistakes in its newer parts are told."""

from __future__ import annotations

import pytest

from tlstax.study import built_in_studies, load_study, parse_study, study_toml
from tlstax.support.errors import UserMistake

TEXT = study_toml(load_study("openssl-versions"))


@pytest.mark.parametrize("name", built_in_studies())
def test_a_study_that_is_shown_can_be_saved_and_run(name: str) -> None:
    study = load_study(name)
    assert parse_study(study_toml(study), where="saved.toml") == study


def test_a_mistake_in_a_workload_names_it_where_cases_are_left_out_by_what_workloads_do() -> None:
    text = study_toml(load_study("tax")).replace('"point-select"', '"point-s elect"')
    with pytest.raises(UserMistake, match="did you mean 'point-select'"):
        parse_study(text, where="my.toml")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ("[control_within]\nconnections", "[control_within]\nconections"),
            ["control_within", "connections"],
        ),
        (
            ('factor = "instance"\nbaseline = 1', 'factor = "instanc"\nbaseline = 1'),
            ["contrasts", "instance"],
        ),
        (('kind = "best"', 'kind = "worst"'), ["statements.0.kind", "'worst'"]),
        (
            ('\noutcome = "ops_per_s"', '\noutcome = "ops_per_sec"'),
            ["statements.outcome", "did you mean 'ops_per_s'?"],
        ),
        (('says = "', 'sayz = "'), ["no field statements.0.sayz", "did you mean 'says'?"]),
    ],
)
def test_a_mistake_in_contrasts_and_statements_names_the_field(
    change: tuple[str, str], says: list[str]
) -> None:
    assert change[0] in TEXT
    with pytest.raises(UserMistake) as caught:
        parse_study(TEXT.replace(*change, 1), where="mine.toml")
    sentence = caught.value.sentence()
    assert [word for word in ("mine.toml", *says) if word not in sentence] == [], sentence
