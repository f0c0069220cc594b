"""The conversation after `ready`: slices are answered and add up to `done`, bad lines end it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver_contract.failure import Failure
from driver_contract.laboratory import slice_length_s
from hdrh.histogram import HdrHistogram

PROGRAM = Path(__file__).with_name("fake_program.py")
WITHIN_S = 60.0
CONNECTIONS = 3


class Talk:
    """A laboratory at the other end of the program's streams."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def event(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said

    def slices(self, *lengths_s: float) -> list[dict[str, Any]]:
        told = []
        for length_s in lengths_s:
            self.say(f"go {length_s}")
            told.append(self.event())
        return told

    def hang_up(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(WITHIN_S)


@pytest.fixture
def talk() -> Iterator[Talk]:
    command = [sys.executable, str(PROGRAM)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Talk(process)
        process.kill()


def start(talk: Talk, sql: str = "SELECT 1", **changes: Any) -> None:
    """Say a job and wait until it is ready."""
    job = {
        "schema": 2,
        "endpoint": {"kind": "tcp", "host": "h", "port": 1},
        "account": {"user": "u", "password": "p"},
        "tls": {"mode": "off"},
        "workload": {"statements": [{"sql": sql}], "reconnect": changes.pop("reconnect", False)},
        "connections": CONNECTIONS,
        "warmup_s": 0,
        "duration_s": 1.0,
        "seed": 1,
    }
    talk.say(json.dumps({**job, **changes}))
    assert talk.event()["event"] == "ready"


def test_slices_add_up_to_what_is_done(talk: Talk) -> None:
    start(talk)
    slices = talk.slices(0.01, 0.05, 0.002, 0.01)
    talk.say("end")
    done = talk.event()
    assert [each["event"] for each in slices] == ["slice"] * 4
    assert done["event"] == "done"
    assert done["operations"] == done["scheduled"] == sum(each["operations"] for each in slices) > 0
    assert done["elapsed_s"] == pytest.approx(sum(each["elapsed_s"] for each in slices))
    assert done["cpu"]["total_us"] == pytest.approx(sum(each["cpu_us"] for each in slices))
    assert HdrHistogram.decode(done["histograms_ns"]["operation"]).get_total_count() == done["operations"]
    for each in slices:
        assert 0 < each["latency_sum_s"] <= CONNECTIONS * each["elapsed_s"]
    assert talk.hang_up() == 0


def test_connections_are_counted_in_the_slice_in_which_they_are_opened(talk: Talk) -> None:
    start(talk, reconnect=True)
    slices = talk.slices(0.01, 0.01)
    talk.say("end")
    done = talk.event()
    assert [each["counts"]["connections"] for each in slices] == [each["operations"] for each in slices]
    assert done["window"]["connections"] == done["operations"]
    assert done["lifetime"]["connections"] == done["operations"] + CONNECTIONS


def test_operations_are_shared_by_all_slices(talk: Talk) -> None:
    start(talk, operations=5)
    slices = talk.slices(30.0, 0.25)
    talk.say("end")
    assert [each["operations"] for each in slices] == [5, 0]
    assert slices[1]["elapsed_s"] == 0.25
    assert slices[1]["latency_sum_s"] == 0
    assert talk.event()["operations"] == 5


def test_what_the_server_refuses_is_no_operation_of_a_slice(talk: Talk) -> None:
    start(talk, sql="SELECT refused", operations=60)
    assert [each["operations"] for each in talk.slices(30.0)] == [0]
    talk.say("end")
    assert talk.event()["errors"] == [{"kind": "server_error", "code": 1146, "count": 60}]


@pytest.mark.parametrize("line", ["go", "go 0", "go -1", "go nan", "go inf", "go 1 2", "go 4e7", "end"])
def test_a_bad_line_is_a_bad_job_in_one_sentence(talk: Talk, line: str) -> None:
    start(talk)
    talk.say(line)
    error = talk.event()
    assert (error["event"], error["kind"], error["fatal"]) == ("error", "bad_job", True)
    assert line in error["message"]
    assert talk.process.wait(WITHIN_S) == 1


def test_blank_and_other_lines_mean_nothing(talk: Talk) -> None:
    start(talk)
    for line in ("", "  ", "going 1"):
        talk.say(line)
    assert [each["event"] for each in talk.slices(0.01)] == ["slice"]


def test_the_end_of_input_ends_it_at_the_gate(talk: Talk) -> None:
    start(talk)
    talk.slices(0.01)
    assert talk.hang_up() == 1


def test_the_end_of_input_ends_a_slice_that_waits_for_the_server(talk: Talk) -> None:
    start(talk, sql="SELECT silent")
    talk.say("go 0.01")
    assert talk.hang_up() == 1


def test_a_server_that_stays_silent_in_a_slice_ends_the_job(talk: Talk) -> None:
    start(talk, sql="SELECT silent", timeout_s=0.1)
    talk.say("go 0.01")
    assert talk.event()["kind"] == "timeout"


def test_a_year_is_the_longest_slice() -> None:
    assert slice_length_s(["31557600"]) == 31557600
    assert math.isclose(slice_length_s(["0.02"]), 0.02)
    with pytest.raises(Failure):
        slice_length_s(["31557601"])
