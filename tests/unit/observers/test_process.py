"""Context switches and page faults of a process, read from a /proc of our own making."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tlstax.observers.process import read_threads, threads_between

PID = 77


def process(root: Path, switches: Mapping[int, tuple[int, int]], faults: tuple[int, int]) -> Path:
    """A process with these threads: voluntary and other context switches of each."""
    place = root / f"proc/{PID}"
    for thread, (voluntary, other) in switches.items():
        (place / f"task/{thread}").mkdir(parents=True, exist_ok=True)
        (place / f"task/{thread}/status").write_text(
            f"Name:\tmysqld\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{other}\n"
        )
    minor, major = faults
    (place / "stat").write_text(f"{PID} (a name) of) S 1 1 1 0 -1 4194560 {minor} 9 {major} 9 1 2 0 0\n")
    return root


def test_switches_are_added_up_over_threads_old_and_new(tmp_path: Path) -> None:
    before = read_threads(PID, process(tmp_path / "a", {77: (10, 1), 78: (20, 2)}, (100, 3)))
    after = read_threads(PID, process(tmp_path / "b", {77: (11, 1), 78: (25, 4), 79: (5, 0)}, (150, 4)))
    assert threads_between(before, after) == {"context_switches": 1 + 7 + 5, "page_faults": 51}


def test_where_a_thread_has_ended_its_switches_are_lost_and_none_are_told(tmp_path: Path) -> None:
    before = read_threads(PID, process(tmp_path / "a", {77: (10, 1), 78: (20, 2)}, (100, 0)))
    after = read_threads(PID, process(tmp_path / "b", {77: (11, 1)}, (100, 0)))
    assert threads_between(before, after) == {"page_faults": 0}


def test_bytes_read_are_counted_where_the_kernel_does(tmp_path: Path) -> None:
    roots = [process(tmp_path / name, {77: (10, 1)}, (1, 1)) for name in ("a", "b")]
    for root, count in zip(roots, (1000, 1500), strict=True):
        (root / f"proc/{PID}/io").write_text(f"rchar: {count}\nwchar: 7\n")
    before, after = (read_threads(PID, root) for root in roots)
    assert threads_between(before, after)["read_bytes"] == 500


def test_a_process_that_is_gone_tells_nothing(tmp_path: Path) -> None:
    assert read_threads(PID, tmp_path) is None
    assert threads_between(None, None) == {}
