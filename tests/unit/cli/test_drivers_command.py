"""`tlstax drivers`: what it lists, what it refuses, and how a probe goes on where a driver cannot be had."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tlstax.cli import known_drivers
from tlstax.cli.drivers_command import request_of, wants_postgresql, written
from tlstax.cli.progress import ProgressLine
from tlstax.cli.server_app import ProbeOptions
from tlstax.clients.choice import obtain_client
from tlstax.plan.budget import check_budget
from tlstax.plan.order import cases
from tlstax.specimens import manifest, shelf
from tlstax.specimens.catalogue import RECIPES, RUN
from tlstax.specimens.manifest import TREE, Recipe
from tlstax.store import Store
from tlstax.study.driver_catalogue import DRIVERS, speaking
from tlstax.support.directories import specimens_dir
from tlstax.support.errors import Interrupted, MachineFault, UserMistake
from tlstax.tools.probes.drivers import probe_costs
from tlstax.tools.probes.drivers.probe import ProbeRequest, probe
from tlstax.tools.probes.drivers.probe_costs import Measurable, costs_study
from tlstax.tools.probes.drivers.probe_table import listed_text
from tlstax.tools.probes.drivers.probed import ListedDriver, ListedDrivers
from tlstax.tools.probes.postgres_drivers.document import PostgresProbe
from tlstax.topics.inspection.known_drivers import FILES, KnownDrivers
from tlstax.topics.inspection.known_drivers import known_drivers as shipped
from typed import status_of


@pytest.fixture(autouse=True)
def _places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("pymysql-1.0",), "did you mean 'pymysql-1.2'?"),
        (("pymysql-1.1", "--budget", "soon"), "write it like 60s"),
        (("pymysql-1.1", "--budget", "10s", "--no-costs"), "does not go with --no-costs"),
        (
            ("pymysql-1.1", "--budget", "20s"),
            "the budget of 20 s has no room for two blocks, the fewest that give an interval: one block of 6 "
            "trials takes about 15 s; give --budget 30s, or run it anyway with --over-budget",
        ),
        (("--budget", "1m"), "s, name fewer drivers, or run it anyway with --over-budget"),
        (("pymysql-1.1", "--option", "useSSL"), "write it like useSSL=false"),
        (("pymysql-1.1", "--no-costs", "--output", "probe.md"), "a probe is not written as .md"),
        (("pymysql-1.1", "--option", "user=me"), "given to every driver by tlstax itself"),
        (("psycopg-3", "pymysql-1.2"), "pymysql-1.2 and psycopg-3 speak different protocols"),
        (("psycopg-3", "--server", "mysql-9.7"), "psycopg-3 and mysql-9.7 speak different protocols"),
        (("pymysql-1.2", "--server", "postgresql-18"), "MySQL's and PostgreSQL's"),
        (("psycopg-3", "--server", "postgresql-99"), "postgresql-99"),
        (("psycopg-3", "--server", "postgres://me@db.example/shop"), "at private servers alone"),
        (("psycopg-3", "--allow-plaintext"), "--allow-plaintext needs the address of an external server"),
        (("psycopg-3", "--ssl-mode", "REQUIRED"), "--ssl-mode needs the address of an external server"),
        (("psycopg-3", "--budget", "1m", "--no-costs"), "does not go with --no-costs"),
        (("psycopg-3", "--no-costs", "--output", "probe.html"), "a probe is not written as .html"),
        (("psycopg-2",), "did you mean 'psycopg-3'?"),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    expected: str,
) -> None:
    assert status_of(monkeypatch, "drivers", "probe", *arguments) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1


def requested(names: list[str] | None = None, **typed: Any) -> ProbeRequest:
    options = ProbeOptions(names, **typed)
    return request_of(options, is_postgresql=wants_postgresql(options))


def test_without_names_all_of_the_servers_are_probed() -> None:
    assert requested().names == speaking("mysql")
    request = requested(["pymysql-1.1"], budget="90s", option=["a=b c"])
    assert (request.names, request.budget_s, request.options) == (("pymysql-1.1",), 90.0, {"a": "b c"})
    request = requested(server="postgresql-17", no_costs=True)
    assert (request.names, request.server, request.budget_s) == (
        speaking("postgresql"),
        "postgresql-17",
        None,
    )
    request = requested(["pgx-5"], budget="90s", option=["a=b"], attacks=True)
    assert (request.server, request.budget_s) == ("postgresql-18", 90.0)
    assert (request.options, request.attacks) == ({"a": "b"}, True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (ProbeOptions(), False),
        (ProbeOptions(["pymysql-1.2"]), False),
        (ProbeOptions(server="mysql-9.7"), False),
        (ProbeOptions(["psycopg-3"]), True),
        (ProbeOptions(server="postgresql-18"), True),
        (ProbeOptions(["pgx-5"], server="postgresql-17"), True),
    ],
)
def test_names_or_the_server_say_whose_drivers_are_meant(options: ProbeOptions, expected: bool) -> None:
    assert wants_postgresql(options) is expected


def test_each_format_has_what_was_found() -> None:
    found = PostgresProbe(status="complete", server="postgresql-18", server_version="18.6", drivers=())
    assert json.loads(written(found, "json", width=80))["server"] == "postgresql-18"
    assert written(found, "csv", width=80).startswith("driver,version,meaning")
    for form in ("md", "txt"):
        assert "postgresql-18" in written(found, form, width=80)


def test_two_blocks_of_all_drivers_fit_the_budget_where_none_is_given() -> None:
    """Of one driver many do; over the budget, it is as it was given."""
    drivers = [Measurable(name=name) for name in speaking("mysql")]
    budget_s = requested().budget_s
    assert budget_s is not None
    check_budget(costs_study(drivers, None, {}, budget_s))
    assert requested(["pymysql-1.1"]).budget_s == 300.0
    assert requested(["pymysql-1.1"], budget="20s", over_budget=True).budget_s == 20.0


def test_the_list_has_every_driver_and_none_is_there_in_an_empty_cache(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(monkeypatch, "drivers", "list", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert {one["name"] for one in found["drivers"]} == set(DRIVERS)
    assert {one["status"] for one in found["drivers"]} == {"absent"}


def on_the_shelf(name: str, run: str) -> Recipe:
    """A driver whose `run` this is, as if it had been built."""
    recipe = RECIPES[name]
    place = specimens_dir() / name
    (place / TREE).mkdir(parents=True)
    (place / TREE / RUN).write_text(run)
    manifest.write(place, recipe, recipe.version, "x86_64", ())
    return recipe


@pytest.mark.parametrize(
    ("run", "gone"),
    [
        ('#!/bin/sh\nhere=$(dirname "$0")\nexec \'{python}\' -I "$here/program"\n', "{python}"),
        ("#!{python}\nimport sys\n", "{python}"),
        ('#!/bin/sh\nexec a-runtime -Xmx512m \\\n  -cp "$here/jars"\n', "a-runtime"),
        ('#!/bin/sh\nexec "$here/php" "$here/main.php"\n', ""),
        ('#!/bin/sh\nexec sh "$0.sh" 3<<JOB\n$job\nJOB\n', ""),
        ("\x7fELF", ""),
    ],
)
def test_a_driver_whose_interpreter_is_gone_is_not_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, run: str, gone: str
) -> None:
    """An environment of Python that was removed, a package of the machine's that was uninstalled."""
    python = tmp_path / "environment/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    recipe = on_the_shelf("pymysql-1.1", run.format(python=python))
    python.unlink()

    def status() -> str:
        assert status_of(monkeypatch, "drivers", "list", "--json") == 0
        drivers = json.loads(capsys.readouterr().out)["drivers"]
        return next(own["status"] for own in drivers if own["name"] == "pymysql-1.1")

    assert status() == ("broken" if gone else "ready")
    assert (shelf.present(recipe) is None) == bool(gone), "what is not ready is built anew when it is wanted"
    assert shelf.broken(recipe).startswith(gone.format(python=python))
    if "{python}" in gone:
        python.symlink_to(sys.executable)
        assert status() == "ready"


def test_the_list_says_what_is_missing() -> None:
    one = ListedDriver(
        name="a-driver",
        product="A Driver",
        version="1.0",
        language="Java",
        status="absent",
        needs=("java", "mvn"),
        missing=("mvn",),
    )
    ready = one.model_copy(update={"name": "b-driver", "status": "ready", "missing": ()})
    text = listed_text(ListedDrivers(drivers=(one, ready)), width=80, colour=False)
    assert "needs mvn" in text
    assert "1 of 2 are built" in text


def no_store() -> Store:
    raise AssertionError("nothing is measured")


def test_a_driver_that_cannot_be_had_has_a_row_that_says_why() -> None:
    def refuse(name: str, _: object) -> NoReturn:
        raise MachineFault(f"{name} cannot be built: there is no java", remedy="install it")

    found = probe(ProbeRequest(("connector-j-9.7",), obtain=refuse), no_store, ProgressLine(quiet=True))
    assert found.status == "complete"
    (row,) = found.drivers
    assert row.failed == "connector-j-9.7 cannot be built: there is no java; install it"


def test_a_driver_that_has_left_the_list_is_said_to_have() -> None:
    with pytest.raises(UserMistake) as caught:
        obtain_client("driver-of-old", lambda _: None)
    assert caught.value.sentence() == (
        "there is no driver driver-of-old among those that are known here; if it is in a folder of your own, "
        "set TLSTAX_DRIVERS to that folder"
    )


def test_what_was_found_before_ctrl_c_is_kept() -> None:
    def interrupted(name: str, _: object) -> NoReturn:
        if name == "mysql2-3":
            raise Interrupted
        raise MachineFault("there is no java")

    request = ProbeRequest(("connector-j-9.7", "mysql2-3"), obtain=interrupted)
    found = probe(request, no_store, ProgressLine(quiet=True))
    assert found.status == "interrupted"
    assert [row.name for row in found.drivers] == ["connector-j-9.7"]


def test_costs_are_measured_both_ways_with_one_control_and_only_where_a_driver_can() -> None:
    drivers = [Measurable(name="pymysql-1.1"), Measurable(name="connector-j-5.1.49", encrypts=False)]
    study = costs_study(drivers, "mysql-8.0.33", {"a": "b"}, 60.0)
    found = [(c.levels["client"], c.levels["tls"], c.levels["workload"], c.role) for c in cases(study)]
    assert len([one for one in found if one[3] == "control"]) == 2
    assert ("pymysql-1.1", probe_costs.ENCRYPTED, probe_costs.CONNECT, "treatment") in found
    assert not [one for one in found if one[:2] == ("connector-j-5.1.49", probe_costs.ENCRYPTED)]
    assert {c.levels["option.a"] for c in cases(study)} == {"b"}
    assert {c.levels["server"] for c in cases(study)} == {"mysql-8.0.33"}


THERE = "mysql://ann@db.example/shop"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("--server", "mysql-0", "--no-costs"), "no server named 'mysql-0'"),
        (("--server", THERE), "tlstax run --server mysql://ann@db.example/shop --client pymysql-1.2"),
        (("--server", THERE, "--no-costs", "--attacks"), "done on private servers alone"),
        (("--server", THERE, "--no-costs"), "no password was given for ann at db.example:3306"),
        (("--server", THERE, "--no-costs", "--ssl-mode", "DISABLED"), "leaves nothing to be seen of TLS"),
        (("--server", f"{THERE},mysql-9.7", "--no-costs"), "an external server is measured by itself"),
        (("--server", "mysql://db.example", "--no-costs"), "no user was named for db.example:3306"),
        (
            ("--server", "mysql://ann@/shop?socket=/run/mysqld.sock", "--no-costs"),
            "name the server by its host and port",
        ),
        (("--no-costs", "--ssl-mode", "REQUIRED"), "--ssl-mode needs the address of an external server"),
        (
            ("--no-costs", "--allow-plaintext"),
            "--allow-plaintext needs the address of an external server",
        ),
    ],
)
def test_a_server_that_cannot_be_probed_on_is_refused_before_a_driver_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: tuple[str, ...], words: str
) -> None:
    if "DISABLED" in typed or "socket" in " ".join(typed):
        monkeypatch.setenv("TLSTAX_PASSWORD", "Sesame, open!")
    else:
        monkeypatch.delenv("TLSTAX_PASSWORD", raising=False)
    assert status_of(monkeypatch, "drivers", "probe", "pymysql-1.2", *typed) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_an_unknown_driver_is_refused_before_a_password_is_asked_for() -> None:
    with pytest.raises(UserMistake, match="there is no driver named 'pymysql-9'"):
        requested(["pymysql-9"], server=THERE, no_costs=True)


def test_an_unknown_driver_is_not_renewed(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="there is no driver psycopg"):
        known_drivers.renew("psycopg-3", "psycopg", folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_kept_of_drivers_is_renewed_in_the_file_of_their_family(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Sequence[str]] = []

    def measured(names: Sequence[str], *_: object) -> KnownDrivers:
        asked.append(names)
        found = shipped("postgresql").only(names)
        changed = (driver.model_copy(update={"version": "new"}) for driver in found.drivers)
        return found.model_copy(update={"drivers": tuple(changed)})

    monkeypatch.setattr(known_drivers.postgres_driver_facts, "measured_drivers", measured)
    file = tmp_path / FILES["postgresql"]
    file.write_text(shipped("postgresql").text(), encoding="utf-8")
    known_drivers.renew("pgx-5", folder=tmp_path)
    assert asked == [["pgx-5"]]
    kept = KnownDrivers.model_validate_json(file.read_text(encoding="utf-8")).drivers
    assert [driver.name for driver in kept if driver.version == "new"] == ["pgx-5"]
    assert len(kept) == len(shipped("postgresql").drivers)
    assert list(tmp_path.iterdir()) == [file]
