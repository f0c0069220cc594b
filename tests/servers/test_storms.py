"""A storm as a user runs it: believed by both sides, told as rounds, on either server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Home
from test_guest_run import lent, sentence, tlstax_run, url_of

from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session

RUN = ("--workload", "storm", "--connections", "20", "--tls", "off,1.3-resumed", "--budget", "3s")


@pytest.mark.parametrize("build", [pytest.param("mysql_build", marks=pytest.mark.long), "mariadb_build"])
def test_a_storm_is_valid_and_its_rounds_are_told(
    tmp_path: Path, request: pytest.FixtureRequest, build: str
) -> None:
    server = request.getfixturevalue(build).specimen.name
    done = Home(tmp_path).run("run", *RUN, "--server", server, "--rows", "100", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["trials"]["valid"] > 0
    assert found["trials"]["invalid"] == found["trials"]["unknown"] == 0
    for storm in found["storms"]:
        assert storm["connections"] == 20
        assert storm["rounds"] == 10 * storm["trials"]
        assert storm["mean_per_s"] > 0
    (plain, resumed) = found["round_trips"]
    phases = [{phase["phase"]: phase for phase in case["phases"]} for case in (plain, resumed)]
    assert phases[0]["connect"]["round_trips"] == 3
    assert phases[1]["connect"]["round_trips"] == 3 + phases[1]["tls_handshake"]["round_trips"]
    assert all(phase["agreed"] for of_case in phases for phase in of_case.values())
    assert "query" not in phases[0], "a storm asks nothing"


@pytest.mark.long
def test_a_server_that_is_not_ours_gets_a_storm_of_the_size_that_it_was_told(
    tmp_path: Path, session: Session, mysql_build: ServerBuild
) -> None:
    with lent(mysql_build, session, ServerSettings(buffer_pool_bytes=64 << 20)) as server:
        unsized = tlstax_run(tmp_path, url_of(server), "--workload", "storm")
        assert "give --connections" in sentence(unsized, 2)
        arguments = ("--workload", "storm", "--connections", "6", "--tls", "1.3", "--budget", "2s")
        done = tlstax_run(tmp_path, url_of(server), *arguments, "--rows", "100", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["trials"]["valid"] > 0
        assert {storm["connections"] for storm in found["storms"]} == {6}
