"""A probe as a user starts it: of a small driver whose every answer is known, on real servers."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path

import psutil
import pytest
from command_line import Home, all_gone, wait_until

from processes import command_of, family
from tlstax.specimens.server_build import ServerBuild


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_drivers: Path) -> Home:
    """A user with a folder of drivers of his own."""
    monkeypatch.setenv("TLSTAX_DRIVERS", str(own_drivers))
    return Home(tmp_path / "data")


def test_what_a_driver_does_is_told_as_it_is(home: Home, mysql_build: ServerBuild) -> None:
    done = home.run("drivers", "probe", "plain-driver", "needy-driver", "--no-costs", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["server"] == mysql_build.specimen.name
    rows = {row["name"]: row for row in document["drivers"]}
    assert "no-such-program" in rows["needy-driver"]["failed"]
    plain = rows["plain-driver"]
    assert plain["failed"] is None
    # What PyMySQL 1.2 does unasked: it encrypts, verifies nothing, and says one statement.
    assert plain["encrypts_by_default"] is True
    assert plain["tls_version"] == "TLSv1.3"
    assert plain["resumes_by_default"] is False
    assert plain["statements_on_connect"] == ["SET NAMES utf8mb4"]
    assert plain["statements_before_each_statement"] == []
    # TCP, greeting, login, and that statement; TLS 1.3 takes one more, two with a HelloRetryRequest.
    assert plain["plain"]["round_trips_per_connect"] == 4
    assert plain["round_trips_per_connect"] == 4 + (2 if plain["hello_retry"] else 1)
    assert plain["encrypted"]["round_trips_per_connect"] == plain["round_trips_per_connect"]
    assert plain["round_trips_per_statement"] == 1
    shown = {(one["tls"], one["certificate"]): one["accepted"] for one in plain["certificates"]}
    certificates = ("right", "unknown authority", "other host", "expired")
    assert shown == {(tls, one): True for tls in ("unset", "required") for one in certificates}
    for when in ("by_default", "when_required"):
        checks = [plain[f"verifies_{what}_{when}"] for what in ("ca", "host", "expiry")]
        assert checks == [False, False, False]
    assert plain["required"]["version"] == "TLSv1.3"
    logins = {(own["tls"], own["cache"]): own["outcome"] for own in plain["logins"]}
    assert {own["plugin"] for own in plain["logins"]} == {"caching_sha2_password"}
    assert logins == {
        ("off", "cold"): "key asked for",
        ("off", "warm"): "fast",
        ("verified", "cold"): "full",
        ("verified", "warm"): "fast",
    }
    assert "the same statements, read on the wire in the clear" in plain["verified_by"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("server", "plugins"),
    [
        ("mysql-8.0.33", {"caching_sha2_password": 4, "mysql_native_password": 2}),
        ("mariadb-11.8", {"mysql_native_password": 2}),
    ],
)
def test_it_logs_in_by_each_plugin_that_the_server_has(
    home: Home, server: str, plugins: dict[str, int]
) -> None:
    done = home.run("drivers", "probe", "plain-driver", "--no-costs", "--server", server, "--json")
    assert done.returncode == 0, done.stderr
    (plain,) = json.loads(done.stdout)["drivers"]
    assert Counter(own["plugin"] for own in plain["logins"]) == plugins
    native = [own["outcome"] for own in plain["logins"] if own["cache"] is None]
    assert native == ["yes", "yes"]


@pytest.mark.long
def test_an_option_that_no_driver_takes_is_the_users_mistake(home: Home, mysql_build: ServerBuild) -> None:
    assert mysql_build
    asked = ("drivers", "probe", "plain-driver", "--no-costs", "--option", "nonsense=1")
    done = home.run(*asked)
    assert done.returncode == 2, done.stderr
    assert "plain-driver was not probed" in done.stdout
    assert "nonsense" in done.stdout
    assert "no driver accepted what --option gives it" in done.stderr
    shown = json.loads(home.run(*asked, "--json").stdout)
    assert [row["failed_as"] for row in shown["drivers"]] == ["bad_job"]


@pytest.mark.long
def test_ctrl_c_shows_what_is_known_and_leaves_nothing(home: Home) -> None:
    with home.start("drivers", "probe", "needy-driver", "plain-driver", "--no-costs", "--json") as process:
        children: list[psutil.Process] = []

        def a_driver_works() -> bool:
            children[:] = family(process.pid)
            return any("program.py" in " ".join(command_of(child)) for child in children)

        wait_until(a_driver_works)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    document = json.loads(out)
    assert document["status"] == "interrupted"
    assert [row["name"] for row in document["drivers"]] == ["needy-driver"]
    wait_until(lambda: all_gone(children))
