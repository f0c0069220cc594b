"""A study that options have changed asks what it measures, and its title names nothing else."""

from __future__ import annotations

import re

import pytest

from tlstax.cli.measure_app import RunOptions
from tlstax.cli.run_command import study_of
from tlstax.cli.study_command import changed
from tlstax.records.trial import Changes
from tlstax.study import built_in_studies, load_study

TAX = load_study("tax")


def asked(**options: str) -> str:
    """What `run` with these options asks."""
    return study_of(RunOptions(**options)).question  # type: ignore[arg-type]


def test_what_is_not_changed_asks_what_its_file_says() -> None:
    assert study_of(RunOptions()) == TAX
    assert study_of(RunOptions(budget="10s")).question == TAX.question
    for name in built_in_studies():
        assert changed(load_study(name), Changes(budget="2h")).question == load_study(name).question


@pytest.mark.parametrize(
    ("options", "named", "unnamed"),
    [
        ({"tls": "off,1.3"}, "TLS 1.3", r"resum|TLS 1\.2"),
        ({"workload": "point-select"}, "kept connections", "resum|reconnect|opens its own"),
        ({"workload": "reconnect"}, "TLS 1.3 resumed", "kept"),
        ({"tls": "1.3-resumed", "workload": "point-select"}, "TLS 1.3 resumed", r"reconnect|TLS 1\.2"),
        ({"rate": "5000"}, "at 5,000 operations a second", "opens its own"),
    ],
)
def test_a_run_asks_of_nothing_that_it_does_not_measure(
    options: dict[str, str], named: str, unnamed: str
) -> None:
    question = asked(**options)
    assert named in question
    assert re.search(unnamed, question) is None


def test_a_title_of_tls_needs_tls() -> None:
    assert study_of(RunOptions(tls="off,1.3")).title == TAX.title
    for options in ({"tls": "off"}, {"tls": "off", "path": "direct,stunnel"}):
        title = study_of(RunOptions(**options)).title  # type: ignore[arg-type]
        assert "TLS" not in title
        assert "laintext" in title


def test_so_it_is_with_set() -> None:
    compression = changed(load_study("compression"), Changes(set=("tls=off",)))
    assert "TLS" not in compression.title + compression.question
    tax = changed(TAX, Changes(set=("tls=off,1.2",)))
    assert (tax.title, "1.3" in tax.question, "1.2" in tax.question) == (TAX.title, False, True)
