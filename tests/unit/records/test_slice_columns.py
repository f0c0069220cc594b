"""Slices are kept in columns: one number for each slice in every column, or the record is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from fake_slices import slices_of
from tlstax.records.window import Slices

THREE = slices_of([(100, 1.0)] * 3, path=True)


def test_slices_are_what_they_were_after_they_were_stored() -> None:
    assert Slices.model_validate_json(THREE.model_dump_json()) == THREE


@pytest.mark.parametrize("column", ["server_cpu_us", "path_cpu_us"])
def test_who_is_out_of_reach_has_no_column(column: str) -> None:
    assert getattr(Slices(**{**dict(THREE), column: ()}), column) == ()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("rounds", (0, 1)),
        ("operations", ()),
        ("elapsed_s", (0.005,)),
        ("latency_sum_s", (0.1,) * 4),
        ("client_cpu_us", ()),
        ("server_cpu_us", (1.0,)),
        ("path_cpu_us", (1.0,) * 4),
    ],
)
def test_columns_of_another_length_are_refused(column: str, values: Any) -> None:
    with pytest.raises(ValidationError, match="columns of slices have different lengths"):
        Slices(**{**dict(THREE), column: values})
