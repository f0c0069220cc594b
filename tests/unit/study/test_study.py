"""Studies are read, checked at the door and changed from the command line, or refused in one sentence."""

from pathlib import Path

import pytest

from tlstax.contract import OpenLoop
from tlstax.plan.order import cases
from tlstax.study import (
    Exclusion,
    Study,
    at_rate,
    built_in_studies,
    check_nothing_is_lost,
    load_study,
    override,
    parse_study,
    study_toml,
)
from tlstax.support.errors import UserMistake

VERSIONS = """
name = "openssl-versions"
title = "TLS libraries"
question = "Which TLS library is cheapest?"
baseline = { tls = "off" }
deciding_outcome = "ops_per_s"
factors = { tls = ["off", "1.2", "1.3"], workload = ["reconnect"], connections = [1, 8] }
"""


def _mistake(text: str) -> str:
    with pytest.raises(UserMistake) as caught:
        parse_study(text, where="my.toml")
    return caught.value.sentence()


def _tls(study: Study, workload: str = "point-select") -> list[tuple[object, object]]:
    """(tls, resumption) of the cases of a workload, in order, the control left out."""
    return [
        (case.levels["tls"], case.levels["resumption"])
        for case in cases(study)
        if case.role != "control" and case.levels["workload"] == workload
    ]


def test_a_study_may_be_an_open_loop_decided_by_what_it_finds() -> None:
    schedule = 'schedule = { mode = "open", rate_per_s = 500, arrivals = "uniform" }\n'
    assert "the rate is given" in _mistake(schedule + VERSIONS)
    assert "rate_per_s" in _mistake(schedule.replace("500", "0") + VERSIONS)
    decided = VERSIONS.replace('"ops_per_s"', '"server_cpu_us_per_op"')
    study = parse_study(schedule + decided, where="my.toml")
    assert study.schedule == OpenLoop(rate_per_s=500, arrivals="uniform")
    assert at_rate(study, OpenLoop(rate_per_s=9)).deciding_outcome == "server_cpu_us_per_op"


def test_the_built_in_tax_study_asks_what_the_readme_says() -> None:
    study = load_study("tax")
    assert _tls(study) == [("off", "off"), ("1.3", "off"), ("1.2", "off")]
    assert _tls(study, "reconnect") == [("off", "off"), ("1.3", "off"), ("1.3", "on"), ("1.2", "off")]
    assert study.factors == {"workload": ("point-select", "reconnect"), "connections": (8,)}
    assert (study.precision, study.confidence, study.budget_s, study.rows) == (0.02, 0.95, 60.0, 100_000)


@pytest.mark.parametrize("workload", ["oltp-read-only", "point-select"])
def test_a_resumed_session_is_measured_on_kept_connections_only_if_it_is_asked_for(workload: str) -> None:
    study = override(load_study("tax"), "workload", [workload])
    assert ("1.3", "on") not in _tls(study, workload)
    assert ("1.3", "on") not in _tls(override(study, "tls", ["off", "1.3", "1.2"]), workload)
    for levels in (["1.3-resumed"], ["off", "1.3", "1.3-resumed"]):
        assert ("1.3", "on") in _tls(override(study, "tls", levels), workload)
    assert ("1.2", "on") in _tls(override(study, "tls", ["1.2-resumed"]), workload)


def test_an_exclusion_that_gives_way_is_kept_in_a_file() -> None:
    study = load_study("tax")
    assert parse_study(study_toml(study), where="shown").exclude == study.exclude
    (exclusion,) = study.exclude
    assert exclusion.keeps_connections
    assert exclusion.unless_asked


def test_a_study_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "versions.toml"
    path.write_text(VERSIONS)
    assert load_study(path) == load_study(str(path)) == parse_study(VERSIONS, where="here")


def test_an_unknown_study_names_the_built_in_ones() -> None:
    with pytest.raises(UserMistake) as caught:
        load_study("taxs")
    built_in = ", ".join(built_in_studies())
    assert "tax" in built_in
    assert f"no study named 'taxs' (did you mean 'tax'?); built in are {built_in}" in caught.value.sentence()


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=r"there is no file .*nowhere\.toml"):
        load_study(tmp_path / "nowhere.toml")
    with pytest.raises(UserMistake, match=r"cannot be read"):
        load_study(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserMistake, match=r"bytes\.toml cannot be read"):
        load_study(tmp_path / "bytes.toml")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("[", "[["), ["my.toml is not TOML"]),
        (("[1, 8]", "[" * 5000), ["my.toml is nested too deeply"]),
        (("[1, 8]", "9" * 5000), ["my.toml is not TOML"]),
        (("[1, 8]", f"[{9 * 10**400}]"), ["my.toml has a whole number of more than 64 bits"]),
        (("[1, 8]", "[9_000_000_000_000_000_000]"), ["is not a level of connections"]),
        (('title = "TLS libraries"', ""), ["my.toml", "title", "missing"]),
        (("baseline =", "basline ="), ["basline", "did you mean 'baseline'?"]),
        (('"1.2", "1.3"', '"1.2", "1.4"'), ["my.toml", "'1.4'", "tls", "allowed are off, 1.0, 1.1, 1.2"]),
        (('"1.2", "1.3"', "1.2, 1.3"), ["factors", "1.2 is not a level of tls", "quotes"]),
        (("[1, 8]", "[0]"), ["0 is not a level of connections", "whole numbers from 1"]),
        (("[1, 8]", "[1, 1]"), ["connections", "only once"]),
        (("[1, 8]", "[]"), ["connections", "at least one"]),
        (("connections =", "conections ="), ["'conections'", "did you mean 'connections'?"]),
        (('{ tls = "off" }', '{ tls = "1.0" }'), ["baseline", "'1.0'", "off, 1.2, 1.3"]),
        (('{ tls = "off" }', "{}"), ["baseline"]),
        (('{ tls = "off" }', '{ resumption = "off" }'), ["baseline", "resumption", "not a factor"]),
        (("factors =", "precision = 2\nfactors ="), ["precision", "less than 1", "2"]),
        (("factors =", "confidence = 95\nfactors ="), ["confidence", "less than 1"]),
        (("factors =", 'budget_s = "1m"\nfactors ='), ["budget_s", "1m"]),
        (("factors =", "minimum_blocks = 0\nfactors ="), ["minimum_blocks", "greater than 0"]),
        (("factors =", 'exclude = [{ levels = { tls = "1.2" } }]\nfactors ='), ["exclude.0.why", "missing"]),
        (('= "ops_per_s"', '= "speed"'), ["deciding_outcome", "'speed'", "the outcomes are ops_per_s"]),
    ],
)
def test_a_mistake_in_a_study_names_the_file_the_field_and_what_is_allowed(
    change: tuple[str, str], says: list[str]
) -> None:
    sentence = _mistake(VERSIONS.replace(*change, 1))
    assert [word for word in says if word not in sentence] == [], sentence
    assert "\n" not in sentence


def test_treatments_must_name_the_same_factors_and_differ() -> None:
    study = VERSIONS.replace('tls = ["off", "1.2", "1.3"], ', "")
    uneven = 'treatments = [{ tls = "off" }, { tls = "1.3", resumption = "on" }]\n'
    assert "must name the same factors" in _mistake(uneven + study)
    twice = 'treatments = [{ tls = "off" }, { tls = "off" }]\n'
    assert "appears twice" in _mistake(twice + study)
    both = 'treatments = [{ tls = "off" }, { tls = "1.3" }]\n'
    assert "tls is among the factors too" in _mistake(both + VERSIONS)


def test_exclusions_may_not_take_a_comparison_its_baseline() -> None:
    excluded = 'exclude = [{ levels = { tls = "off", connections = 8 }, why = "too dear" }]\nfactors ='
    sentence = _mistake(VERSIONS.replace("factors =", excluded, 1))
    assert "baseline" in sentence
    assert "connections = 8" in sentence
    assert "too dear" in sentence


def test_a_study_with_a_factor_of_servers_can_be_written() -> None:
    """The model carries bundles over several factors crossed with others, less exclusions that say why."""
    study = Study(
        name="openssl-versions",
        title="",
        question="",
        treatments=tuple(
            {"server": server, "tls_library": library}
            for server, library in (("mysql-8.0", "1.1.1w"), ("mysql-9.7", "3.0.8"), ("mysql-9.7", "3.5.5"))
        ),
        factors={"tls": ("1.2", "1.3"), "connections": (1, 8)},
        baseline={"server": "mysql-8.0", "tls_library": "1.1.1w"},
        exclude=(Exclusion(levels={"tls_library": "3.0.8", "tls": "1.3"}, why="known to fail"),),
    )
    assert len(cases(study)) == 2 * 2 * 4 - 2
    assert study.group_of(cases(study)[0].levels) == {"connections": 1, "tls": "1.2"}


@pytest.mark.parametrize(
    ("asked", "pairs"),
    [
        (["1.3"], [("off", "off"), ("1.3", "off")]),
        (["off", "1.3-resumed"], [("off", "off"), ("1.3", "on")]),
        (["1.2-resumed", "1.2", "1.2"], [("off", "off"), ("1.2", "on"), ("1.2", "off")]),
        (["off"], [("off", "off")]),
        (["default"], [("off", "off"), ("default", "off")]),
    ],
)
def test_tls_on_the_command_line_keeps_plaintext_to_compare_with(
    asked: list[str], pairs: list[tuple[str, str]]
) -> None:
    assert _tls(override(load_study("tax"), "tls", asked)) == pairs


def test_the_shorthand_brings_resumption_into_a_study_without_it() -> None:
    study = override(parse_study(VERSIONS, where="here"), "tls", ["1.3", "1.3-resumed"])
    assert study.baseline == {"tls": "off", "resumption": "off"}
    pairs = [(treatment["tls"], treatment["resumption"]) for treatment in study.treatments]
    assert pairs == [("off", "off"), ("1.3", "off"), ("1.3", "on")]
    assert len(cases(study)) == 2 * 4


def test_other_bundles_stay_when_tls_changes() -> None:
    study = Study(
        name="s",
        title="",
        question="",
        treatments=tuple(
            {"server": server, "tls": tls} for server, tls in (("a", "off"), ("b", "off"), ("b", "1.2"))
        ),
        baseline={"tls": "off"},
    )
    changed = override(study, "tls", ["1.3-resumed"])
    assert [(t["server"], t["tls"]) for t in changed.treatments] == [
        ("a", "off"),
        ("a", "1.3"),
        ("b", "off"),
        ("b", "1.3"),
    ]


def test_other_factors_are_replaced_added_or_narrowed() -> None:
    tax = load_study("tax")
    assert override(tax, "connections", ["1", "64"]).factors["connections"] == (1, 64)
    assert override(tax, "workload", ["reconnect"]).factors["workload"] == ("reconnect",)
    assert _tls(override(tax, "resumption", ["off"])) == [("off", "off"), ("1.3", "off"), ("1.2", "off")]
    plain = override(parse_study(VERSIONS, where="here"), "resumption", ["on"])
    assert plain.factors["resumption"] == ("on",)


@pytest.mark.parametrize(
    ("factor", "levels", "says"),
    [
        ("tls", ["1.3-resumd"], ["--tls", "'1.3-resumd'", "did you mean '1.3-resumed'?", "allowed are off"]),
        ("tls", ["off-resumed"], ["plaintext has no session to resume"]),
        ("tls", [], ["no level is given"]),
        ("workload", ["point-selects"], ["--workload", "did you mean 'point-select'?", "reconnect"]),
        ("connections", ["many"], ["--connections", "'many'", "whole numbers from 1"]),
        ("connections", ["0"], ["0 is not a level", "whole numbers from 1"]),
        ("colour", ["red"], ["--set colour", "no factor 'colour'", "connections"]),
    ],
)
def test_a_wrong_choice_is_answered_with_what_there_is(
    factor: str, levels: list[str], says: list[str]
) -> None:
    with pytest.raises(UserMistake) as caught:
        override(load_study("tax"), factor, levels)
    sentence = caught.value.sentence()
    assert [word for word in says if word not in sentence] == [], sentence


def test_a_bundled_factor_cannot_get_a_level_that_no_bundle_has() -> None:
    narrow = override(load_study("tax"), "tls", ["1.2"])
    with pytest.raises(UserMistake, match="bundles resumption with other factors and has no 'on'"):
        override(narrow, "resumption", ["on"])


def test_a_level_that_was_asked_for_and_of_which_nothing_is_left_is_refused_with_the_reason() -> None:
    study = override(load_study("compression"), "server", ("mariadb-11.8",))
    typed = {"server": "--server", "compression": "--set compression"}
    check_nothing_is_lost(study, {"server": "--server"})
    with pytest.raises(UserMistake) as caught:
        check_nothing_is_lost(study, typed)
    assert str(caught.value).startswith("--set compression: nothing is left to be measured")
    assert "compression = zstd: mariadb-11.8 does not compress by zstd" in str(caught.value)
    both = override(study, "server", ("mariadb-11.8", "mysql-9.7"))
    check_nothing_is_lost(both, typed)


def test_a_changed_study_has_its_own_cases_and_another_budget_leaves_them() -> None:
    study = parse_study(VERSIONS, where="my.toml")
    assert len(list(study.included())) == 6
    few = study.model_copy(update={"factors": {**study.factors, "tls": ("off", "1.3")}})
    assert (len(list(few.included())), few.levels_of()["tls"]) == (4, ("off", "1.3"))
    without = study.model_copy(update={"exclude": (Exclusion(levels={"tls": "1.2"}, why="old"),)})
    assert (len(list(without.included())), len(list(without.excluded()))) == (4, 2)
    assert list(study.model_copy(update={"budget_s": 5.0}).included()) == list(study.included())
    assert len(list(study.included())) == 6


def test_what_is_left_out_has_the_reason_of_the_first_exclusion_that_holds_for_it() -> None:
    kept, made = "only where connections are kept", "in all cases"
    text = VERSIONS.replace('["reconnect"]', '["point-select", "reconnect"]')
    text += f'exclude = [{{ levels = {{ tls = "1.3" }}, why = "{kept}", keeps_connections = true }}, '
    text += f'{{ levels = {{ tls = "1.3" }}, why = "{made}" }}]'
    excluded = parse_study(text, where="my.toml").excluded()
    whys = {levels["workload"]: exclusion.why for levels, exclusion in excluded}
    assert whys == {"point-select": kept, "reconnect": made}


def test_a_number_that_is_written_as_text_is_one_in_every_case() -> None:
    study = parse_study(VERSIONS.replace("connections = [1, 8]", 'connections = [1, "8"]'), where="my.toml")
    assert study.levels_of()["connections"] == (1, 8)
    assert {case["connections"] for case in study.included()} == {1, 8}


def test_resumption_that_was_asked_for_by_a_tls_level_is_not_lost_either() -> None:
    study = override(load_study("tax"), "server", ("postgresql-18",))
    check_nothing_is_lost(override(study, "tls", ("off", "1.3")), {"tls": "--tls"})
    with pytest.raises(UserMistake, match=r"--tls: .* resumption = on: PostgreSQL resumes no TLS session"):
        check_nothing_is_lost(override(study, "tls", ("off", "1.3", "1.3-resumed")), {"tls": "--tls"})


def test_a_reason_that_holds_for_every_case_is_told_alone() -> None:
    study = override(load_study("tax"), "server", ("postgresql-18",))
    with pytest.raises(UserMistake) as caught:
        override(study, "client", ("sysbench",))
    assert str(caught.value).endswith(
        "nothing is left to measure: sysbench does not speak PostgreSQL's protocol"
    )
    with pytest.raises(UserMistake) as caught:
        override(load_study("tax"), "client", ("pgbench",))
    assert str(caught.value).endswith("nothing is left to measure: pgbench does not speak MySQL's protocol")
