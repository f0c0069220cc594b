"""A table that is wider than the terminal has its columns below each other, with their rows' names."""

from __future__ import annotations

from tlstax.topics.core.table import Table


def table(columns: int, *, name: str = "a row") -> Table:
    """A column takes ten characters and the gap before it."""
    heads = tuple(f"head {place:05d}" for place in range(columns))
    return Table("Title", heads, ((name, *("1",) * columns),), ())


def test_columns_that_fit_stay_beside_each_other() -> None:
    assert table(5).fitting(5 + 5 * 12) == [[0, 1, 2, 3, 4]]
    assert table(5).fitting(5 + 5 * 12 - 1) == [[0, 1, 2, 3], [4]]
    assert table(5).fitting(5 + 2 * 12) == [[0, 1], [2, 3], [4]]


def test_long_names_are_broken_before_columns_are_moved() -> None:
    assert table(4, name="x" * 60).fitting(80) == [[0, 1, 2, 3]]
    assert table(5, name="x" * 60).fitting(80) == [[0, 1, 2, 3], [4]]


def test_a_column_that_never_fits_stands_alone() -> None:
    assert table(2).fitting(10) == [[0], [1]]
    assert Table("Title", (), (), ()).fitting(80) == [[]]
