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
    for storm in found["topics"]["storms"]["rows"]:
        assert storm["case"]["connections"] == 20
        assert storm["more"]["rounds"] == 10 * storm["more"]["trials"]
        assert storm["value"] > 0
    counted = found["topics"]["round_trips"]["rows"]
    plain, resumed = (
        {
            row["more"]["phase"]: row["value"]
            for row in counted
            if row["unit"] == "1" and row["label"] == label
        }
        for label in dict.fromkeys(row["label"] for row in counted)
    )
    assert plain["connect"] == 3
    assert resumed["connect"] == 3 + resumed["tls_handshake"]
    assert all(row["more"]["agreed"] for row in counted)
    assert "query" not in plain, "a storm asks nothing"


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
        assert {storm["case"]["connections"] for storm in found["topics"]["storms"]["rows"]} == {6}
