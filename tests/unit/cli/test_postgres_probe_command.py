"""`tlstax drivers probe` for PostgreSQL's drivers: which are asked for, what is refused, what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tlstax.cli import server_command
from tlstax.cli.postgres_probe_command import postgres_request_of, wants_postgresql, written
from tlstax.cli.server_app import ProbeOptions
from tlstax.study.driver_catalogue import speaking
from tlstax.tools.probes.postgres_drivers.document import PostgresProbe
from typed import sentence_for


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (ProbeOptions(), False),
        (ProbeOptions(["pymysql-1.2"]), False),
        (ProbeOptions(server="mysql-9.7"), False),
        (ProbeOptions(["psycopg-3"]), True),
        (ProbeOptions(server="postgresql-18"), True),
        (ProbeOptions(["pgx-5"], server="postgresql-17"), True),
    ],
)
def test_names_or_the_server_say_whose_drivers_are_meant(options: ProbeOptions, expected: bool) -> None:
    assert wants_postgresql(options) is expected


def test_by_the_server_alone_all_of_its_drivers_are_probed() -> None:
    request = postgres_request_of(ProbeOptions(server="postgresql-17", no_costs=True))
    assert (request.names, request.server, request.budget_s) == (
        speaking("postgresql"),
        "postgresql-17",
        None,
    )
    request = postgres_request_of(ProbeOptions(["pgx-5"], budget="90s", option=["a=b"], attacks=True))
    assert (request.server, request.budget_s) == ("postgresql-18", 90.0)
    assert (request.options, request.attacks) == ({"a": "b"}, True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("psycopg-3", "pymysql-1.2"), "pymysql-1.2 and psycopg-3 speak different protocols"),
        (("psycopg-3", "--server", "mysql-9.7"), "psycopg-3 and mysql-9.7 speak different protocols"),
        (("pymysql-1.2", "--server", "postgresql-18"), "MySQL's and PostgreSQL's"),
        (("psycopg-3", "--server", "postgresql-99"), "postgresql-99"),
        (("psycopg-3", "--allow-plaintext"), "--allow-plaintext needs the address of an external server"),
        (("psycopg-3", "--budget", "1m", "--no-costs"), "does not go with --no-costs"),
        (("psycopg-3", "--no-costs", "--output", "probe.html"), "a probe is not written as .html"),
        (("psycopg-2",), "did you mean 'psycopg-3'?"),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert expected in sentence_for(monkeypatch, capsys, "drivers", "probe", *arguments)


def test_each_format_has_what_was_found() -> None:
    found = PostgresProbe(status="complete", server="postgresql-18", server_version="18.6", drivers=())
    assert json.loads(written(found, "json", width=80))["server"] == "postgresql-18"
    assert written(found, "csv", width=80).startswith("driver,version,meaning")
    for form in ("md", "txt"):
        assert "postgresql-18" in written(found, form, width=80)


def test_a_driver_of_mysql_goes_the_way_it_went() -> None:
    assert server_command.request_of(ProbeOptions(["pymysql-1.2"], no_costs=True)).names == ("pymysql-1.2",)
