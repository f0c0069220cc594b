"""Counting a real process by perf: exactly what happens between the two moments, in all its threads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import psutil
import pytest

from tlstax.observers.counters import ProcessCounters

# Software events go by the same way as hardware counters, and every machine has them.
PAGE_FAULTS = "page-faults:u"

TOUCHER = """
import mmap, sys, threading
def touch(pages):
    memory = mmap.mmap(-1, 4096 * max(1, pages))
    for page in range(pages):
        memory[page * 4096] = 1
for line in sys.stdin:
    for pages in (0, int(line)):
        thread = threading.Thread(target=touch, args=(pages,))
        thread.start()
        thread.join()
    print("done", flush=True)
"""


@dataclass
class Toucher:
    """A process that touches so many new pages when it is told to, in a thread of its own."""

    process: subprocess.Popen[str]

    def touch(self, pages: int) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{pages}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@pytest.fixture
def toucher() -> Iterator[Toucher]:
    try:
        probe = subprocess.run(
            ["perf", "stat", "-e", PAGE_FAULTS, "true"], capture_output=True, check=False, timeout=20
        )
    except FileNotFoundError:
        pytest.skip("perf is not installed")
    if probe.returncode != 0:
        pytest.skip("perf may not count here")
    with subprocess.Popen(
        [sys.executable, "-c", TOUCHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        toucher = Toucher(process)
        toucher.touch(500)
        yield toucher
        process.kill()


def test_what_happens_in_between_is_counted_and_nothing_else(toucher: Toucher) -> None:
    pid = toucher.process.pid
    toucher.touch(5_000)
    with ProcessCounters(pid, [PAGE_FAULTS]) as counters:
        toucher.touch(2_000)
        first = counters.stop()
        toucher.touch(3_000)
    with ProcessCounters(pid, [PAGE_FAULTS]) as counters:
        toucher.touch(0)
        second = counters.stop()
    # A new thread touches some pages of its own.
    assert 2_000 <= first.events[PAGE_FAULTS] < 2_300
    assert second.events[PAGE_FAULTS] < 300


def test_perf_is_gone_when_nobody_stops_it(toucher: Toucher) -> None:
    with ProcessCounters(toucher.process.pid, [PAGE_FAULTS]):
        (perf,) = [child for child in psutil.Process().children() if "perf" in child.name()]
    assert not perf.is_running()


def test_a_process_that_is_not_there_is_a_reason_and_no_crash(toucher: Toucher) -> None:
    pid = toucher.process.pid
    toucher.process.kill()
    toucher.process.wait()
    with ProcessCounters(pid, [PAGE_FAULTS]) as counters:
        counted = counters.stop()
    assert counted.events == {}
    assert counted.why_none.startswith("perf stat failed (")
    with ProcessCounters(1, [PAGE_FAULTS], perf="tlstax-has-no-such-program") as counters:
        assert counters.stop().why_none != ""
