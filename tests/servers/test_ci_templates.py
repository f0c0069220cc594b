"""The action for GitHub and the template for GitLab with a real server: measure, pack, report, check."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from command_line import Home

from ci_jobs import ACTION, run_action, run_template

pytestmark = pytest.mark.long

ARGUMENTS = """\
--server=mariadb-11.8
--tls=off,1.3
--workload=reconnect
--connections=4
--rows=1000
--budget=6s
--over-budget
"""
ALWAYS, NEVER = "server_cpu_us_per_op +100000%", "server_cpu_us_per_op -99%"
"""Limits that any two runs keep to, and that none does."""


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """A folder with a launcher that starts this very tlstax in the environment of the tests."""
    folder = tmp_path / "tool"
    folder.mkdir()
    launcher = folder / "tlstax"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m tlstax "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    return folder


@pytest.fixture
def environment(tmp_path: Path, mariadb_build: object) -> dict[str, str]:
    assert mariadb_build
    wanted = Home(tmp_path / "data").environment()
    return {
        name: value for name, value in wanted.items() if name in os.environ or name.startswith("TLSTAX")
    } | {"PYTHONPATH": wanted["PYTHONPATH"]}


def test_the_action_measures_packs_reports_and_checks(
    tmp_path: Path, tool: Path, environment: dict[str, str]
) -> None:
    assert os.access(ACTION.parent / "tlstax", os.X_OK), "the action starts the launcher beside it"
    work = tmp_path / "work"
    work.mkdir()
    first = run_action(work, tool, environment, arguments=ARGUMENTS)
    assert (first.status, first.outputs["check.verdict"]) == (0, "NONE"), first.out
    assert "TLS 1.3" in first.summary
    shutil.move(work / first.outputs["report.pack"], work / "main.tlstax")
    (work / "summary.md").unlink()
    again = run_action(work, tool, environment, arguments=ARGUMENTS, against="main.tlstax", max=ALWAYS)
    assert (again.status, again.outputs["check.verdict"]) == (0, "PASS"), again.out
    assert any(line.startswith("    ") and "PASS" in line for line in again.summary.splitlines())
    failing = run_action(work, tool, environment, arguments=ARGUMENTS, against="main.tlstax", max=NEVER)
    assert (failing.status, failing.outputs["check.verdict"]) == (1, "FAIL"), failing.out


def test_the_job_measures_packs_and_reports(tmp_path: Path, tool: Path, environment: dict[str, str]) -> None:
    work = tmp_path / "work"
    work.mkdir()
    api = {"CI_API_V4_URL": f"file://{work}/api", "CI_PROJECT_ID": "7", "CI_DEFAULT_BRANCH": "main"}
    job = {**environment, **api, "CI_JOB_TOKEN": "a token"}
    command = str(tool / "tlstax")
    first = run_template(work, job, command=command, arguments=ARGUMENTS, missing="pass")
    assert first.status == 0, first.out
    assert "TLS 1.3" in (work / "tlstax.md").read_text(encoding="utf-8")
    earlier = work / "api/projects/7/jobs/artifacts/main/raw/tlstax-run.tlstax"
    earlier.parent.mkdir(parents=True)
    shutil.move(work / "tlstax-run.tlstax", earlier)
    again = run_template(work, job, command=command, arguments=ARGUMENTS, max=NEVER)
    assert again.status == 4, again.out
    assert "FAIL" in (work / "tlstax-check.txt").read_text(encoding="utf-8")
