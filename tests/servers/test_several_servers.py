"""Several servers in one run: external ones, private ones beside them, and two sides that are servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from guest_house import environment, wait_until
from test_guest_run import SMALL, WITHIN_S, as_owner, last_run, lent, sentence, tlstax_run, url_of
from test_promised_connections import forget_most_used, most_used

from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.support.grouping import grouped

COMMON = ("--rows", "500", "--over-budget", "--connections", "2", "--json")
SHORT = (*COMMON, "--budget", "4s", "--tls", "off,1.3")
KEPT = ("--workload", "point-select")


@dataclass(frozen=True)
class Two:
    """A MySQL and a MariaDB of somebody else's, each with the schema `lent` for `ann`."""

    first: PrivateServer
    second: PrivateServer

    @property
    def urls(self) -> str:
        return f"{url_of(self.first)},{url_of(self.second)}"

    @property
    def servers(self) -> tuple[PrivateServer, PrivateServer]:
        return self.first, self.second


@pytest.fixture(scope="module")
def two(session: Session, mysql_build: ServerBuild, mariadb_build: ServerBuild) -> Iterator[Two]:
    settings = ServerSettings(buffer_pool_bytes=SMALL)
    with ExitStack() as stack:
        yield Two(
            *(stack.enter_context(lent(build, session, settings)) for build in (mysql_build, mariadb_build))
        )


@pytest.fixture(autouse=True)
def nothing_is_left(two: Two) -> Iterator[None]:
    yield
    for server in two.servers:
        assert as_owner(server, "SHOW TABLES FROM lent") == ()


def called(server: PrivateServer) -> str:
    return f"127.0.0.1:{server.endpoint().port}"


def measured(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    assert document["trials"]["valid"] > 0
    return document


@contextmanager
def states(server: PrivateServer) -> Iterator[set[str]]:
    """The states in which the server's process is seen meanwhile (proc(5): T is stopped by a signal)."""
    seen, is_over = set[str](), threading.Event()

    def look() -> None:
        while not is_over.wait(0.005):
            seen.add(Path(f"/proc/{server.pid}/stat").read_text("ascii").rpartition(")")[2].split()[0])

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        is_over.set()
        looking.join()


@pytest.mark.long
def test_external_servers_and_a_private_one_are_each_compared_with_their_own_baseline(
    two: Two, tmp_path: Path
) -> None:
    for server in two.servers:
        forget_most_used(server)
    with states(two.first) as seen:
        done = tlstax_run(tmp_path, f"{two.urls},mariadb-11.8", *SHORT, *KEPT)
    document = measured(done)
    assert seen
    assert "T" not in seen, "an external server is never stopped"

    names = [called(two.first), called(two.second), "mariadb-11.8"]
    effects = [f for f in document["findings"] if f["outcome"] == "ops_per_s" and f["case"]["tls"] == "1.3"]
    assert sorted(effect["case"]["server"] for effect in effects) == sorted(names)

    run = last_run(tmp_path)
    assert [own.server for own in run.header.external] == names[:2]
    assert "ann" not in json.dumps(run.header.study.levels_of()), "a server is called by its address alone"
    for server, own in zip(two.servers, run.header.external, strict=True):
        assert most_used(server) <= own.promised
    together = grouped(
        (record for record in run.trials if record.slices is not None),
        lambda record: (record.trial.block, record.slices and record.slices.sitting),
    )
    assert together
    for records in together.values():
        assert len(records) == 3, "the baseline, its control and TLS 1.3"
        assert len({record.trial.case.levels.server for record in records}) == 1
    assert {record.guest for record in run.trials if record.trial.case.levels.server == names[2]} == {False}
    assert f"external: {names[0]} and {names[1]}" in " ".join(shown(tmp_path).split())


def shown(data: Path) -> str:
    return tlstax_run(data, "last", "--format", "md", command=("report",)).stdout


def test_what_keeps_a_run_out_of_the_second_leaves_nothing_at_the_first(two: Two, tmp_path: Path) -> None:
    file = tmp_path / "own.cnf"
    file.write_text("[client]\npassword=another\n")
    file.chmod(0o600)
    wrong = tlstax_run(tmp_path, two.urls, *SHORT, "--defaults-file", f",{file}")
    assert f"{called(two.second)} refused the user ann with this password" in sentence(wrong, 2)

    dead = tlstax_run(tmp_path, f"{url_of(two.first)},mysql://ann@127.0.0.1:1/lent", *SHORT)
    assert "nothing listens on 127.0.0.1:1" in sentence(dead, 2)

    same = tlstax_run(
        tmp_path, f"{url_of(two.first)},{url_of(two.first).replace('127.0.0.1', '127.1')}", *SHORT
    )
    assert "are one server, which would be compared with itself" in sentence(same, 2)

    as_owner(two.second, "ALTER USER ann@'127.0.0.1' WITH MAX_USER_CONNECTIONS 4")
    try:
        full = tlstax_run(tmp_path, two.urls, *SHORT)
    finally:
        as_owner(two.second, "ALTER USER ann@'127.0.0.1' WITH MAX_USER_CONNECTIONS 0")
    assert f"{called(two.second)} has 4 free (4 for this account, 0 of them in use)" in sentence(full, 2)

    unknown = tlstax_run(tmp_path, f"{url_of(two.first)},mariadb-11.7", *SHORT)
    assert "there is no server named 'mariadb-11.7'" in sentence(unknown, 2)
    assert "There are no runs yet" in tlstax_run(tmp_path, "list", command=("runs",)).stdout


@pytest.mark.long
def test_what_one_server_rules_out_is_left_out_at_all_and_it_is_said_whose_doing_that_is(
    two: Two, tmp_path: Path
) -> None:
    as_owner(two.second, "ALTER USER ann@'127.0.0.1' REQUIRE SSL", "SET GLOBAL read_only = ON")
    try:
        done = tlstax_run(tmp_path, two.urls, *COMMON, "--budget", "4s")
    finally:
        as_owner(two.second, "ALTER USER ann@'127.0.0.1' REQUIRE NONE", "SET GLOBAL read_only = OFF")
    document = measured(done)
    cases = [finding["case"] for finding in document["findings"]]
    assert {case["workload"] for case in cases} == {"ping", "reconnect-ping"}
    assert {case["tls"] for case in cases} <= {"1.3", "1.2"}
    assert {case["server"] for case in cases} == {called(server) for server in two.servers}
    said = [text for text in document["caveats"] if called(two.second) in text]
    assert any("took the place of point selects" in text for text in said)
    assert any("plaintext was not measured" in text and "REQUIRE SSL" in text for text in said)
    assert not any(called(two.first) in text for text in document["caveats"])


def test_two_external_servers_are_set_against_each_other(two: Two, tmp_path: Path) -> None:
    sides = (f"server={url_of(two.first)}", "--b", f"server={url_of(two.second)}")
    done = tlstax_run(tmp_path, *sides, *COMMON, *KEPT, "--budget", "3s", command=("ab", "--a"))
    document = measured(done)
    rows = document["topics"]["two_sides"]["rows"]
    (effect,) = (row for row in rows if (row["outcome"], row["role"]) == ("ops_per_s", "sides"))
    assert not any(row["role"] == "twin" for row in rows)
    assert effect["blocks"] >= 1
    assert document["design"]["sides"]["b"] == {"server": called(two.second)}
    sittings = {record.trial.block: record.slices for record in last_run(tmp_path).trials}
    assert all(sittings.values()), "both sides take turns in one sitting"


@pytest.mark.long
def test_an_external_server_is_set_against_a_private_one_that_every_block_has_anew(
    two: Two, tmp_path: Path
) -> None:
    sides = (f"server={url_of(two.second)}", "--b", "server=mariadb-11.8", "--max-regression", "99%")
    words = COMMON[:-1]
    done = tlstax_run(tmp_path, *sides, *words, *KEPT, "--budget", "12s", command=("ab", "--a"))
    assert done.returncode in {0, 5}, done.stderr
    assert "each with new processes of every private server" in " ".join(shown(tmp_path).split())
    run = last_run(tmp_path)
    ours = {record.trial.block: record.claim for record in run.trials if not record.guest}
    pids = [claim.pid for claim in ours.values() if claim is not None]
    assert len(set(pids)) == len(ours) > 1


@pytest.mark.long
def test_a_study_is_run_at_an_external_server_and_a_private_one(two: Two, tmp_path: Path) -> None:
    settings = (
        "server=" + url_of(two.first) + ",mariadb-11.8",
        "--set",
        "connections=2",
        "--set",
        "tls=off,1.3",
    )
    done = tlstax_run(
        tmp_path, *settings, "--budget", "6s", "--over-budget", command=("study", "run", "tax", "--set")
    )
    assert done.returncode == 0, done.stderr
    run = last_run(tmp_path)
    assert run.header.changes.set[0] == f"server={called(two.first)},mariadb-11.8"
    assert {record.trial.case.levels.server for record in run.trials} == {called(two.first), "mariadb-11.8"}
    assert {record.verdict.value for record in run.trials} == {"valid"}
    again = tlstax_run(tmp_path, "tax", "--resume", run.header.run, command=("study", "run"))
    assert "is complete" in sentence(again, 2)


@pytest.mark.long
def test_a_server_that_dies_in_the_middle_leaves_nothing_at_the_other(
    two: Two, tmp_path: Path, session: Session, mariadb_build: ServerBuild
) -> None:
    with lent(mariadb_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as mortal:
        command = ["run", "--server", f"{url_of(two.first)},{url_of(mortal)}", *COMMON, "--budget", "60s"]
        running = subprocess.Popen(
            [sys.executable, "-P", "-m", "tlstax", *command],
            env={**environment(), "TLSTAX_DATA": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: as_owner(mortal, "SHOW TABLES FROM lent") != ())
        assert mortal.pid is not None
        os.kill(mortal.pid, signal.SIGKILL)
        _, errors = running.communicate(timeout=WITHIN_S)
    assert running.returncode == 3, errors
    assert called(mortal) in errors.strip().splitlines()[-1]
