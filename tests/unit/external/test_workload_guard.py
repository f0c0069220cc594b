"""A user's workload for an external server: every place of it is looked at before anything is started."""

# ruff: noqa: S608 - workloads as their users write them
from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.external.server import EXTERNAL_TABLES
from tlstax.external.workload_guard import check_workloads
from tlstax.products.external import external_product
from tlstax.study.files import load_workload, parse_workload
from tlstax.support.errors import UserMistake

EXAMPLE = Path(__file__).parents[3] / "docs" / "orders.toml"
SELECT = '[[transactions]]\nstatements = [{ sql = "SELECT c FROM {table} WHERE id={id}" }]\n'
MADE = "prepare = ['CREATE TABLE mine (id INT, note CHAR(9))']\n"


def check(*texts: str) -> None:
    workloads = [
        parse_workload(f'name = "w{number}"\n{text}', where="w.toml") for number, text in enumerate(texts)
    ]
    check_workloads(workloads, external_product("mysql"), "lent", EXTERNAL_TABLES)


def said(sql: str, parameters: str = "") -> str:
    return f"[[transactions]]\n{parameters}\nstatements = [{{ sql = '''{sql}''' }}]\n"


def test_the_documented_workload_passes() -> None:
    check_workloads([load_workload(EXAMPLE)], external_product("mysql"), "lent", EXTERNAL_TABLES)


@pytest.mark.parametrize(
    "text",
    [
        MADE + "restore = ['TRUNCATE mine']\n" + said("INSERT INTO mine VALUES ({id}, 'x')"),
        MADE + said("UPDATE MINE SET note = {a}", "parameters.a = { kind = 'digits', template = '##' }"),
        said("SELECT JSON_EXTRACT('{{\"a\": 1}}', '$.a') FROM {table}"),
        said("SELECT * FROM theirs WHERE id={id}"),
        "prepare = ['DROP TABLE IF EXISTS mine', 'CREATE TABLE mine (id INT)']\n" + said("DELETE FROM mine"),
        "prepare = ['CREATE FUNCTION f() RETURNS INT RETURN 1', 'CREATE PROCEDURE p() SELECT f()']\n"
        + said("CALL p()"),
    ],
)
def test_a_workload_of_its_own_tables_passes(text: str) -> None:
    check(text)


def test_workloads_of_one_run_may_share_tables() -> None:
    check(MADE + SELECT, said("DELETE FROM mine WHERE id={id}"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"on_connect = ['CREATE OR REPLACE VIEW v AS SELECT 1']\n{SELECT}", "w0, on_connect: .* CREATE"),
        (f"prepare = ['EXECUTE s']\n{SELECT}", "w0, prepare: .* EXECUTE is not among"),
        (f"restore = ['TRUNCATE theirs']\n{SELECT}", "w0, restore: .* theirs is not a table"),
        (said("CREATE TABLE t (id INT)"), "w0, transactions: .* CREATE is let through in prepare"),
        (said("INSERT INTO theirs VALUES ({id})"), r"theirs is not a table .*: INSERT INTO theirs"),
        (said("SELECT * FROM theirs FOR UPDATE"), "lock rows of theirs"),
        (MADE + said("INSERT INTO mine SELECT * FROM theirs"), "lock rows of theirs"),
        (said("DELETE FROM others_{id}"), "touches a parameter"),
        (said("SELECT '{id}'"), "between quotes"),
        (said("CALL theirs()"), "the procedure theirs is not one that prepare creates"),
        (f"prepare = ['DROP TABLE theirs']\n{SELECT}", "the table theirs is not one that prepare creates"),
        (f"prepare = ['DROP TABLE {{table}}']\n{SELECT}", "tlstax's own"),
        (said("SELECT '\ue000'"), "cannot|none can be read"),
    ],
)  # fmt: skip
def test_what_is_refused_names_workload_place_and_statement(text: str, words: str) -> None:
    with pytest.raises(UserMistake, match=words) as refused:
        check(text)
    assert "an external server is left as it was found" in refused.value.message
    assert refused.value.remedy
