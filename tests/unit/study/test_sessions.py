"""Workloads by their numbers: what their names stand for, and statements of exactly so many bytes."""

from __future__ import annotations

import re

import pytest

from tlstax.contract import UniformInt
from tlstax.study import load_study, override
from tlstax.study.case_levels import CaseLevels
from tlstax.study.mixes import Mix
from tlstax.study.workloads import built_in, changes_data, in_words, table_of
from tlstax.study.workloads.bulk import VALUE_BYTES
from tlstax.study.workloads.sessions import Session
from tlstax.support.errors import UserMistake


def test_a_name_says_how_many_statements_of_how_many_bytes() -> None:
    assert Session.named("session-10x2048") == Session(10, 2048)
    assert Session.named("answer-64") == Session(None, 64)
    for name in (
        "session-0x10",
        "session-10",
        "session-10x0",
        "answer-0",
        "session-1001x1",
        "answer-1048577",
    ):
        assert Session.named(name) is None
    assert Session.named("session-1000x1048576") == Session(1000, 1 << 20)
    assert Session(10, 2048).name == "session-10x2048"
    assert Session(None, 64).name == "answer-64"


@pytest.mark.parametrize("wanted", [1, 119, 120, 121, 240, 2048, 15_000])
def test_each_select_returns_exactly_so_many_bytes(wanted: int) -> None:
    workload = built_in(f"session-3x{wanted}", "t", 50)
    (statement,) = workload.statements
    assert workload.reconnect
    assert statement.repeat == 3
    assert statement.parameters == {"id": UniformInt(low=1, high=50)}
    assert _bytes_of(statement.sql.removeprefix("SELECT ").split(" FROM ")[0]) == wanted


def _bytes_of(expression: str) -> int:
    """What the server makes of it: c has 119 bytes, REPEAT and LEFT do what their names say."""
    found = re.fullmatch(r"LEFT\(REPEAT\(CAST\(c AS BINARY\), (\d+)\), (\d+)\)", expression)
    assert found is not None, "the form is one for all sizes"
    return min(VALUE_BYTES * int(found[1]), int(found[2]))


def test_on_a_kept_connection_each_select_is_an_operation() -> None:
    workload = built_in("answer-500", "t", 50)
    assert not workload.reconnect
    assert [each.repeat for each in workload.statements] == [1]


def test_they_read_and_are_named_in_reports() -> None:
    assert table_of("session-2x10") == "sbtest"
    assert not changes_data("session-2x10")
    assert in_words("session-2x1000") == "a connection for 2 selects of 1,000 bytes"
    assert in_words("session-1x10") == "a connection for one select of 10 bytes"
    assert in_words("answer-10") == "selects of 10 bytes on kept connections"


def test_a_study_takes_them_as_levels_and_says_how_they_are_written() -> None:
    study = override(load_study("tax"), "workload", ("session-2x10", "answer-7"))
    assert study.levels_of()["workload"] == ("session-2x10", "answer-7")
    with pytest.raises(UserMistake, match="session-0x10") as caught:
        override(load_study("tax"), "workload", ("session-0x10",))
    assert "session-QxB" in str(caught.value.remedy)


def test_only_what_connects_anew_reconnects() -> None:
    assert CaseLevels.of({"workload": "session-2x10"}).reconnects
    assert CaseLevels.of({"workload": "reconnect"}).reconnects
    assert not CaseLevels.of({"workload": "answer-10"}).reconnects
    assert not CaseLevels.of({"workload": "point-select"}).reconnects


def test_a_mix_is_read_from_a_case_and_makes_its_levels() -> None:
    mix = Mix(tls="1.2", certificate="rsa-4096", group="P-384", resumption="on", statements=4, answer_bytes=9)
    assert Mix.of(CaseLevels.of(mix.levels())) == mix
    assert Mix.of(CaseLevels.of({"workload": "reconnect", "tls": "1.3"})) is None
    assert Mix.of(CaseLevels.of({"workload": "answer-5", "tls": "1.3"})) is None
    assert Mix.of(CaseLevels.of({"workload": "session-1x5", "tls": "1.1"})) is None
    assert mix.but(resumption="off").resumption == "off"
    with pytest.raises(ValueError, match="no session"):
        mix.but(tls="off")


def test_in_tls_1_2_a_key_goes_with_its_curve_alone() -> None:
    for certificate, group in (("ec-p384", "P-256"), ("ec-p256", "P-384")):
        with pytest.raises(ValueError, match="only by clients that offer that group"):
            Mix(tls="1.2", certificate=certificate, group=group, statements=1, answer_bytes=1)
        Mix(tls="1.3", certificate=certificate, group=group, statements=1, answer_bytes=1)
        Mix(tls="1.2", certificate=certificate, group="default", statements=1, answer_bytes=1)
    Mix(tls="1.2", certificate="ec-p256", group="P-256", statements=1, answer_bytes=1)
    Mix(tls="1.2", certificate="rsa-4096", group="P-384", statements=1, answer_bytes=1)
