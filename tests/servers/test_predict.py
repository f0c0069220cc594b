"""`tlstax predict` on a machine where nothing was measured: it measures for half a minute, and once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tlstax.store import Store
from tlstax.topics.prediction.model import SERVER_CPU
from tlstax.topics.prediction.prediction import Prediction

WITHIN_S = 240.0
PROGRAM = [sys.executable, "-P", "-m", "tlstax", "predict", "--queries", "4", "--json"]


def runs_in(data: Path) -> list[tuple[str, str]]:
    with Store.open(data / "store.sqlite") as store:
        return [(own.study, own.status) for own in store.runs()]


@pytest.mark.long
@pytest.mark.usefixtures("mysql_build")
def test_the_first_prediction_calibrates_and_the_second_has_it(tmp_path: Path) -> None:
    environment = {**os.environ, "TLSTAX_DATA": str(tmp_path)}
    for _ in range(2):
        done = subprocess.run(
            PROGRAM, env=environment, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
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
        [word for word in PROGRAM if word != "--json"],
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
