"""`--capture` as a user meets it: what crossed the wire of each case, beside the results and not in them."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from command_line import WITHIN_S, Home, all_gone, wait_until

from processes import family

SHORT = ("--rows", "1000", "--budget", "1s", "--over-budget", "--connections", "2")


def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "data")


def trials_of(home: Home) -> list[dict[str, Any]]:
    exported: list[dict[str, Any]] = json.loads(home.run("runs", "export", "last").stdout)["trials"]
    return exported


@pytest.mark.long
@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"])
def test_what_crossed_the_wire_is_shown_case_by_case(
    tmp_path: Path, server: str, mysql_build: object, mariadb_build: object
) -> None:
    assert mysql_build
    assert mariadb_build
    user = home(tmp_path)
    asked = ("--workload", "point-select,reconnect", "--tls", "1.2,1.3-resumed", *SHORT)
    result = user.run(
        "run", "--server", server, "--capture", *asked, "--report", str(tmp_path / "report.html")
    )
    assert result.returncode == 0, result.stderr
    assert "What crossed the wire" in result.stdout
    assert "Application Data records: nothing can be read" in result.stdout
    # The first byte is the packet's length, and so depends on how many digits the row's number has.
    assert re.search(r"\|.\.{4}SELECT c FR\|", result.stdout)
    captured = [trial for trial in trials_of(user) if trial["captured"]]
    assert {trial["verdict"] for trial in captured} == {"valid"}, [trial["reasons"] for trial in captured]
    page = (tmp_path / "report.html").read_text()
    assert "What crossed the wire" in page
    assert "<pre" in page
    rows = json.loads(user.run("report", "--format", "json").stdout)["topics"]["captures"]["rows"]

    def counted(outcome: str) -> dict[tuple[str, str], float]:
        return {
            (row["case"]["workload"], row["case"]["tls"]): row["value"]
            for row in rows
            if row["outcome"] == outcome
        }

    trips = counted("round trips per operation")
    assert trips["point-select", "off"] == trips["point-select", "1.2"] == trips["point-select", "1.3"] == 1
    assert trips["reconnect", "off"] == 4
    assert trips["reconnect", "1.2"] == 6
    resumed, handshakes = (counted(what)["reconnect", "1.3"] for what in ("resumed handshakes", "handshakes"))
    assert resumed == handshakes > 0


@pytest.mark.long
def test_a_run_that_was_cut_off_while_it_captured_goes_on_there(tmp_path: Path, mysql_build: object) -> None:
    assert mysql_build
    user = home(tmp_path)
    many = (
        "--set",
        "connections=1,2,3",
        "--set",
        "tls=1.2,1.3",
        "--budget",
        "1s",
        "--over-budget",
        "--capture",
    )
    process = user.start("study", "run", "tax", *many)
    children = []
    try:
        wait_until(lambda: user.trials() >= 2 or process.poll() is not None)
        assert process.poll() is None
        children = family(process.pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=WITHIN_S)
    finally:
        process.kill()
        process.communicate()
    assert all_gone(children)
    before = trials_of(user)
    assert all(trial["captured"] for trial in before)
    resumed = user.run("study", "run", "tax", "--resume", "last")
    assert resumed.returncode == 0, resumed.stderr
    after = trials_of(user)
    captured = [(trial["block"], trial["position"]) for trial in after if trial["captured"]]
    assert captured == [(-1, position) for position in range(len(captured))]
    assert after[: len(before)] == before
    assert any(not trial["captured"] for trial in after)


def test_a_server_that_is_not_ours_gets_no_tap(tmp_path: Path) -> None:
    refused = home(tmp_path).run("run", "--capture", "--server", "mysql://someone@127.0.0.1:1")
    assert refused.returncode == 2
    assert "--capture needs private servers alone" in refused.stderr
