"""Which case a user means: one is found by the levels named, and every mistake is told with what to do."""

from __future__ import annotations

import pytest

from fake_trials import whole_tax
from own_study import STUDY
from tlstax.plan.order import cases
from tlstax.study import Study, override, parse_study
from tlstax.support.errors import UserMistake
from tlstax.topics.answer.case_choice import choice_text, chosen_case

TAX = whole_tax()
TEXTS = {
    "tls=off,workload=point-select": "baseline",
    "workload=point-select,control": "control",
    "tls=1.3,resumption=off,workload=point-select": "treatment",
    "resumption=on,workload=point-select": "treatment",
    "tls=1.2,workload=point-select": "treatment",
}
"""The cases of tax on kept connections in their order, by the fewest levels that choose each."""


def mistake(text: str, *, option: str | None = None, study: Study = TAX) -> str:
    with pytest.raises(UserMistake) as caught:
        chosen_case(study, text) if option is None else chosen_case(study, text, option=option)
    return caught.value.sentence()


def test_a_case_is_chosen_by_the_levels_that_set_it_apart() -> None:
    for text, case in zip(TEXTS, cases(TAX)[:5], strict=True):
        assert chosen_case(TAX, text) == case
        assert case.role == TEXTS[text]
        assert choice_text(case, TAX) == text


def test_blanks_and_empty_parts_do_not_matter() -> None:
    found = chosen_case(TAX, " tls = 1.2 ,, workload = reconnect , ")
    assert (found.levels["tls"], found.levels["workload"], found.role) == ("1.2", "reconnect", "treatment")
    control = chosen_case(TAX, "control , workload=reconnect")
    assert (control.levels["workload"], control.role) == ("reconnect", "control")


def test_a_case_may_be_named_by_all_its_levels() -> None:
    found = chosen_case(TAX, "connections=8,workload=reconnect,tls=1.3,resumption=on")
    assert choice_text(found, TAX) == "resumption=on,workload=reconnect"


def test_a_number_may_be_written_as_one() -> None:
    study = override(TAX, "connections", ["8", "64"])
    assert chosen_case(study, "tls=1.2,workload=reconnect,connections=64").levels["connections"] == 64


def test_a_workload_of_the_users_own_is_a_level_as_well() -> None:
    study = parse_study(STUDY, where="mine.toml")
    assert chosen_case(study, "tls=1.3,workload=orders").levels["workload"] == "orders"
    assert mistake("workload=oders", study=study).startswith("--case: 'oders' is not a level of workload")
    assert mistake("tls=orders", study=study).startswith("--case: 'orders' is not a level of tls")


def test_what_is_no_level_is_told_with_what_to_write() -> None:
    assert mistake("1.3") == "--case: '1.3' is not factor=level; such as tls=1.3, or control"
    assert mistake("tls=1.2,workload", option="--against") == (
        "--against: 'workload' is not factor=level; such as tls=1.3, or control"
    )
    assert mistake("tlss=1.2").startswith("--case: there is no factor 'tlss' (did you mean 'tls'?)")
    assert mistake("tls=1.2=3").startswith("--case: '1.2=3' is not a level of tls")
    assert mistake("tls=1.5", option="--against").startswith("--against: '1.5' is not a level of tls")
    assert mistake("tlss=1", option="--against").startswith("--against: there is no factor 'tlss'")


def test_a_factor_that_the_study_does_not_vary_is_told() -> None:
    assert mistake("server=mysql-9.7", option="--against") == (
        "--against: study tax does not vary server; its factors are tls, resumption, workload, connections"
    )
    narrow = TAX.model_copy(
        update={"treatments": (), "factors": {"client_tls_library": ("a",), "tls": ("off",)}}
    )
    assert mistake("tls_library=openssl-3.6", study=narrow) == (
        "--case: study tax does not vary tls_library (did you mean 'client_tls_library'?); "
        "its factors are client_tls_library, tls"
    )


def test_several_cases_are_listed_and_none_is_told() -> None:
    assert mistake("tls=1.2") == (
        "--case 'tls=1.2' may be 2 cases (TLS 1.2, point selects on kept connections, 8 connections; "
        "TLS 1.2, reconnecting for every point select, 8 connections); name more of its levels"
    )
    assert mistake("tls=1.2,control", option="--against") == (
        "--against 'tls=1.2,control': the run has no such case; `tlstax report` shows all"
    )
    listed = mistake("", option="--against")
    assert listed.startswith("--against '' may be 8 cases (plaintext, point selects")
    assert listed.count("8 connections; ") == 6
    assert "8 connections; and 2 more)" in listed


def test_cases_are_listed_by_what_their_study_compares() -> None:
    study = Study(
        name="ladder",
        title="t",
        question="q",
        factors={"workload": ("reconnect",), "connections": (8, 64, 65), "tls": ("1.3",)},
        baseline={"connections": 8},
    )
    assert mistake("tls=1.3", study=study) == (
        "--case 'tls=1.3' may be 3 cases (8 connections, TLS 1.3, reconnecting for every point select; "
        "64 connections, TLS 1.3, reconnecting for every point select; "
        "65 connections, TLS 1.3, reconnecting for every point select); name more of its levels"
    )


def study_of(*names: str) -> Study:
    """A study of two treatments beside the baseline, each of which any one of these factors sets apart."""
    levels = {
        "instance": (1, 2, 3),
        "tls_library": ("own", "openssl-3.6", "openssl-3.5"),
        "connections": (8, 64, 65),
        "resumption": ("off", "on", "on"),
        "server": ("mysql-9.7", "mysql-8.4", "mysql-8.0"),
        "workload": ("reconnect", "point-select", "storm"),
        "tls": ("off", "1.3", "1.2"),
        "certificate": ("rsa-2048", "rsa-4096", "ec-p256"),
    }
    treatments = tuple({name: levels[name][place] for name in names} for place in range(3))
    return Study(
        name="bundled", title="t", question="q", factors={}, treatments=treatments, baseline=treatments[0]
    )


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (("tls", "workload"), "tls=1.2"),
        (("workload", "tls"), "tls=1.2"),
        (("workload", "tls", "server"), "tls=1.2"),
        (("workload", "server"), "workload=storm"),
        (("server", "connections"), "server=mysql-8.0"),
        (("connections", "tls_library"), "connections=65"),
        (("tls_library", "instance"), "tls_library=openssl-3.5"),
        (("instance", "certificate"), "instance=3"),
        (("certificate", "instance"), "instance=3"),
    ],
)
def test_a_case_is_named_by_what_it_is_best_known_by(names: tuple[str, ...], kept: str) -> None:
    study = study_of(*names)
    last = cases(study)[-1]
    assert choice_text(last, study) == kept
    assert chosen_case(study, kept) == last


def test_what_all_cases_have_is_not_named() -> None:
    study = override(TAX, "workload", ["reconnect"])
    assert [choice_text(case, study) for case in cases(study)] == [
        "tls=off",
        "control",
        "tls=1.3,resumption=off",
        "resumption=on",
        "tls=1.2",
    ]
