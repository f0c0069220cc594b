"""A cache whose path has spaces, quotes and worse: what is started from it runs all the same."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

import pytest
from command_line import Home

from tlstax.network.paths.opening import obtain_path
from tlstax.specimens import shelf
from tlstax.specimens.catalogue import RECIPES
from tlstax.support import directories

pytestmark = pytest.mark.long

AWKWARD = "a \"cache\" of 'mine'; #1, 100% $x"
PATHS = ("ssh-aes256-ctr", "stunnel", "haproxy", "haproxy-tls", "router-passthrough")
FAULT, DRIVER = "rand-per-byte", "libmariadb-3.4"


class AwkwardHome(Home):
    """A user whose cache and data have such a path."""

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "TLSTAX_CACHE": str(self.data.parent)}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, mysql_build: object) -> AwkwardHome:
    """Specimens are not fetched anew: they are those of the usual cache, under other names of their files."""
    assert mysql_build
    for path in PATHS:
        obtain_path(path, lambda _: None)
    for name in (FAULT, DRIVER):
        shelf.obtain(RECIPES[name], lambda _: None)
    cache = tmp_path_factory.mktemp("awkward") / AWKWARD
    for name in ("mysql-9.7", "openssh", "stunnel", "haproxy", "mysql-router", FAULT, DRIVER):
        shutil.copytree(
            directories.specimens_dir() / name,
            cache / "specimens" / name,
            symlinks=True,
            copy_function=_linked,
        )
    return AwkwardHome(cache / "data")


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _measured(home: Home, *arguments: str) -> dict[str, Any]:
    """The document of a run of at least one block, in which all trials were valid."""
    done = home.run(*arguments, "--budget", "3s", "--over-budget", "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["trials"]["valid"] > 0
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    return document


def test_every_path_between_client_and_server(home: AwkwardHome) -> None:
    load = ("--rows", "500", "--connections", "2", "--workload", "reconnect", "--tls", "off")
    document = _measured(home, "run", *load, "--path", ",".join(PATHS))
    assert {finding["case"]["path"] for finding in document["findings"]} >= set(PATHS)


def test_a_driver_with_libraries_of_its_own(home: AwkwardHome) -> None:
    load = ("--rows", "500", "--connections", "2", "--workload", "reconnect", "--tls", "off,1.3")
    document = _measured(home, "run", *load, "--client", DRIVER)
    assert {finding["case"]["client"] for finding in document["findings"]} == {DRIVER}


def test_a_fault_is_planted_and_its_cost_is_told_by_samples(home: AwkwardHome) -> None:
    choice = ("tls=off", "workload=reconnect", "connections=2", f"fault=none,{FAULT}")
    settings = [word for one in choice for word in ("--set", one)]
    document = _measured(home, "study", "run", "tax", *settings, "--profile")
    assert {finding["case"]["fault"] for finding in document["findings"]} == {"none", FAULT}


def test_nothing_is_left_in_the_cache(home: AwkwardHome) -> None:
    sessions = home.data.parent / "sessions"
    assert [path for path in sessions.iterdir() if path.name != ".lock"] == []
