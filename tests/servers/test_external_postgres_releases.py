"""Somebody else's PostgreSQL of each release that there is: visited, inspected, and left as it was found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lent_postgres import Lent, as_owner, lent
from test_guest_run import last_run, sentence, tlstax_run

from tlstax.specimens.resolve import named_server
from tlstax.specimens.sessions import Session

pytestmark = pytest.mark.long

BEGINS_TLS = 17
"""The first release at which TLS may begin at once."""

SHORT = ("--rows", "500", "--budget", "2s", "--over-budget", "--connections", "2", "--workload", "reconnect")


@pytest.fixture(scope="module", params=range(10, 18))
def release(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def house(release: int, session: Session) -> Iterator[Lent]:
    build = named_server(f"postgresql-{release}", lambda _: None)
    with lent(build, session) as server:
        as_owner(server, "CREATE DATABASE scratch OWNER app")
        yield Lent(server, "scratch")


def test_it_is_measured_and_left_as_it_was(house: Lent, tmp_path: Path) -> None:
    before = house.everything()
    done = tlstax_run(tmp_path, house.url(), *SHORT, "--tls", "off,1.3")
    assert done.returncode == 0, done.stderr
    assert {trial.verdict.value for trial in last_run(tmp_path).trials} == {"valid"}
    assert house.everything() == before


def test_tls_begins_at_once_or_that_is_refused_in_a_sentence(
    house: Lent, release: int, tmp_path: Path
) -> None:
    done = tlstax_run(tmp_path, house.url(), *SHORT, "--tls", "off,1.3-direct")
    if release < BEGINS_TLS:
        assert "the server cannot begin TLS at once (tls = 1.3-direct)" in sentence(done, 2)
        return
    assert done.returncode == 0, done.stderr
    assert {trial.verdict.value for trial in last_run(tmp_path).trials} == {"valid"}


def test_an_inspection_names_its_release(house: Lent, release: int, tmp_path: Path) -> None:
    done = tlstax_run(tmp_path, house.url(), command=("inspect",))
    assert done.returncode == 0, done.stderr
    assert f"PostgreSQL {release}." in done.stdout
