"""`tlstax self-bench` as a user meets it, and with real contestants of which some do not do as told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import all_gone, wait_until
from load_jobs import ROWS, job
from processes import family

import tlstax
from tlstax.clients.engine import engine_command, engine_specimen
from tlstax.clients.floor import floor_command
from tlstax.clients.process import LoadClient
from tlstax.mysql.database import TableContent
from tlstax.selfbench import contestants, session
from tlstax.selfbench.bytes_document import BytesDocument
from tlstax.selfbench.bytes_measure import ROW_BYTES
from tlstax.selfbench.document import SelfBenchDocument
from tlstax.selfbench.estimate import document
from tlstax.selfbench.plan import CONTESTANTS, Sitting, cells
from tlstax.specimens.private_server import PrivateServer
from tlstax.support.directories import cache_dir

WITHIN_S = 120.0
SMALL = ("self-bench", "--workload", "point-select", "--tls", "off", "--connections", "2")

LIAR = """
import json, subprocess, sys
engine = subprocess.Popen([sys.argv[1]], stdin=0, stdout=subprocess.PIPE, text=True)
for line in engine.stdout:
    event = json.loads(line)
    if event["event"] == "done":
        event["operations"] *= 2
    print(json.dumps(event), flush=True)
"""
"""A contestant that claims twice the work that it did."""


class Silent:
    """A watcher who does not watch."""

    def step(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def sitting(self, sitting: Sitting, left_s: float | None) -> None: ...

    def close(self) -> None: ...


def start(*arguments: str, data: Path) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(tlstax.__file__).parents[1]),
        "TLSTAX_DATA": str(data),
        "TLSTAX_CACHE": str(cache_dir()),
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "tlstax", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory, mysql_build: object) -> dict[str, Any]:
    """One block of a small cell, as JSON."""
    assert mysql_build
    data = tmp_path_factory.mktemp("short")
    kept = data / "kept.json"
    with start(*SMALL, "--budget", "1s", "--json", "--output", str(kept), data=data) as process:
        out, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 0, err
    assert kept.read_text(encoding="utf-8") == out
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize("command", [engine_command, floor_command])
def test_clients_work_on_the_processor_of_their_job(
    mysql: PrivateServer, command: Callable[[], list[str]]
) -> None:
    """One that may work beside the server is spared the wake-ups that the others pay for."""
    chosen = max(os.sched_getaffinity(0))
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    with LoadClient(command(), job(mysql, cpus=(chosen,))) as client:
        pid = client.wait_ready(WITHIN_S).pid
        allowed = [os.sched_getaffinity(int(thread.name)) for thread in Path(f"/proc/{pid}/task").iterdir()]
    assert {chosen} in allowed


@pytest.mark.long
def test_the_document_has_what_it_promises(short: dict[str, Any]) -> None:
    assert (short["schema"], short["status"], short["blocks"]) == (2, "complete", 1)
    assert short["trials"]["invalid"] == 0, short["trials"]
    assert short["server"]["name"] == "mysql-9.7"
    (cell,) = short["cells"]
    assert (cell["workload"], cell["tls"], cell["connections"]) == ("point-select", "off", 2)
    for outcome in ("ops_per_s", "client_cpu_us_per_op", "server_cpu_us_per_op", "client_cpu_share"):
        assert cell["engine"][outcome]["point"] > 0
    assert cell["engine"]["negotiated"] == "plaintext"
    assert set(short) == set(SelfBenchDocument.model_json_schema(mode="serialization")["properties"])


@pytest.mark.long
def test_a_contestant_has_figures_or_a_reason_why_not(short: dict[str, Any]) -> None:
    (cell,) = short["cells"]
    for rival in ("sysbench", "floor"):
        missing = [text for text in short["caveats"] if text.startswith(f"there is no {rival} ")]
        assert (cell[rival] is None) == (cell[f"client_cpu_to_{rival}"] is None) == bool(missing)


@pytest.mark.long
def test_ctrl_c_shows_the_complete_blocks_and_leaves_nothing_behind(
    tmp_path: Path, mysql_build: object
) -> None:
    assert mysql_build
    with start(*SMALL, "--budget", "10m", data=tmp_path) as process:
        assert process.stderr is not None
        # A line every ten seconds says what is going on; from the second block on, there is one to show.
        next(line for line in process.stderr if "block " in line and "block 1," not in line)
        children = family(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "the run was interrupted: " in out
    assert any(line.startswith("select") for line in out.splitlines())
    assert len(children) >= 1
    wait_until(lambda: all_gone(children))


@pytest.fixture
def _standing_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The engine in the floor's place, and a liar in sysbench's."""
    script = tmp_path / "liar.py"
    script.write_text(LIAR)
    liar = [sys.executable, "-P", str(script), *engine_command()]
    monkeypatch.setitem(contestants.RIVALS, "sysbench", (lambda _: liar, lambda _: engine_specimen()))
    monkeypatch.setitem(
        contestants.RIVALS, "floor", (lambda _: engine_command(), lambda _: engine_specimen())
    )


@pytest.mark.long
@pytest.mark.usefixtures("_standing_in", "mysql_build")
def test_honest_contestants_are_proved_and_a_liar_is_found_out() -> None:
    request = session.Request(cells=cells(connections=(2,)), budget_s=0.1, seed=1, rows=2_000, window_s=0.2)
    run = session.run(request, Silent())
    found = document(run)
    by_contestant = {
        name: [result for result in run.results if result.trial.contestant == name] for name in CONTESTANTS
    }
    assert [len(results) for results in by_contestant.values()] == [5, 4, 4]
    for name in ("engine", "floor"):
        assert [result.reasons for result in by_contestant[name] if not result.valid] == []
    for result in by_contestant["sysbench"]:
        assert "SELECT statements (Com_select) where there must be" in result.reasons[0]
    for cell in found.cells:
        assert cell.engine is not None
        assert cell.engine.negotiated.startswith("plaintext" if cell.tls == "off" else "TLSv1.3 TLS_")
        assert (cell.sysbench, cell.client_cpu_to_sysbench) == (None, None)
        if cell.tls != "1.3-resumed":
            assert cell.client_cpu_to_floor is not None
            # The engine beside itself: whatever the machine does meanwhile, not a multiple.
            assert 0.33 < cell.client_cpu_to_floor.point < 3


def test_long_results_are_read_beside_a_bare_loop(tmp_path: Path) -> None:
    asked = ("self-bench", "--bytes", "--budget", "1s", "--json", "--beside-others")
    done = start(*asked, data=tmp_path)
    out, err = done.communicate(timeout=WITHIN_S)
    assert done.returncode == 0, err
    document = BytesDocument.model_validate_json(out)
    assert [found.row_bytes for found in document.results] == list(ROW_BYTES)
    for found in document.results:
        assert found.rate_to_bare.blocks >= 2
        for side in (found.engine, found.bare):
            assert side.mib_per_s.point > 0
            assert side.reader_cpu_us_per_mib.point > 0
        ratio = found.engine.mib_per_s.point / found.bare.mib_per_s.point
        assert found.rate_to_bare.point == pytest.approx(ratio)


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
    command = [*floor_command(), "bytes"]
    done = subprocess.run(command, input=line, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert done.returncode == 1
    assert words in json.loads(done.stdout.splitlines()[-1])["message"]
