"""`tlstax self-bench --bytes` as a user meets it: long results beside a bare loop, shown once and again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import Home

from tlstax.clients.engine import tool_command
from tlstax.results.document import BenchDocument
from tlstax.tools.probes.long_results import RATE, RATIO, READER, READER_CPU, ROW_BYTES

WITHIN_S = 120.0


def test_long_results_are_read_beside_a_bare_loop(tmp_path: Path) -> None:
    home, file = Home(tmp_path / "data"), tmp_path / "bytes.json"
    done = home.run("self-bench", "--bytes", "--budget", "1s", "--beside-others", "-o", str(file))
    assert done.returncode == 0, done.stderr
    found = BenchDocument.model_validate_json(file.read_text(encoding="utf-8"))
    ratios = found.told.of(RATE, role=RATIO)
    assert [row.case["row_bytes"] for row in ratios] == list(ROW_BYTES)
    values = {
        (row.case["row_bytes"], row.case["reader"], row.outcome): row.value or 0.0
        for row in found.told.of(RATE, READER_CPU, role=READER)
    }
    assert len(values) == len(ROW_BYTES) * 4
    assert all(value > 0 for value in values.values())
    for row in ratios:
        size = row.case["row_bytes"]
        assert row.ratio.blocks >= 2
        ratio = values[size, "engine", RATE] / values[size, "bare", RATE]
        assert row.ratio.point == pytest.approx(ratio)
    again = home.run("self-bench", "--show", str(file))
    assert again.stdout == done.stdout


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"rows": 0}, "rows of 1 byte to 8 MiB"),
        ({"row_bytes": 9 << 20}, "rows of 1 byte to 8 MiB"),
        ({"slice_s": 61}, "a slice lasts up to a minute"),
        ({"client_cpus": [5000]}, "no core has that number"),
        ({"colour": "red"}, "unknown field `colour`"),
    ],
)
def test_the_reader_of_results_refuses_what_cannot_be(asked: dict[str, Any], words: str) -> None:
    usual = {"rows": 2, "row_bytes": 100, "pairs": 1, "slice_s": 0.01, "server_cpus": [], "client_cpus": []}
    line = json.dumps({**usual, **asked}) + "\n"
    command = tool_command("bytes")
    done = subprocess.run(command, input=line, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert done.returncode == 1
    assert words in json.loads(done.stdout.splitlines()[-1])["message"]
