"""`tlstax predict`: it measures for half a minute, and once; what was validated is a run that reports it."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from ready_command import ready_run

from tlstax.cli.report_command import report_command
from tlstax.records.trial import StoredRun
from tlstax.stats.wording import percent
from tlstax.store import Store
from tlstax.support.text import counted
from tlstax.topics.prediction.model import SERVER_CPU
from tlstax.topics.prediction.prediction import Prediction
from tlstax.topics.prediction.validation import SHORT

WITHIN_S = 240.0
WORDS = ("predict", "--queries", "4")


def runs_in(data: Path) -> list[tuple[str, str]]:
    with Store.open(data / "store.sqlite") as store:
        return [(own.study, own.status) for own in store.runs()]


@pytest.mark.long
@pytest.mark.usefixtures("mysql_build")
def test_the_first_prediction_calibrates_and_the_second_has_it(tmp_path: Path) -> None:
    environment = {**os.environ, "TLSTAX_DATA": str(tmp_path)}
    for _ in range(2):
        done = ready_run((*WORDS, "--json"), environment, WITHIN_S)
        assert done.returncode == 0, done.stderr
        found = Prediction.model_validate(json.loads(done.stdout))
        scaling = found.calibration.scaling
        assert scaling is not None
        assert scaling.mixes == 11
        cost, clear = (found.of(role)[SERVER_CPU] for role in ("connection", "in the clear"))
        assert cost.interval is not None
        assert cost.interval.low is not None
        assert clear.value is not None
        assert cost.value is not None
        assert clear.value < cost.value
        assert runs_in(tmp_path) == [("calibration", "complete")]


@pytest.mark.long
@pytest.mark.usefixtures("mysql_build")
def test_ctrl_c_in_a_calibration_answers_with_what_there_is(tmp_path: Path) -> None:
    environment = {**os.environ, "TLSTAX_DATA": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "tlstax", *WORDS],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        assert any("block 1" in line for line in child.stderr)
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        said, complained = child.communicate(timeout=WITHIN_S)
    assert child.returncode == 130
    assert "not scaled to this one" in said
    assert "server CPU" in said
    assert "Traceback" not in complained
    assert runs_in(tmp_path) == [("calibration", "interrupted")]


VALIDATE = ["predict", "--validate", "--no-calibration", "--near", "--mixes", "2", "--seed", "5"]


def tlstax(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return ready_run(words, {**os.environ, "TLSTAX_DATA": str(data), "COLUMNS": "100"}, WITHIN_S)


def stored_in(data: Path) -> StoredRun:
    with Store.open(data / "store.sqlite") as store:
        return store.load(store.runs()[0].run)


@dataclass
class Reports:
    """What `tlstax report` prints of the newest run of a store."""

    data: Path
    printed: pytest.CaptureFixture[str]

    def of(self, form: str) -> str:
        """The run in a format."""
        self.printed.readouterr()
        assert report_command(stored_in(self.data).header.run, form, None) == 0
        return self.printed.readouterr().out

    def compared(self) -> tuple[str, list[dict[str, Any]]]:
        """What it tells of predictions, as text and as rows of JSON, which are those of CSV."""
        shown = {form: self.of(form) for form in ("terminal", "csv", "json")}
        rows = [row for row in csv.DictReader(shown["csv"].splitlines()) if row["topic"] == "validation"]
        told = json.loads(shown["json"])["topics"]["validation"]["rows"]
        assert [row["role"] for row in rows] == [own["role"] for own in told]
        for row, own in zip(rows, told, strict=True):
            more = own.get("more", {})
            for column in ("value", "baseline_value"):
                assert row[column] == str(own.get(column, ""))
            for column in ("predicted", "predicted_low", "predicted_high"):
                assert row[column] == str(more.get(column, ""))
        return shown["terminal"], told


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Reports:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    return Reports(tmp_path, capsys)


@pytest.mark.long
@pytest.mark.usefixtures("mysql_build")
def test_a_validation_is_a_run_whose_report_says_again_what_it_said(tmp_path: Path, reports: Reports) -> None:
    done = tlstax(tmp_path, *VALIDATE, "--budget", "15s")
    assert done.returncode == 0, done.stderr
    said = done.stdout
    stored = stored_in(tmp_path)
    assert (stored.header.study.name, stored.status) == ("validation", "complete")
    found = stored.header.predictions
    assert found is not None
    assert len(found.cases) == 2 * (3 + 2)
    text, told = reports.compared()
    # It names its page, which `report` does not write.
    assert text.split("Everything else")[0] == said.split("Report:")[0]
    assert "Predicted for mysql-9.7 and measured afterwards" in text
    costs = [own for own in told if own["role"] == "cost"]
    assert {own["outcome"] for own in costs} >= {
        "latency_mean_us",
        "server_cpu_us_per_op",
        "client_cpu_us_per_op",
        "bytes_sent_per_op",
    }
    recorded = {
        (name, tuple(sorted(case.levels.items()))): own.value
        for case in found.cases
        for name, own in case.outcomes.items()
    }
    for own in costs:
        assert own["more"]["predicted"] == recorded[own["outcome"], tuple(sorted(own["case"].items()))]
        assert own["interval"]["point"] == pytest.approx(own["value"] / own["baseline_value"])
    for own in (own for own in told if own["role"] == "outcome"):
        errors = [abs(cost["interval"]["point"] - 1) for cost in costs if cost["outcome"] == own["outcome"]]
        assert own["value"] == pytest.approx(median(errors))
        name = f"{SHORT[own['outcome']]}  "
        (line,) = (line for line in text.splitlines() if line.startswith(name))
        assert line.removeprefix(name).split()[0] == str(len(errors))
        assert percent(median(errors)) in line


@pytest.mark.long
@pytest.mark.usefixtures("mysql_build")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_validation_that_is_cut_off_says_what_was_validated_and_what_was_not(
    tmp_path: Path, reports: Reports, number: signal.Signals
) -> None:
    environment = {**os.environ, "TLSTAX_DATA": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "tlstax", *VALIDATE, "--budget", "5m"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        until = time.monotonic() + WITHIN_S
        while time.monotonic() < until and not _has_measured(tmp_path):
            assert child.poll() is None
            time.sleep(0.2)
        child.send_signal(number)
        _, complained = child.communicate(timeout=WITHIN_S)
    assert child.returncode == (130 if number == signal.SIGINT else -number)
    assert "Traceback" not in complained
    stored = stored_in(tmp_path)
    assert stored.status == "interrupted"
    assert stored.trials
    assert stored.header.predictions is not None
    expected = sum(len(case.outcomes) for case in stored.header.predictions.cases if not case.is_known)
    text, told = reports.compared()
    seen, left = (sum(own["role"] == role for own in told) for role in ("cost", "not measured"))
    assert seen + left == expected
    assert left
    said = " ".join(text.split())
    assert f"Not validated: {counted(left, 'prediction')} of " in said
    assert "as the run was interrupted before these were measured" in said


def _has_measured(data: Path) -> bool:
    """Whether a validation has kept trials, and is not through with its first block."""
    if not (data / "store.sqlite").exists():
        return False
    with Store.open(data / "store.sqlite") as store:
        return any(own.study == "validation" and own.valid for own in store.runs())
