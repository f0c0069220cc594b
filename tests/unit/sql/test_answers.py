"""Answers of any product's server: of the shape that was asked for, compared with what clients were told."""

from __future__ import annotations

import pytest

from fake_database import FakeDatabase
from tlstax.contract import RowSample
from tlstax.sql import answers
from tlstax.sql.answers import Malformed
from tlstax.sql.database import SqlError


def test_rows_that_differ_from_the_servers_are_named_by_their_statement() -> None:
    server = FakeDatabase((7, None), ("x", 1.5))
    right = RowSample(sql="SELECT a, b FROM t", rows=(("7", None), ("x", "1.5")))
    wrong = RowSample(sql="SELECT c FROM t", rows=(("7", "None"), ("x", "1.5")))
    short = RowSample(sql="SELECT d FROM t", rows=(("7", None),))
    assert answers.mismatches(server, [right, wrong, short]) == ("SELECT c FROM t", "SELECT d FROM t")


def test_what_the_server_refuses_as_text_differs_and_a_broken_connection_is_an_error() -> None:
    sample = RowSample(sql="SELECT a FROM t WHERE b = 5", rows=(("7",),))
    refused = SqlError("42883", "operator does not exist: text = integer")
    assert answers.mismatches(FakeDatabase(error=refused), [sample]) == (sample.sql,)
    broken = SqlError("08006", "it is gone", is_of_connection=True)
    with pytest.raises(SqlError, match="it is gone"):
        answers.mismatches(FakeDatabase(error=broken), [sample])


def test_bytes_that_a_server_answers_are_those_of_a_text() -> None:
    server = FakeDatabase((b"0123",))
    right = RowSample(sql="SELECT a FROM t", rows=(("0123",),))
    wrong = RowSample(sql="SELECT b FROM t", rows=(("b'0123'",),))
    assert answers.mismatches(server, [right, wrong]) == ("SELECT b FROM t",)


def test_rows_that_agree_cost_one_round_trip() -> None:
    server = FakeDatabase((0, "a", None), (1, b"b", 7))
    samples = [
        RowSample(sql="SELECT c, d FROM t WHERE id=0", rows=(("a", None),)),
        RowSample(sql="SELECT c, d FROM t WHERE id=1", rows=(("b", "7"),)),
    ]
    assert answers.mismatches(server, samples) == ()
    assert server.statements == [
        "SELECT 0, one.* FROM (SELECT c, d FROM t WHERE id=0) AS one UNION ALL "
        "SELECT 1, one.* FROM (SELECT c, d FROM t WHERE id=1) AS one"
    ]
    other = samples[0].model_copy(update={"rows": (("c", None),)})
    answers.mismatches(server, [other, samples[1]])
    assert len(server.statements) == 1 + 1 + 2, "what differs is asked by itself"


def test_an_answer_has_the_shape_that_was_asked_for() -> None:
    assert answers.row(FakeDatabase(("1", "2")), "SELECT 1, 2", columns=2) == ("1", "2")
    assert answers.column(FakeDatabase(("1", "2"), ("3", "4")), "SHOW INDEX", place=1) == ["2", "4"]
    with pytest.raises(Malformed, match="no row"):
        answers.row(FakeDatabase(), "SELECT 1", columns=1)
    with pytest.raises(Malformed, match="column 3"):
        answers.column(FakeDatabase(("1", "2")), "SHOW INDEX", place=2)
    with pytest.raises(Malformed, match="where a number was expected"):
        answers.number("twelve")


def test_what_a_server_says_fits_a_sentence() -> None:
    assert answers.message_of(SqlError(1105, "one\ntwo\r\n  three")) == "one two three"
    assert len(answers.message_of(SqlError(1105, "x" * 10_000))) < 400
