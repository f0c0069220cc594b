"""A workload of the user's own: every mistake in its file is told, and it becomes part of the study."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from own_study import STUDY
from tlstax.contract import Digits, Offset, Sequence, UniformInt
from tlstax.study import Study, load_study, override, parse_study, study_toml
from tlstax.study.files import load_workload, parse_workload
from tlstax.study.needs import data_needs
from tlstax.study.workloads.user_defined import as_workload, with_table
from tlstax.support.errors import UserMistake
from tlstax.topics.answer.case_choice import chosen_case
from tlstax.topics.core.facts import own_workloads

EXAMPLE = Path(__file__).parents[3] / "docs" / "orders.toml"
TABLES = {"sbtest": "sbtest1", "people": "people"}


def parsed(transactions: str, head: str = 'name = "mine"') -> str:
    """The mistake in such a file."""
    with pytest.raises(UserMistake) as caught:
        parse_workload(f"{head}\n{transactions}", where="mine.toml")
    return caught.value.sentence()


def statement(text: str) -> str:
    return f"[[transactions]]\nstatements = [{{ {text} }}]"


def test_the_example_is_what_its_comment_says() -> None:
    workload = as_workload(load_workload(EXAMPLE), "sbtest1", 500)
    look_up, order = workload.mix
    assert (look_up.weight, order.weight, order.bracketed) == (8, 2, True)
    assert look_up.statements[0].sql == "SELECT c FROM sbtest1 WHERE id={id}"
    assert look_up.statements[0].parameters == {"id": UniformInt(low=1, high=500)}
    assert order.parameters == {"article": UniformInt(low=1, high=500)}
    assert order.statements[2].parameters == {"note": Digits(template="order-##########")}


def test_bounds_may_be_the_tables_rows_and_braces_stay() -> None:
    own = parse_workload(
        """name = "all"
        table = "people"
        on_connect = ["SET @a = '{{{table}}}'"]
        [[transactions]]
        statements = [{ sql = "SELECT '{{x}}', {id}, {last}, {next} FROM {table}", repeat = 3, parameters = {
          last = { kind = "offset", of = "id", by = 9 }, next = { kind = "sequence" } } }]""".replace(
            "\n          ", " "
        ),
        where="all.toml",
    )
    workload = as_workload(own, "people", 70)
    (only,) = workload.mix[0].statements
    assert only.sql == "SELECT '{{x}}', {id}, {last}, {next} FROM people"
    assert only.repeat == 3
    assert only.parameters == {
        "id": UniformInt(low=1, high=70),
        "last": Offset(of="id", by=9),
        "next": Sequence(first=1, last=70),
    }
    assert workload.on_connect == ("SET @a = '{people}'",)
    assert with_table("TRUNCATE {table}", "t") == "TRUNCATE t"


@pytest.mark.parametrize(
    ("transactions", "says"),
    [
        ("", ["the field transactions is missing"]),
        ("[[transactions]]\nweight = 0\nstatements = [{ sql = 'DO 1' }]", ["weight"]),
        (
            statement("sql = 'SELECT {nam}', parameters.name = { kind = 'digits', template = '#' }"),
            ["'name'"],
        ),
        (
            statement("sql = 'SELECT 1', parameters.x = { kind = 'digits', template = '#' }"),
            ["no statement has {x}"],
        ),
        (statement("sql = 'SELECT {'"), ["a single brace"]),
        (
            statement("sqll = 'SELECT 1'"),
            ["no field transactions.0.statements.0.sqll", "did you mean 'sql'?"],
        ),
        (
            statement("sql = 'DO {a}', parameters.a = { kind = 'uniform' }"),
            ["did you mean 'uniform_int'?", "one_of"],
        ),
        (statement("sql = 'DO {a}', parameters.a = { low = 1 }"), ["kind is missing", "uniform_int"]),
        (
            statement("sql = 'DO {a}', parameters.a = { kind = 'uniform_int', high = 'row' }"),
            ["field transactions.0.statements.0.parameters.a.high", "'row' is neither", '"rows"'],
        ),
        (
            statement("sql = 'DO {a}', parameters.a = { kind = 'uniform_int', lo = 1 }"),
            ["did you mean 'low'?"],
        ),
        (
            statement("sql = 'DO {a}', parameters.a = { kind = 'uniform_int', low = 9, high = 3 }"),
            ["begins at 9 and ends at 3"],
        ),
        (
            statement("sql = 'DO {a}', parameters.a = { kind = 'offset', of = 'b', by = 1 }"),
            ["counts from 'b'"],
        ),
        (
            statement("sql = 'DO {table}', parameters.table = { kind = 'digits', template = '#' }"),
            ["stands for the table's name"],
        ),
        ("transactions = 3", ["field transactions: it must be a list (it is 3)"]),
        ("[[transactions", ["is not TOML"]),
        (f"transactions = {'[' * 5000}", ["is nested too deeply"]),
        (f"transactions = 0x{'f' * 9000}", ["more than 64 bits"]),
        (
            statement("sql = 'DO {a}', parameters.a = { kind = 1 }"),
            ["there is no kind 1; the kinds are uniform_int"],
        ),
    ],
)
def test_every_mistake_in_a_file_is_told(transactions: str, says: list[str]) -> None:
    sentence = parsed(transactions)
    assert [word for word in ("mine.toml", *says) if word not in sentence] == [], sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ('name = "insert"', "'insert' is a built-in workload"),
        ('name = "Has Blanks"', "name"),
        ("", "the field name is missing"),
        ('name = "a"\ntable = "sbtest1"', "'sbtest'"),
        ('name = "a"\nprotocol = "binary"', "'prepared'"),
        ('name = "a"\nrestore = ["TRUNCATE {tabel}"]', "restore"),
    ],
)
def test_mistakes_beside_the_transactions_are_told(head: str, says: str) -> None:
    sentence = parsed(statement("sql = 'DO 1'"), head)
    assert says in sentence, sentence


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(UserMistake, match=r"there is no file .*none\.toml"):
        override(load_study("tax"), "workload", ["none.toml"])


def with_example() -> Study:
    return override(load_study("tax"), "workload", ["point-select", str(EXAMPLE)])


def test_a_file_becomes_part_of_the_study() -> None:
    study = with_example()
    assert study.levels_of()["workload"] == ("point-select", "orders")
    assert parse_study(study_toml(study), where="saved.toml") == study
    assert chosen_case(study, "workload=orders,tls=1.2").levels["workload"] == "orders"
    assert "2 of 10: BEGIN; SELECT" in own_workloads(study)["orders"]


def test_a_study_has_workloads_by_name() -> None:
    study = parse_study(STUDY, where="mine.toml")
    assert study.workloads["orders"].name == "orders"
    orders = next(study.workload_of(case) for case in study.included() if case.workload == "orders")
    assert not orders.changes_data
    assert orders.over(TABLES, 5).mix[0].statements[0].sql == "SELECT k FROM sbtest1 WHERE id={id}"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"orders", "point-select"', '"order"'), ["did you mean 'orders'?", "orders", "point-select"]),
        (("[[workloads.orders.", '[workloads.orders]\nname = "other"\n[[workloads.orders.'), ["'other'"]),
        (("{ sql =", "{ sgl ="), ["workloads.orders.transactions.0.statements.0.sgl", "'sql'"]),
        (("{id}", "{ids}"), ["{ids}", "did you mean 'id'?"]),
    ],
)
def test_mistakes_of_a_studys_own_workloads_are_told(change: tuple[str, str], says: list[str]) -> None:
    assert change[0] in STUDY
    with pytest.raises(UserMistake) as caught:
        parse_study(STUDY.replace(*change), where="mine.toml")
    sentence = caught.value.sentence()
    assert [word for word in ("mine.toml", *says) if word not in sentence] == [], sentence


def test_two_workloads_of_one_name_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('name = "orders"\n' + statement("sql = 'DO 1'"), encoding="utf-8")
    with pytest.raises(UserMistake, match="named orders, and so is another"):
        override(with_example(), "workload", [str(other)])


def test_what_a_study_needs_is_known_from_its_workloads() -> None:
    assert data_needs(load_study("tax")).tables == ("sbtest",)
    assert data_needs(load_study("tax")).changed == ()
    needs = data_needs(with_example())
    assert (needs.tables, needs.changed, list(needs.own)) == (("sbtest",), ("sbtest",), ["orders"])
    people = override(load_study("tax"), "workload", ["people-select", "people-delete"])
    assert data_needs(people).tables == ("people",)
    assert data_needs(people).changed == ("people",)


def test_every_parameter_that_the_page_shows_can_be_written() -> None:
    shown = re.findall(r"`(\{ kind = .*? \})`", (EXAMPLE.parent / "workloads.md").read_text(encoding="utf-8"))
    assert len(shown) == 5
    for parameter in shown:
        parse_workload(
            'name = "shown"\n' + statement(f"sql = 'DO {{id}}, {{a}}', parameters.a = {parameter}"),
            where="page",
        )
