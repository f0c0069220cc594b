"""All topics together: their names and columns are such that every format can have them."""

from __future__ import annotations

import re
import sqlite3
from itertools import combinations
from pathlib import Path

import golden
from tlstax.report.run_tables import FINDINGS
from tlstax.topics.index import TOPICS, own_columns


def test_a_topic_is_listed_once_by_a_name_of_its_own() -> None:
    names = [topic.name for topic in TOPICS]
    assert len(set(names)) == len(names)
    assert all(
        re.fullmatch(r"[a-z][a-z_]*", name) and topic.title for name, topic in zip(names, TOPICS, strict=True)
    )


def test_two_topics_with_a_column_of_one_name_mean_the_same_by_it() -> None:
    for one, other in combinations(TOPICS, 2):
        theirs = {column.name: column for column in other.columns}
        for column in one.columns:
            assert theirs.get(column.name, column) == column, f"{one.name} and {other.name}: {column.name}"


def test_columns_can_be_asked_for_in_sql_without_quotation_marks() -> None:
    with sqlite3.connect(":memory:") as connection:
        for number, column in enumerate(FINDINGS.columns):
            connection.execute(f"CREATE TABLE t{number} ({column.name} {column.type})")


def test_no_column_of_a_topic_is_one_that_all_have() -> None:
    names = [column.name for column in FINDINGS.columns]
    assert len(set(names)) == len(names)
    assert {column.name for column in own_columns()} <= set(names)


def test_every_golden_document_is_a_tests() -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    named = re.findall(r'golden\.(?:check(?:_series)?|compare)\(\s*"([^"]+)"', tests)
    assert sorted(named) == sorted(path.stem for path in golden.FOLDER.iterdir())
