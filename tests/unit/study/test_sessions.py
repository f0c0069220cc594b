"""Workloads by their numbers: what their names stand for, and statements of exactly N bytes."""

from __future__ import annotations

import zlib

import pytest

from tlstax.contract import UniformInt
from tlstax.sql.table_rows import ANSWERS, answers_of
from tlstax.study import load_study, override
from tlstax.study.factors import CaseLevels
from tlstax.study.mixes import Mix
from tlstax.study.needs import data_needs
from tlstax.study.workloads import built_in, changes_data, in_words, table_of
from tlstax.study.workloads.sized import Session, ids_of
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


@pytest.mark.parametrize("wanted", [1, 119, 2048, 15_000, 1 << 20])
def test_each_select_returns_a_row_of_exactly_so_many_random_digits(wanted: int) -> None:
    workload = built_in(f"session-3x{wanted}", "t", 50)
    (statement,) = workload.statements
    assert workload.reconnect
    assert statement.repeat == 3
    (asked,) = statement.parameters.values()
    assert isinstance(asked, UniformInt)
    held = answers_of((wanted,), seed=1)
    rows = [row for chunk in ANSWERS.chunks(held) for row in chunk]
    assert len(rows) == held.rows
    assert [row[0] for row in rows] == list(range(asked.low, asked.high + 1))
    answers = [str(row[1]) for row in rows]
    assert {len(answer) for answer in answers} == {wanted}
    assert all(answer.isdigit() for answer in answers)
    if wanted > 100:
        left = len(zlib.compress(answers[0].encode()))
        assert 0.4 * wanted < left < 0.75 * wanted, "a compression finds digits, and nothing that repeats"


def test_the_rows_of_two_sizes_have_no_id_in_common_and_all_ids_are_as_long() -> None:
    sizes = (1, 2, 119, 120, 15_000, (1 << 20) - 1, 1 << 20)
    ids = [number for size in sizes for number in ids_of(size)]
    assert len(set(ids)) == len(ids)
    assert {len(str(number)) for number in ids} == {10}
    assert max(ids) < 1 << 31, "they are INTEGERs"


def test_statements_are_long_enough_to_be_compressed() -> None:
    (statement,) = built_in("answer-1", "t", 1).statements
    shortest = statement.sql.replace("{id}", "1" * 10)
    assert 1 + len(shortest) >= 50


def test_a_statement_that_fills_the_table_is_no_longer_than_servers_take() -> None:
    held = answers_of((1, 120, 65_536, 1 << 20), seed=1)
    for chunk in ANSWERS.chunks(held):
        assert len(chunk) == 1 or sum(len(str(row[1])) for row in chunk) <= 400_000


def test_on_a_kept_connection_each_select_is_an_operation() -> None:
    workload = built_in("answer-500", "t", 50)
    assert not workload.reconnect
    assert [each.repeat for each in workload.statements] == [1]


def test_they_read_and_are_named_in_reports() -> None:
    assert table_of("session-2x10") == table_of("answer-5") == "answers"
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


def test_a_study_needs_answers_of_the_sizes_that_its_workloads_select() -> None:
    study = override(load_study("tax"), "workload", ("session-2x10", "answer-7", "session-1x10", "reconnect"))
    needs = data_needs(study)
    assert needs.tables == ("answers", "sbtest")
    assert needs.answer_bytes == (7, 10)
    assert data_needs(load_study("tax")).answer_bytes == ()


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
