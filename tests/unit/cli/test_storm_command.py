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
        (StormOptions(server="postgresql-18", back_log=100), "--back-log is a setting of MySQL and MariaDB"),
        (StormOptions(server="postgresql-18", budget="1s"), "each of 4 kinds"),
        (StormOptions(server="postgresql-16", budget="1s"), "each of 3 kinds"),
        (StormOptions(budget="90s", steady=True), "has no room for the search"),
        (StormOptions(path="pgbuncer"), "there is no path 'pgbuncer'"),
        (StormOptions(path="unix-socket"), "there is no path 'unix-socket' with a program of its own"),
        (StormOptions(path="pgbouncer"), "pgbouncer is PostgreSQL's, and leads to no MySQL"),
        (StormOptions(server="postgresql-18", path="router-terminate"), "leads to no PostgreSQL"),
        (StormOptions(server="postgresql-18", path="pgbouncer", most=20_000), "takes 10,000 clients at once"),
        (
            StormOptions(server="mysql://user@db.example", path="haproxy"),
            "--path starts a program beside a private server",
        ),
    ],
)
def test_a_bad_option_is_named(options: StormOptions, words: str) -> None:
    with pytest.raises(UserMistake) as caught:
        storm_command(options)
    assert words in caught.value.message
