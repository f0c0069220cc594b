"""Rates and sizes as users write them."""

from __future__ import annotations

import pytest

from tlstax.cli import quantities
from tlstax.cli.asked_outcomes import asked_outcomes
from tlstax.external.access import parse_url
from tlstax.study import load_study
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


@pytest.mark.parametrize("text", ["a,", ",a", "a,,b", "a, ,b"])
def test_a_list_with_an_empty_name_is_refused(text: str) -> None:
    """Somebody took a name out, or forgot one: which, nobody but the user can tell."""
    with pytest.raises(UserMistake, match="--tls: nothing is named before or after a comma"):
        quantities.names(text, "--tls")
    with pytest.raises(UserMistake, match="--set tls: nothing is named before or after a comma"):
        quantities.setting(f"tls={text}")
    with pytest.raises(UserMistake, match="--outcomes: nothing is named before or after a comma"):
        asked_outcomes(text, load_study("tax"))


@pytest.mark.parametrize(
    "url", ["mysql://ann@db.example,", "mysql://ann@db.example/one,mysql://db.example/two"]
)
def test_a_comma_is_no_part_of_a_servers_url(url: str) -> None:
    with pytest.raises(UserMistake, match="has a comma, which stands between servers"):
        parse_url(url)
