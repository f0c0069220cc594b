"""Rates and sizes as users write them."""

from __future__ import annotations

import pytest

from tlstax.cli import quantities
from tlstax.support.errors import UserMistake


@pytest.mark.parametrize(
    ("text", "a_second"), [("200/s", 200), ("200", 200), ("12/min", 0.2), ("3600 / h", 1), ("0.5/s", 0.5)]
)
def test_a_rate_is_so_often_a_second(text: str, a_second: float) -> None:
    assert quantities.rate(text, "--connects") == pytest.approx(a_second)


@pytest.mark.parametrize("text", ["", "0", "-1/s", "1/y", "many", "1e9/s", "99999999999/s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(UserMistake, match="--connects"):
        quantities.rate(text, "--connects")


@pytest.mark.parametrize(("text", "size"), [("120", 120), ("2k", 2048), ("2 KiB", 2048), ("1M", 1 << 20)])
def test_a_size_is_in_bytes(text: str, size: int) -> None:
    assert quantities.size(text, "--bytes") == size


@pytest.mark.parametrize("text", ["", "0", "-1", "2g", "1.5k", "9999999999"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UserMistake, match="--bytes"):
        quantities.size(text, "--bytes")
