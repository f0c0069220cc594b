"""Drivers as a user meets them: built by name, measured in a study, and what one cannot do ends no study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Home

STUDY = """
name = "drivers"
title = "Drivers"
question = "Does a study of drivers work?"
treatments = [{treatments}]
baseline = {baseline}
deciding_outcome = "server_cpu_us_per_op"
budget_s = 8
minimum_blocks = 2
rows = 1000
[factors]
server = ["{server}"]
workload = ["{workload}"]
protocol = ["text"]
connections = [1]
"""

CASE = (
    '{{ client = "{client}", tls = "{tls}", "option.own_connections" = "{own}", '
    '"option.nonsense" = "{nonsense}" }}'
)


def case(
    tls: str = "off", *, client: str = "plain-driver", own: str = "unset", nonsense: str = "unset"
) -> str:
    return CASE.format(client=client, tls=tls, own=own, nonsense=nonsense)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_drivers: Path) -> Home:
    """A user with a folder of drivers of his own."""
    monkeypatch.setenv("TLSTAX_DRIVERS", str(own_drivers))
    return Home(tmp_path / "data")


def study(folder: Path, *treatments: str, workload: str = "reconnect", server: str = "mysql-9.7") -> str:
    file = folder / "drivers.toml"
    text = STUDY.format(
        treatments=", ".join(treatments), baseline=treatments[0], workload=workload, server=server
    )
    file.write_text(text, encoding="utf-8")
    return str(file)


def first_block(home: Home) -> list[dict[str, Any]]:
    """Of the newest run."""
    exported = home.run("runs", "export", "last")
    return [trial for trial in json.loads(exported.stdout)["trials"] if trial["block"] == 0]


@pytest.mark.long
def test_a_folder_and_a_line_are_a_driver(home: Home) -> None:
    fetched = home.run("specimens", "fetch", "plain-driver")
    assert fetched.returncode == 0, fetched.stderr
    verified = home.run("specimens", "verify", "plain-driver")
    assert "unchanged since it was fetched" in verified.stdout
    listed = json.loads(home.run("specimens", "list", "--json").stdout)["specimens"]
    (entry,) = (one for one in listed if one["name"] == "plain-driver")
    assert (entry["kind"], entry["status"], entry["version"]) == ("client", "ready", "1.0")


def test_a_build_that_fails_says_why_in_its_own_words(home: Home) -> None:
    failed = home.run("specimens", "fetch", "broken-driver", "needy-driver")
    assert failed.returncode == 3
    assert "the package registry has no such version" in failed.stderr
    assert "no-such-program, which is not on this machine's PATH" in failed.stderr


@pytest.mark.long
def test_a_changed_folder_makes_another_specimen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drivers = tmp_path / "drivers"
    (drivers / "tiny").mkdir(parents=True)
    fields = 'folder = "tiny", product = "Tiny", version = "1", language = "sh", needs = []'
    (drivers / "drivers.toml").write_text(f'"tiny-driver" = {{ {fields} }}\n', encoding="utf-8")
    build = drivers / "tiny" / "build"
    build.write_text('#!/bin/sh\ncp build "$3/run"\n', encoding="utf-8")
    build.chmod(0o755)
    monkeypatch.setenv("TLSTAX_DRIVERS", str(drivers))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    home = Home(tmp_path / "data")

    def status() -> str:
        listed = json.loads(home.run("specimens", "list", "--json").stdout)["specimens"]
        return next(str(one["status"]) for one in listed if one["name"] == "tiny-driver")

    assert status() == "absent"
    assert home.run("specimens", "fetch", "tiny-driver").returncode == 0
    (drivers / "tiny" / "README.md").write_text("A page.\n", encoding="utf-8")
    assert status() == "ready"
    build.write_text('#!/bin/sh\n# Changed.\ncp build "$3/run"\n', encoding="utf-8")
    assert status() == "broken"
    assert home.run("specimens", "fetch", "tiny-driver").returncode == 0
    assert status() == "ready"


def test_a_list_of_drivers_that_is_none_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLSTAX_DRIVERS", str(tmp_path))
    missing = Home(tmp_path / "data").run("specimens", "list")
    assert missing.returncode == 2
    assert "cannot be read" in missing.stderr
    (tmp_path / "drivers.toml").write_text('"a" = { folder = "a" }\n', encoding="utf-8")
    wrong = Home(tmp_path / "data").run("specimens", "list")
    assert wrong.returncode == 2
    assert "is not a list of drivers" in wrong.stderr


@pytest.mark.long
def test_what_a_driver_cannot_do_is_an_invalid_trial_and_the_study_goes_on(
    home: Home, tmp_path: Path, mysql_build: object
) -> None:
    assert mysql_build
    file = study(
        tmp_path,
        case(),
        case("1.3"),
        case("unset"),
        case(own="2"),
        case(nonsense="1"),
        case(client="engine"),
    )
    result = home.run("study", "run", file, "--over-budget", "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    trials = first_block(home)
    refused = [trial for trial in trials if trial["case"]["option.nonsense"] != "unset"]
    assert [trial["verdict"] for trial in refused] == ["invalid"]
    assert "plain-driver says: " in refused[0]["reasons"][0]
    others = [trial for trial in trials if trial not in refused]
    assert {trial["verdict"] for trial in others} == {"valid"}, document["caveats"]
    busy = [trial for trial in others if trial["case"]["option.own_connections"] == "2"]
    assert ["opened 2 connections by itself" in trial["notes"][0] for trial in busy] == [True]


@pytest.mark.long
def test_a_study_of_which_nothing_can_be_done_is_a_mistake(
    home: Home, tmp_path: Path, mysql_build: object
) -> None:
    assert mysql_build
    file = study(tmp_path, case(nonsense="1"), case("1.3", nonsense="1"))
    result = home.run("study", "run", file, "--over-budget")
    assert result.returncode == 2
    assert "plain-driver says: " in result.stderr


@pytest.mark.long
def test_what_no_driver_of_the_kind_can_do_is_left_out(home: Home, tmp_path: Path) -> None:
    file = study(
        tmp_path, case(client="engine"), case(client="single-driver"), case("unset", client="engine")
    )
    planned = home.run("study", "plan", file, "--set", "connections=1,2").stdout
    told = " ".join(planned.split())
    assert "single-driver keeps only 1 connection" in told
    assert "engine is not a driver" in told
    unknown = home.run("study", "plan", file, "--set", "client=plain-drivr")
    assert "did you mean 'plain-driver'" in unknown.stderr


@pytest.mark.long
def test_a_run_outlives_the_list_that_its_driver_was_in(
    home: Home, tmp_path: Path, mysql_build: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mysql_build
    file = study(tmp_path, case(), case("unset"), case(nonsense="1"), case(client="single-driver"))
    assert home.run("study", "run", file, "--over-budget").returncode == 0
    known = first_block(home)
    monkeypatch.delenv("TLSTAX_DRIVERS")
    assert first_block(home) == known
    told = home.run("report", "last")
    assert told.returncode == 0, told.stderr
    assert "plain-driver" in told.stdout
    resumed = home.run("study", "run", file, "--resume", "last")
    assert resumed.returncode == 2
    assert "'plain-driver' is not a level of client" in resumed.stderr


@pytest.mark.long
@pytest.mark.parametrize("plugin", ["caching_sha2_password", "mysql_native_password"])
def test_accounts_are_proved_by_the_plugin_of_the_case(home: Home, tmp_path: Path, plugin: str) -> None:
    file = study(tmp_path, case(), case("1.3"), server="mysql-8.0.33", workload="point-select")
    chosen = ("--set", f"auth={plugin}", "--over-budget")
    result = home.run("study", "run", file, *chosen, "--json")
    assert result.returncode == 0, result.stderr
    trials = first_block(home)
    assert {trial["verdict"] for trial in trials} == {"valid"}
    ours = "tlstax_load" if plugin == "caching_sha2_password" else f"tlstax_by_{plugin}"
    assert {trial["job"]["account"]["user"] for trial in trials} == {ours}
