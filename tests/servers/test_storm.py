"""The largest storm that a real server takes in time: found, and none where nothing can be."""

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


def test_where_there_is_time_enough_the_largest_does(tmp_path: Path, mysql_build: ServerBuild) -> None:
    found = searched(Home(tmp_path / "data"), "--within", "20s", "--most", "24", "--back-log", "200")
    assert found.server == mysql_build.specimen.name
    assert found.variables["back_log"] == "200"
    assert [(limit.tls, limit.resumed) for limit in found.limits] == [
        ("off", False),
        ("1.3", False),
        ("1.3", True),
        ("1.2", False),
    ]
    for limit in found.limits:
        assert (limit.connections, limit.too_many) == (24, None)
        assert [(own.connections, own.tries, own.did) for own in limit.tried] == [(16, 5, 5), (24, 5, 5)]
        assert limit.connections_per_s is not None


@pytest.mark.long
def test_where_there_is_no_time_nothing_does(tmp_path: Path, mysql_build: ServerBuild) -> None:
    assert mysql_build
    found = searched(Home(tmp_path / "data"), "--within", "0.001ms", "--most", "64")
    assert [(limit.connections, limit.too_many) for limit in found.limits] == [(None, 16)] * 4
    assert all(limit.connections_per_s is None for limit in found.limits)


@pytest.mark.long
def test_ctrl_c_keeps_what_is_known_and_leaves_nothing(tmp_path: Path, mysql_build: ServerBuild) -> None:
    assert mysql_build
    with Home(tmp_path / "data").start("storm", "--within", "20s", "--json") as process:
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
