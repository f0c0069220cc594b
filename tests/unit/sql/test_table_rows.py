"""The rows of tables that are filled here: the same from one seed, as others make them, plain everywhere."""

from __future__ import annotations

import re

from tlstax.sql.table_rows import LAYOUTS, Row, TableContent


def drawn(content: TableContent) -> list[Row]:
    return [row for chunk in LAYOUTS[content.shape].chunks(content) for row in chunk]


def test_rows_look_as_sysbench_makes_them() -> None:
    found = drawn(TableContent(rows=45_000, seed=3))
    assert [row[0] for row in found] == list(range(1, 45_001))
    assert all(1 <= int(row[1]) <= 45_000 for row in found)
    assert all(re.fullmatch(r"\d{11}(-\d{11}){9}", str(row[2]), re.ASCII) for row in found)
    assert all(re.fullmatch(r"\d{11}(-\d{11}){4}", str(row[3]), re.ASCII) for row in found)
    assert len({row[2] for row in found}) == 45_000
    assert set("".join(str(row[3]) for row in found[:100])) == set("0123456789-")


def test_rows_follow_from_the_seed() -> None:
    assert drawn(TableContent(rows=50, seed=3)) == drawn(TableContent(rows=50, seed=3))
    assert drawn(TableContent(rows=50, seed=3)) != drawn(TableContent(rows=50, seed=4))


def people(rows: int, seed: int) -> list[Row]:
    return drawn(TableContent(rows=rows, seed=seed, shape="people"))


def test_people_follow_from_the_seed() -> None:
    assert people(200, 1) == people(200, 1)
    assert people(200, 1) != people(200, 2)


def test_people_fit_their_columns() -> None:
    of_all = people(25_000, 3)
    assert [row[0] for row in of_all] == list(range(1, 25_001))
    for row in of_all:
        texts = [str(text) for text in row[1:]]
        assert all(text.isascii() and "\\" not in text for text in texts)
        assert max(map(len, texts[:-1])) <= 50
        assert len(texts[-1]) <= 20
    assert len({row[1:] for row in of_all}) > 24_990
