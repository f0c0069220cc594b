"""`tlstax advise` of PostgreSQL: what is planted is found, measured and said, and nothing is left there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lent_postgres import PASSWORD, Lent, as_owner, lent

from tlstax.network.paths.design import Ends
from tlstax.network.paths.opening import open_path
from tlstax.postgres import accounts
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.topics.advice.advise import Advice

WITHIN_S = 300.0
UNMEASURED = ("--budget", "off", "--there", "off")


@pytest.fixture(scope="module")
def house(session: Session, postgresql_build: ServerBuild) -> Iterator[Lent]:
    """A server without any mistake but one in its groups."""
    settings = ServerSettings(options=("--ssl_groups=secp384r1",))
    with lent(postgresql_build, session, settings) as server:
        as_owner(server, "CREATE DATABASE scratch OWNER app")
        yield Lent(server, "scratch")


def advice(url: str, data: Path, *arguments: str) -> Advice:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tlstax", "advise", url, "--watch", "1ms", "--json", *arguments],
        env={**os.environ, "TLSTAX_PASSWORD": PASSWORD, "TLSTAX_DATA": str(data)},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    return Advice.model_validate(json.loads(done.stdout))


def test_groups_are_found_and_measured_and_nothing_is_left(house: Lent, tmp_path: Path) -> None:
    before = house.everything()
    times = ("--budget", "8s", "--there", "4s", "--share", "50%")
    found = advice(house.url(), tmp_path, *times)
    assert house.everything() == before
    (own,) = found.advised
    assert own.change == "groups"
    assert own.seen == "clients are asked for a second ClientHello: the server takes P-384"
    assert own.saving.round_trips == 1
    assert own.saving.server_share is not None or own.saving.inconclusive
    assert (found.stand_in, len(found.runs), found.not_measured) == ("postgresql-18", 2, ())


def test_a_password_that_is_hashed_too_often_is_found_with_what_that_costs(
    house: Lent, tmp_path: Path
) -> None:
    secret = accounts.scram_secret(PASSWORD, 60_000)
    as_owner(house.server, f"CREATE ROLE eve LOGIN PASSWORD '{secret}'")
    found = advice(house.url("eve"), tmp_path, *UNMEASURED)
    own = {one.change: one for one in found.advised}["login"]
    assert own.seen == "each login hashes the password 60,000 times"
    assert own.saving.client_cpu_us is not None
    assert own.saving.client_cpu_us.point > 0


def test_a_pooler_that_comes_in_the_clear_is_named_from_its_front(
    house: Lent, session: Session, tmp_path: Path
) -> None:
    ((kept,),) = as_owner(house.server, "SELECT rolpassword FROM pg_authid WHERE rolname = 'app'")
    server = house.server
    ends = Ends(
        session, server.endpoint().port, server.certificates, spoken="postgresql", secrets={"app": str(kept)}
    )
    with open_path("pgbouncer-terminate", ends) as pooler:
        url = f"postgres://app@127.0.0.1:{pooler.entry.port}/scratch"
        found = advice(url, tmp_path, *UNMEASURED)
    first = found.inspected.concerns[0]
    assert first.what == "the pooler in front comes to the server in the clear"
    assert first.danger == "unsafe"
