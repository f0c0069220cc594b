"""A server at which others are at work gets no more load than it bears beside them; an idle one gets all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_guest_run import PASSWORD, SMALL, as_owner, last_run, lent, tlstax_run, url_of

from tlstax.plan.at_work import LEAST_PER_S, steps_to
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session

SHORT = ("--rows", "500", "--budget", "2s", "--over-budget", "--tls", "1.3", "--json")
PER_S = 200
OTHERS = f"""
import pymysql, time
database = pymysql.connect(host="127.0.0.1", port={{port}}, user="eve", password="{PASSWORD}")
print("there", flush=True)
cursor, due = database.cursor(), time.monotonic()
while True:
    cursor.execute("SELECT 1")
    due += 1 / {PER_S}
    time.sleep(max(0, due - time.monotonic()))
"""


@pytest.fixture(scope="module", params=[pytest.param("mysql_build", marks=pytest.mark.long), "mariadb_build"])
def house(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    settings = ServerSettings(buffer_pool_bytes=SMALL)
    with lent(request.getfixturevalue(request.param), session, settings) as server:
        as_owner(server, f"CREATE USER eve@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
        yield server


@contextmanager
def others(server: PrivateServer) -> Iterator[None]:
    """Somebody who runs PER_S statements a second there, until the block is left."""
    program = OTHERS.format(port=server.endpoint().port)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        try:
            yield
        finally:
            process.kill()


@pytest.mark.long
def test_on_an_idle_server_every_case_has_its_usual_connections(house: PrivateServer, tmp_path: Path) -> None:
    done = tlstax_run(tmp_path, url_of(house), *SHORT)
    assert done.returncode == 0, done.stderr
    (external,) = last_run(tmp_path).header.external
    assert external.at_work is not None
    assert external.at_work.others_per_s < LEAST_PER_S
    assert external.at_work.steps == ()
    assert last_run(tmp_path).header.study.levels_of()["connections"] == (8,)


def test_beside_others_the_load_begins_with_one_connection(house: PrivateServer, tmp_path: Path) -> None:
    # MariaDB's plain word concerns the session alone from 11.5 on.
    as_owner(house, "FLUSH GLOBAL STATUS" if "MariaDB" in house.version else "FLUSH STATUS")
    with others(house):
        done = tlstax_run(tmp_path, url_of(house), *SHORT)
    assert done.returncode == 0, done.stderr
    stored = last_run(tmp_path)
    (external,) = stored.header.external
    seen = external.at_work
    assert seen is not None
    assert PER_S / 4 < seen.others_per_s < PER_S * 2
    tried = [step.connections for step in seen.steps]
    assert tried == steps_to(8)[: len(tried)]
    assert seen.taken in tried
    assert stored.header.study.levels_of()["connections"] == (seen.taken,)
    assert {record.trial.case.levels.connections for record in stored.measured} == {seen.taken}
    assert "statements a second there" in done.stdout
    assert "statements a second at the server while it was measured" in done.stdout
    ((_, most),) = as_owner(house, "SHOW GLOBAL STATUS LIKE 'Max_used_connections'")
    # Beside eve's and those of the owner who asks.
    assert int(str(most)) <= external.promised + 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("typed", "looked"), [(("--full-load",), False), (("--connections", "3"), True)], ids=["full", "typed"]
)
def test_what_the_user_says_of_the_load_stays(
    house: PrivateServer, tmp_path: Path, typed: tuple[str, ...], looked: bool
) -> None:
    with others(house):
        done = tlstax_run(tmp_path, url_of(house), *SHORT, *typed)
    assert done.returncode == 0, done.stderr
    stored = last_run(tmp_path)
    (external,) = stored.header.external
    assert stored.header.study.levels_of()["connections"] == (3 if looked else 8,)
    assert (external.at_work is not None) == looked
    if external.at_work is not None:
        assert external.at_work.steps == ()
        assert external.at_work.others_per_s > LEAST_PER_S
