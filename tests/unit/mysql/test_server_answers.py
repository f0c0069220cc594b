"""Answers of a server's that have another shape than what was asked: its fault, and no defect of ours."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pymysql.err import OperationalError

from fake_database import FakeDatabase
from tlstax.mysql import answers
from tlstax.mysql.answers import Malformed
from tlstax.mysql.database import Database
from tlstax.mysql.status import read_status
from tlstax.support.errors import MachineFault


def answering(*rows: tuple[Any, ...]) -> Database:
    return cast("Database", FakeDatabase(*rows))


@pytest.mark.parametrize("value", ["²", "१", "--1", "1e3", "", "9" * 5000, "1.5", None])
def test_a_counter_that_is_no_number_is_left_out(value: str | None) -> None:
    found = read_status(answering(("Odd", value), ("Uptime", "12"), ("Down", "-3")))
    assert found == {"Uptime": 12, "Down": -3}


def test_counters_of_another_shape_are_the_servers_fault() -> None:
    with pytest.raises(MachineFault, match=r"counters could not be read \(an answer has 1 column where 2"):
        read_status(answering(("Uptime",)))


def test_an_answer_has_the_shape_that_was_asked_for() -> None:
    assert answers.row(answering(("1", "2")), "SELECT 1, 2", columns=2) == ("1", "2")
    assert answers.column(answering(("1", "2"), ("3", "4")), "SHOW INDEX", place=1) == ["2", "4"]
    with pytest.raises(Malformed, match="no row"):
        answers.row(answering(), "SELECT 1", columns=1)
    with pytest.raises(Malformed, match="column 3"):
        answers.column(answering(("1", "2")), "SHOW INDEX", place=2)
    with pytest.raises(Malformed, match="where a number was expected"):
        answers.number("twelve")


def test_what_a_server_says_fits_a_sentence() -> None:
    assert answers.message_of(OperationalError(1105, "one\ntwo\r\n  three")) == "one two three"
    assert len(answers.message_of(OperationalError(1105, "x" * 10_000))) < 400
    assert answers.message_of(OperationalError()) == "OperationalError"
