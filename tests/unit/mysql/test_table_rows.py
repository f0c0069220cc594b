"""The people of the published study's table: the same from one seed, and plain enough for every server."""

from __future__ import annotations

from tlstax.mysql import table
from tlstax.mysql.table_rows import PEOPLE, Row, TableContent


def people(rows: int, seed: int) -> list[Row]:
    return [
        row for chunk in PEOPLE.chunks(TableContent(rows=rows, seed=seed, shape="people")) for row in chunk
    ]


def test_people_follow_from_the_seed() -> None:
    assert people(200, 1) == people(200, 1)
    assert people(200, 1) != people(200, 2)


def test_these_are_the_people_of_every_run() -> None:
    assert (
        table.expected("people", TableContent(rows=10_000, seed=1, shape="people")).checksum == 21373497244494
    )


def test_people_fit_their_columns() -> None:
    drawn = people(25_000, 3)
    assert [row[0] for row in drawn] == list(range(1, 25_001))
    for row in drawn:
        texts = [str(text) for text in row[1:]]
        assert all(text.isascii() and "\\" not in text for text in texts)
        assert max(map(len, texts[:-1])) <= 50
        assert len(texts[-1]) <= 20
    assert len({row[1:] for row in drawn}) > 24_990


def test_a_name_with_an_apostrophe_is_quoted() -> None:
    assert table._values((1, "O'Brien")) == "(1,'O''Brien')"
