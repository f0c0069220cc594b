"""Workloads that write, as a user runs them: the README's example, on servers of ours and on others'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Home
from test_guest_run import as_owner, lent, tlstax_run, url_of

from tlstax.records.trial import StoredRun
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session

EXAMPLE = str(Path(__file__).parents[2] / "docs" / "orders.toml")
DRY = """
name = "dry"
title = "More deletes than rows"
question = "Is it told?"
baseline = { tls = "off" }
budget_s = 1
minimum_blocks = 1
rows = 300
[factors]
server = ["mariadb-11.8"]
tls = ["off"]
workload = ["delete", "people-delete"]
connections = [2]
queries = [500]
"""
RUN = ("--rows", "500", "--budget", "1s", "--over-budget", "--tls", "off,1.3", "--connections", "2")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def last_run(home: Home) -> StoredRun:
    with home.store() as store:
        return store.load(store.runs()[0].run)


def document(home: Home, *arguments: str) -> dict[str, Any]:
    done = home.run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("build", [pytest.param("mysql_build", marks=pytest.mark.long), "mariadb_build"])
def test_the_example_runs_and_every_write_hits(
    home: Home, request: pytest.FixtureRequest, build: str
) -> None:
    server = request.getfixturevalue(build).specimen.name
    found = document(home, "run", *RUN, "--server", server, "--workload", f"{EXAMPLE},delete,oltp-read-write")
    assert found["trials"]["valid"] > 0
    assert found["trials"]["invalid"] == found["trials"]["unknown"] == 0
    assert {finding["case"]["workload"] for finding in found["findings"]} == {
        "orders",
        "delete",
        "oltp-read-write",
    }
    run = last_run(home)
    assert all(record.data[0].rows == 500 for record in run.trials), "the table was not put back"
    report = home.run("report", "last", "--format", "md").stdout
    assert "INSERT INTO shop" in report.replace("\\", "")


@pytest.mark.long
def test_a_trial_whose_table_runs_dry_is_told(home: Home, tmp_path: Path) -> None:
    (tmp_path / "dry.toml").write_text(DRY, encoding="utf-8")
    done = home.run("study", "run", str(tmp_path / "dry.toml"), "--over-budget")
    assert (done.returncode, "ask for more rows" in done.stderr) == (2, True), done.stderr
    run = last_run(home)
    assert {record.verdict.value for record in run.trials} == {"invalid"}
    assert {record.verdict.reasons for record in run.trials} == {
        ("it ended after 300 of 500 operations: the table ran dry",)
    }


@pytest.mark.parametrize("build", [pytest.param("mysql_build", marks=pytest.mark.long), "mariadb_build"])
def test_a_guest_is_written_to_and_left_as_it_was(
    request: pytest.FixtureRequest, session: Session, tmp_path: Path, build: str
) -> None:
    made: ServerBuild = request.getfixturevalue(build)
    with lent(made, session, ServerSettings(buffer_pool_bytes=64 * 1024 * 1024)) as house:
        as_owner(house, "CREATE TABLE lent.theirs (id INT)")
        done = tlstax_run(tmp_path, url_of(house), *RUN, "--workload", f"{EXAMPLE},people-update", "--json")
        assert done.returncode == 0, done.stderr
        trials = json.loads(done.stdout)["trials"]
        assert (trials["invalid"], trials["unknown"]) == (0, 0)
        assert trials["valid"] > 0
        assert as_owner(house, "SHOW TABLES IN lent") == (("theirs",),)


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        (("SET k=k+1", "SET kk=k+1"), 2, ["workload orders", "the server refuses it", "kk"]),
        pytest.param(
            ("TRUNCATE TABLE shop_orders", "TRUNCATE TABLE shop"),
            2,
            ["orders", "restore", "shop"],
            marks=pytest.mark.long,
        ),
        pytest.param(
            ("{article}, {note}", "{article}, {notes}"),
            2,
            ["{notes}", "did you mean 'note'?"],
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_is_wrong_with_a_file_ends_the_run_in_a_sentence(
    home: Home, tmp_path: Path, change: tuple[str, str], status: int, says: list[str]
) -> None:
    text = Path(EXAMPLE).read_text(encoding="utf-8")
    assert change[0] in text
    (tmp_path / "bad.toml").write_text(text.replace(*change), encoding="utf-8")
    done = home.run("run", *RUN, "--server", "mariadb-11.8", "--workload", str(tmp_path / "bad.toml"))
    assert done.returncode == status, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert [word for word in says if word not in last] == [], last
