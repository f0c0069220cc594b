"""A machine without loopback, or without /proc: one sentence says which, wherever either is needed first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LAB = Path(__file__).parents[2] / "lab"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root takes these away from a process")

DOWN = ""
NO_ADDRESS = "ip link set lo up && ip address del 127.0.0.1/8 dev lo && "
NEEDS_LOOPBACK = {
    "a private server": "from tlstax.specimens.server_process import here; here.check_loopback()",
    "a live page": "from tlstax.run.live_page import listening; listening()",
}
DOCTOR = """from tlstax.tools.doctor.diagnosis import diagnose
for check in diagnose(): print(check.name, check.status, check.found, check.remedy)"""


def said(unshared: str, before: str, program: str, cache: Path) -> str:
    """What the program prints, or the sentence that it ends with."""
    guarded = f"from tlstax.support.errors import MachineFault\ntry:\n exec({program!r})\n"
    guarded += "except MachineFault as fault: print(fault.sentence())"
    command = ["unshare", unshared, "bash", "-c", f'{before}exec "$0" -c "$1"', sys.executable, guarded]
    settings = {**os.environ, "PYTHONPATH": str(LAB), "TLSTAX_CACHE": str(cache)}
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("before", [DOWN, NO_ADDRESS], ids=["down", "no address"])
@pytest.mark.parametrize("what", NEEDS_LOOPBACK)
def test_a_machine_without_loopback(what: str, before: str, tmp_path: Path) -> None:
    sentence = said("--net", before, NEEDS_LOOPBACK[what], tmp_path)
    assert sentence.startswith("this machine does not reach itself at 127.0.0.1 (")
    remedy = sentence.partition("`")[2].partition("`")[0]
    assert said("--net", f"{before}{remedy} && ", NEEDS_LOOPBACK[what], tmp_path) == ""


def test_the_doctor_tells_of_either(tmp_path: Path) -> None:
    down = said("--net", DOWN, DOCTOR, tmp_path)
    assert "loopback addresses missing this machine does not reach itself" in down
    without = said("--mount", "mount -t tmpfs none /proc && ", DOCTOR, tmp_path)
    assert without.startswith("/proc missing /proc is not mounted")


def test_a_machine_without_proc(tmp_path: Path) -> None:
    program = "from tlstax.specimens.sessions import open_session; open_session()"
    sentence = said("--mount", "mount -t tmpfs none /proc && ", program, tmp_path)
    assert sentence.startswith("/proc is not mounted, and without it no process can be watched; as root")
