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
from tlstax.results.document import BenchDocument
from tlstax.specimens.server_build import ServerBuild
from tlstax.tools.probes.storm_search import LIMIT, TRY


def searched(home: Home, *arguments: str) -> BenchDocument:
    done = home.run("storm", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return BenchDocument.model_validate(json.loads(done.stdout))


KINDS = [("off", "off"), ("1.3", "off"), ("1.3", "on"), ("1.2", "off")]


@pytest.mark.long
def test_where_there_is_time_enough_the_largest_does(tmp_path: Path, mysql_build: ServerBuild) -> None:
    found = searched(Home(tmp_path / "data"), "--within", "20s", "--most", "24", "--back-log", "200")
    assert (found.status, found.facts["sought"]) == ("complete", "connections")
    assert found.facts["server"] == mysql_build.specimen.name
    assert found.facts["back_log"] == "200"
    assert [own.sha256 for own in found.specimens] == [mysql_build.specimen.sha256]
    limits, tried = found.told.of(role=LIMIT), found.told.of(role=TRY)
    assert [(limit.case["tls"], limit.case["resumption"]) for limit in limits] == KINDS
    for limit in limits:
        assert limit.more["is_found"]
        assert (limit.value, limit.number("too_high")) == (24, None)
        assert limit.number("achieved_per_s") is not None
        assert limit.number("client_share") is not None
    assert [row.case for row in tried] == [limit.case for limit in limits]
    assert {(row.value, row.number("tries"), row.number("did")) for row in tried} == {(24, 5, 5)}


@pytest.mark.long
def test_where_there_is_no_time_nothing_does(tmp_path: Path, mysql_build: ServerBuild) -> None:
    assert mysql_build
    found = searched(Home(tmp_path / "data"), "--within", "0.001ms", "--most", "64")
    limits = found.told.of(role=LIMIT)
    assert [(limit.value, limit.number("too_high")) for limit in limits] == [(None, 16)] * 4
    assert all(limit.number("achieved_per_s") is None for limit in limits)


@pytest.mark.long
def test_a_rate_that_any_server_takes_does(tmp_path: Path, mysql_build: ServerBuild) -> None:
    assert mysql_build
    steady = ("--steady", "--within", "20s", "--most", "16", "--lasting", "1s")
    found = searched(Home(tmp_path / "data"), *steady)
    assert (found.facts["sought"], found.facts["lasting_s"]) == ("connections_per_s", 1.0)
    limits = found.told.of(role=LIMIT)
    assert [(limit.case["tls"], limit.case["resumption"]) for limit in limits] == KINDS
    first = {row.label: row.value for row in reversed(found.told.of(role=TRY))}
    assert first == {limit.label: 16 for limit in limits}
    # On a machine that stands still again and again a connection may fall behind any rate; not always.
    took = [limit for limit in limits if limit.value == 16]
    assert took
    assert all(0 < (limit.number("achieved_per_s") or 0) < 20 for limit in took)


@pytest.mark.long
def test_a_rate_that_no_server_takes_does_not_and_a_budget_ends_the_search(
    tmp_path: Path, mysql_build: ServerBuild
) -> None:
    assert mysql_build
    steady = ("--steady", "--within", "0.001ms", "--budget", "24s", "--lasting", "100ms")
    found = searched(Home(tmp_path / "data"), *steady)
    assert (found.status, found.facts["budget_s"]) == ("budget", 24.0)
    limits = found.told.of(role=LIMIT)
    assert all(limit.value is None for limit in limits)
    # How far it came is up to the machine; whatever was tried did not once.
    assert all(row.number("did") == 0 for row in found.told.of(role=TRY))
    assert not all(limit.more["is_found"] for limit in limits)


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
            return bool(family(process.pid, name="tlstax-engine"))

        wait_until(a_storm_is_on)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert BenchDocument.model_validate(json.loads(out)).status == "interrupted"
    wait_until(lambda: all_gone(children))


@pytest.mark.long
def test_a_storm_goes_through_a_pooler_which_lets_go_of_the_server_after_each(
    tmp_path: Path, postgresql_build: ServerBuild
) -> None:
    assert postgresql_build
    through = ("--server", "postgresql-18", "--path", "pgbouncer-terminate")
    found = searched(Home(tmp_path / "data"), *through, "--within", "20s", "--most", "24")
    assert (found.status, found.facts["path"]) == ("complete", "pgbouncer-terminate")
    assert [own.name for own in found.specimens] == ["postgresql-18", "pgbouncer"]
    limits = found.told.of(role=LIMIT)
    assert [(limit.case["tls"], limit.value) for limit in limits] == [("1.3", 24), ("1.2", 24)]
    assert all((limit.number("path_share") or 0) > 0 for limit in limits)
