"""A real run followed in a real browser, from its servers' start to its end; nothing of either stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from chromium import browser

import tlstax
from tlstax.store import Store

pytestmark = pytest.mark.long

RUN = ("run", "--live", "--tls", "off,1.3", "--workload", "reconnect", "--budget", "10s", "--over-budget")

STATUS = "document.querySelector('[data-part=status]')?.textContent ?? ''"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run with its page, in a store of its own, which waits for no other run."""
    own = {"PYTHONPATH": str(Path(tlstax.__file__).parents[1]), "TLSTAX_DATA": str(tmp_path / "data")}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tlstax", *RUN],
        env={**os.environ, **own, "TLSTAX_TURN": tmp_path.name},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.terminate()
    process.communicate()


def test_a_run_is_seen_from_its_beginning_to_its_end(running: subprocess.Popen[str], tmp_path: Path) -> None:
    assert running.stderr is not None
    where = running.stderr.readline().rpartition(" ")[2].strip()
    children = psutil.Process(running.pid).children(recursive=True)
    with browser() as chromium:
        page = chromium.new_page()
        page.go(where)
        for text in ("being made ready", "block", "The run is complete"):
            page.wait_until(f"({STATUS}).includes('{text}')", within_s=200)
        assert page.evaluate("document.querySelectorAll('.strip svg').length") > 0
        assert page.complaints == []
        assert {asked.partition("?")[0] for asked in page.requests} == {where, f"{where}events"}
    assert running.wait(200) == 0
    assert not [child for child in children if child.is_running()]
    with Store.open(tmp_path / "data" / "store.sqlite") as store:
        (run,) = store.runs()
    assert (run.status, run.invalid, run.unknown) == ("complete", 0, 0)
