"""The largest storm, and rate, that a real server takes in time: found, and none where nothing can be."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import psutil
import pytest
from command_line import Home, all_gone, wait_until
from processes import family

from tlstax.probes.storms.document import StormDocument
from tlstax.specimens.server_build import ServerBuild


def searched(home: Home, *arguments: str) -> StormDocument:
    done = home.run("storm", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return StormDocument.model_validate(json.loads(done.stdout))


KINDS = [("off", False), ("1.3", False), ("1.3", True), ("1.2", False)]


def test_where_there_is_time_enough_the_largest_does(tmp_path: Path, mysql_build: ServerBuild) -> None:
    found = searched(Home(tmp_path / "data"), "--within", "20s", "--most", "24", "--back-log", "200")
    assert (found.status, found.sought) == ("complete", "connections")
    assert found.server == mysql_build.specimen.name
    assert found.variables["back_log"] == "200"
    assert [(limit.tls, limit.resumed) for limit in found.limits] == KINDS
    for limit in found.limits:
        assert limit.is_found
        assert (limit.highest, limit.too_high) == (24, None)
        assert [(own.load, own.tries, own.did) for own in limit.tried] == [(24, 5, 5)]
        assert limit.achieved_per_s is not None
        assert limit.client_share is not None


@pytest.mark.long
def test_where_there_is_no_time_nothing_does(tmp_path: Path, mysql_build: ServerBuild) -> None:
    assert mysql_build
    found = searched(Home(tmp_path / "data"), "--within", "0.001ms", "--most", "64")
    assert [(limit.highest, limit.too_high) for limit in found.limits] == [(None, 16)] * 4
    assert all(limit.achieved_per_s is None for limit in found.limits)


@pytest.mark.long
def test_a_rate_that_any_server_takes_does(tmp_path: Path, mysql_build: ServerBuild) -> None:
    assert mysql_build
    steady = ("--steady", "--within", "20s", "--most", "16", "--lasting", "1s")
    found = searched(Home(tmp_path / "data"), *steady)
    assert (found.sought, found.lasting_s) == ("connections_per_s", 1.0)
    assert [(limit.tls, limit.resumed) for limit in found.limits] == KINDS
    assert all(limit.tried[0].load == 16 for limit in found.limits)
    # On a machine that stands still again and again a connection may fall behind any rate; not always.
    took = [limit for limit in found.limits if limit.highest == 16]
    assert took
    assert all(0 < (limit.achieved_per_s or 0) < 20 for limit in took)


@pytest.mark.long
def test_a_rate_that_no_server_takes_does_not_and_a_budget_ends_the_search(
    tmp_path: Path, mysql_build: ServerBuild
) -> None:
    assert mysql_build
    steady = ("--steady", "--within", "0.001ms", "--budget", "8s", "--lasting", "100ms")
    found = searched(Home(tmp_path / "data"), *steady)
    assert (found.status, found.budget_s) == ("budget", 8.0)
    assert all(limit.highest is None for limit in found.limits)
    # How far it came is up to the machine; whatever was tried did not once.
    assert all(own.did == 0 for limit in found.limits for own in limit.tried)
    assert not all(limit.is_found for limit in found.limits)


@pytest.mark.long
@pytest.mark.parametrize("sought", [(), ("--steady",)], ids=["storm", "steady"])
def test_ctrl_c_keeps_what_is_known_and_leaves_nothing(
    tmp_path: Path, mysql_build: ServerBuild, sought: tuple[str, ...]
) -> None:
    assert mysql_build
    with Home(tmp_path / "data").start("storm", *sought, "--within", "20s", "--json") as process:
        children: list[psutil.Process] = []

        def a_storm_is_on() -> bool:
            children[:] = family(process.pid)
            return any("tlstax-engine" in child.name() for child in children)

        wait_until(a_storm_is_on)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert StormDocument.model_validate(json.loads(out)).status == "interrupted"
    wait_until(lambda: all_gone(children))
