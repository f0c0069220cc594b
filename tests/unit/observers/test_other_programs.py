"""Other load: what the machine works beyond this process and all that it has started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tlstax.observers import machine, processors
from tlstax.observers.processors import Usage, others_between, usage

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def write(root: Path, busy: int, processes: dict[int, tuple[int, int]]) -> Path:
    """A machine's /proc: ticks of all, and of each process whose child it is and what it took."""
    proc = root / "proc"
    proc.mkdir(exist_ok=True)
    (proc / "stat").write_text(f"cpu {busy} 0 0 5000 0 0 0 0 0 0\n")
    for pid, (parent, ticks) in processes.items():
        (proc / str(pid)).mkdir(exist_ok=True)
        fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", "0", "0", "0"]
        (proc / str(pid) / "stat").write_text(f"{pid} (a (name) x) {' '.join(fields)}\n")
    return root


def seen(root: Path) -> Usage:
    found = usage(root)
    assert found is not None
    return found


def test_what_we_started_is_not_other_load(tmp_path: Path) -> None:
    own = os.getpid()
    family = {own: (1, 10), 900001: (own, 100), 900002: (900001, 1000)}
    before = seen(write(tmp_path, 5000, {**family, 900003: (1, 0)}))
    assert before.own == 1110
    both = {own: (1, 20), 900001: (own, 140), 900002: (900001, 1150), 900003: (1, 60)}
    after = seen(write(tmp_path, 5000 + 200 + 60, both))
    assert others_between(before, after, 1.0) == pytest.approx(60 / TICKS_A_SECOND)
    assert others_between(before, after._replace(machine=5000), 1.0) == 0.0


@pytest.mark.parametrize(("others", "is_said"), [(1.9, True), (0.1, False)])
def test_other_programs_are_named_by_what_they_take(
    others: float, is_said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not by the load average, which has our own servers and what ended minutes ago in it."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/loadavg").write_text("144.00 99.00 50.00 1/100 4711\n")
    monkeypatch.setattr(machine, "busy_with_others", lambda _: others)
    notes = " ".join(machine.describe_machine({0, 1}, tmp_path).notes)
    assert ("they kept 1.9 CPUs busy" in notes) == is_said
    assert "144" not in notes


def test_a_machine_that_does_not_say_is_not_blamed(tmp_path: Path) -> None:
    assert processors.busy_with_others(tmp_path) == 0.0
