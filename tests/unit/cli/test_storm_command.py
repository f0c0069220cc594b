"""`tlstax storm`: bad options are one sentence each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.cli.benches_app import StormOptions
from tlstax.cli.benches_command import storm_command
from tlstax.support.errors import UserMistake


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (StormOptions(within="soon"), "--within"),
        (StormOptions(within="2m"), "--within"),
        (StormOptions(share="0%"), "--share"),
        (StormOptions(share="most"), "--share"),
        (StormOptions(most=10**9), "--most"),
        (StormOptions(budget="soon"), "--budget"),
        (StormOptions(lasting="2m", steady=True), "--lasting"),
        (StormOptions(most=10**9, steady=True), "--most"),
        (StormOptions(budget="40s"), "has no room for the search"),
        (StormOptions(format_name="html"), "--format: there is no format 'html'"),
        (StormOptions(output=Path("storm.html")), "a bench is not written as .html"),
        (StormOptions(budget="90s", steady=True), "has no room for the search"),
    ],
)
def test_a_bad_option_is_named(options: StormOptions, words: str) -> None:
    with pytest.raises(UserMistake) as caught:
        storm_command(options)
    assert words in caught.value.message
